"""The fit of theta_sys: known truths, priors, failures, and the profiles published with Pollux."""

from dataclasses import fields, replace
from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.model import fit as module
from headway.core.model.fit import OPTIMISM, Fit, fit, fit_profile, mean_relative_error
from headway.core.model.observations import Observations
from headway.core.model.throughput import (
    UNREPORTED,
    grad_time_s,
    stack,
    step_time_s,
    throughput_per_s,
    unstack,
)
from headway.traces.pollux import read_observations

TRUE = np.array([0.018, 0.0007, 0.030, 0.005, 0.128, 0.003, 2.2])


def measured(
    theta: np.ndarray, most_gpus: int, *, count: int = 80, noise: float = 0.0, seed: int = 0
) -> Observations:
    """Steps on random placements of nodes with four GPUs."""
    rng = np.random.default_rng(seed)
    gpus = rng.integers(1, most_gpus + 1, count)
    spread = rng.random(count) < 0.3
    nodes = np.where(gpus > 4, (gpus + 3) // 4, np.where((gpus > 1) & spread, 2, 1))
    batch = rng.integers(16, 512, count).astype(np.float64)
    accum = rng.integers(0, 3, count).astype(np.float64)
    off = rng.lognormal(0, noise, (2, count)) if noise else np.ones((2, count))
    return Observations(
        gpus=gpus,
        nodes=nodes,
        batch_per_gpu=batch,
        accum_steps=accum,
        grad_s=grad_time_s(theta, batch) * off[0],
        step_s=step_time_s(theta, gpus, nodes > 1, batch, accum) * off[1],
        weight=np.ones(count),
    )


@settings(max_examples=25)
@given(
    alphas=st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
    betas=st.lists(st.floats(0.001, 0.1), min_size=2, max_size=2),
    beta_grad=st.floats(1e-4, 1e-2),
    gamma=st.floats(1, 5),
)
def test_noise_free_steps_give_back_the_speed(
    alphas: list[float], betas: list[float], beta_grad: float, gamma: float
) -> None:
    theta = np.array([alphas[0], beta_grad, alphas[1], betas[0], alphas[2], betas[1], gamma])
    seen = measured(theta, 16)
    found = fit(seen)
    assert found.converged
    assert found.error < 0.002
    fresh = measured(theta, 16, seed=1)
    assert mean_relative_error(found.params, fresh) < 0.005


def test_noise_free_steps_give_back_the_parameters() -> None:
    found = fit(measured(TRUE, 16))
    assert stack([found.params])[0, :7] == pytest.approx(TRUE, rel=0.005)
    assert found.error < 1e-5


def test_a_fit_is_deterministic() -> None:
    seen = measured(TRUE, 16, noise=0.1)
    first = fit(seen)
    assert fit(seen) == first
    assert fit(seen, first) == fit(seen, first)


def test_a_warm_fit_is_as_good_as_a_cold_one() -> None:
    previous = None
    for count in (2, 5, 20, 60):
        seen = measured(TRUE, 16, count=count, noise=0.05)
        previous = fit(seen, previous)
    assert previous is not None
    assert previous.error == pytest.approx(fit(seen).error, rel=0.02)
    assert mean_relative_error(previous.params, measured(TRUE, 16, seed=9)) < 0.1


def test_an_untried_size_is_assumed_to_scale_perfectly() -> None:
    """All synchronisation is zero until two GPUs were held."""
    found = fit(measured(TRUE, 1))
    gpus = np.array([1, 2, 16])
    rate = throughput_per_s(stack([found.params]), gpus, gpus > 4, 64, 0)
    assert rate == pytest.approx(rate[0] * gpus)


def test_betas_stay_zero_until_more_than_two_gpus_were_held() -> None:
    seen = measured(TRUE, 4)
    found = fit(seen.only(seen.gpus <= 2)).params
    assert found.beta_local_s == found.beta_node_s == 0
    assert found.alpha_local_s == pytest.approx(0.030, rel=0.01)
    assert found.alpha_node_s == pytest.approx(0.128, rel=0.01)


def test_several_nodes_cost_what_one_costs_until_they_were_seen() -> None:
    seen = measured(TRUE, 4)
    found = fit(seen.only(seen.nodes == 1)).params
    assert (found.alpha_node_s, found.beta_node_s) == (found.alpha_local_s, found.beta_local_s)
    assert found.alpha_local_s == pytest.approx(0.030, rel=0.01)


def test_optimism_does_not_write_off_larger_sizes_for_one_slow_placement() -> None:
    """Past bug: two full nodes of bert take 2.54 s a step, four take 1.89 s (Pollux's profiles).
    Read as the cost of each further GPU, the slow step kept jobs at 8 GPUs beside an idle cluster.
    """
    seen = Observations(
        gpus=np.array([1, 2, 4, 8]),
        nodes=np.array([1, 1, 1, 2]),
        batch_per_gpu=np.full(4, 12.0),
        accum_steps=np.zeros(4),
        grad_s=np.array([0.908, 0.865, 0.864, 0.876]),
        step_s=np.array([0.922, 0.919, 0.957, 2.539]),
        weight=np.ones(4),
    )

    def step_on_16_s(found: Fit) -> float:
        return float(step_time_s(stack([found.params]), 16, np.array(True), 12.0, 0)[0])

    assert step_on_16_s(fit(seen)) > 3.0
    assert step_on_16_s(fit(seen, optimism=OPTIMISM)) == pytest.approx(2.54, rel=0.01)


def test_recent_observations_weigh_more() -> None:
    """A job whose passes became twice as long: the weights say which half counts."""
    slow = TRUE.copy()
    slow[:2] *= 2
    early, late = measured(TRUE, 1, count=20), measured(slow, 1, count=20)
    both = {
        f.name: np.concatenate([getattr(early, f.name), getattr(late, f.name)])
        for f in fields(Observations)
        if getattr(early, f.name) is not None
    }
    both["weight"] = np.repeat([1e-6, 1.0], 20)
    found = fit(Observations(**both)).params
    assert found.alpha_grad_s == pytest.approx(slow[0], rel=0.02)
    assert found.beta_grad_s == pytest.approx(slow[1], rel=0.02)


@pytest.mark.parametrize(
    "broken",
    [
        lambda seen: seen.only(np.zeros(0, dtype=np.int64)),
        lambda seen: replace(seen, weight=np.zeros_like(seen.weight)),
        lambda seen: replace(seen, weight=-seen.weight),
        lambda seen: replace(seen, step_s=np.full_like(seen.step_s, np.nan)),
        lambda seen: replace(seen, step_s=np.full_like(seen.step_s, inf)),
        lambda seen: replace(seen, grad_s=np.zeros_like(seen.grad_s)),
    ],
    ids=["none", "no weight", "negative weight", "nan", "infinite", "zero"],
)
def test_a_fit_that_fails_keeps_the_last_one_and_says_so(broken: object) -> None:
    assert callable(broken)
    last = fit(measured(TRUE, 16))
    found = fit(broken(measured(TRUE, 4)), last)
    assert found.params == last.params
    assert found.error == last.error
    assert not found.converged
    assert found.message == f"kept the last fit: {found.trouble}"
    assert found.trouble
    assert last.converged
    assert not last.trouble


def test_each_type_of_gpu_gets_its_own_pass_and_all_share_the_rest() -> None:
    """Half of the steps were made on GPUs of half the speed."""
    seen = measured(TRUE, 16)
    slow = np.arange(seen.gpus.size) % 2 == 1
    theta = np.repeat(TRUE[None], seen.gpus.size, axis=0)
    theta[slow, :2] *= 2
    m, s = seen.batch_per_gpu, seen.accum_steps
    seen = replace(
        seen,
        grad_s=grad_time_s(theta, m),
        step_s=step_time_s(theta, seen.gpus, seen.nodes > 1, m, s),
        gpu_type=np.where(slow, "t4", "v100").tolist(),
    )
    found = fit(seen)
    grads = {one.gpu_type: (one.alpha_grad_s, one.beta_grad_s) for one in found.grad_by_type}
    assert grads["v100"] == pytest.approx(TRUE[:2], rel=0.01)
    assert grads["t4"] == pytest.approx(2 * TRUE[:2], rel=0.01)
    assert stack([found.params])[0, 2:7] == pytest.approx(TRUE[2:], rel=0.02)
    assert found.params_on("t4").alpha_grad_s == grads["t4"][0]
    assert found.params_on("a100") == found.params
    assert mean_relative_error(found.params, seen, found.grad_by_type) < 0.005


def test_a_search_that_fails_keeps_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    last = fit(measured(TRUE, 16))

    def lost(loss: object, start: np.ndarray, **_: object) -> tuple[np.ndarray, float, dict]:
        return start * np.nan, np.nan, {"warnflag": 2, "task": "ABNORMAL"}

    monkeypatch.setattr(module, "fmin_l_bfgs_b", lost)
    found = fit(measured(TRUE, 8), last)
    assert found.params == last.params
    assert "the search failed" in found.message


def test_without_a_last_fit_a_failure_leaves_the_prior() -> None:
    nothing = measured(TRUE, 4).only(np.zeros(0, dtype=np.int64))
    for found in (fit(nothing), fit_profile(nothing)):
        assert found.params == UNREPORTED
        assert found.error == inf
        assert found.message == "no fit: nothing was observed"
        assert fit(measured(TRUE, 4), found).converged  # and the next fit starts afresh


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), count=st.integers(1, 12), most=st.integers(1, 8))
def test_few_and_noisy_steps_still_give_a_model_within_bounds(
    seed: int, count: int, most: int
) -> None:
    found = fit(measured(TRUE, most, count=count, noise=0.3, seed=seed))
    values = stack([found.params])
    assert np.isfinite(values).all()
    assert np.all(values >= 0)
    assert 1 <= found.params.gamma <= 10
    assert found.params.alpha_grad_s + found.params.beta_grad_s > 0


@pytest.mark.parametrize(
    ("app", "rows", "most"),
    [
        ("bert", 720, 0.075),
        ("cifar10", 1512, 0.075),
        ("deepspeech2", 952, 0.075),
        ("imagenet", 1152, 0.075),
        ("ncf", 2119, 0.10),
        ("yolov3", 648, 0.10),
    ],
)
def test_the_error_on_the_measured_profiles_is_at_most_ten_percent(
    shared_data: Path, app: str, rows: int, most: float
) -> None:
    """Pollux (OSDI'21), section 5: "at most 10 % average error across all tasks", 64 GPUs."""
    seen = read_observations(shared_data / "pollux" / "profiles" / app)
    assert seen.step_s.size == rows
    online, offline = fit(seen), fit_profile(seen)
    assert online.converged
    assert offline.converged
    assert mean_relative_error(online.params, seen) <= 0.10
    assert mean_relative_error(offline.params, seen) <= mean_relative_error(online.params, seen)
    assert mean_relative_error(offline.params, seen) <= most


def test_params_of_a_fit_go_through_an_array_unchanged() -> None:
    found: Fit = fit(measured(TRUE, 8, noise=0.1))
    assert unstack(stack([found.params])) == (found.params,)
