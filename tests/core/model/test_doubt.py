"""Error bars of a fit: honest where the truth is known, silent where nothing was tried."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.model.doubt import Doubt
from headway.core.model.fit import fit
from headway.core.model.observations import Observations
from headway.core.model.throughput import grad_time_s, stack, step_time_s
from headway.core.types import Placement

TRUE = np.array([0.018, 0.0007, 0.030, 0.005, 0.128, 0.003, 2.2])


def measured(gpus: list[int], *, noise: float = 0.0, seed: int = 0) -> Observations:
    """Steps on full nodes of four GPUs, each size with two batch sizes."""
    rng = np.random.default_rng(seed)
    k = np.repeat(np.array(gpus), 2)
    n, m = -(-k // 4), np.tile([64.0, 128.0], len(gpus))
    off = rng.lognormal(0, noise, (2, k.size)) if noise else np.ones((2, k.size))
    return Observations(
        gpus=k,
        nodes=n,
        batch_per_gpu=m,
        accum_steps=np.zeros(k.size),
        grad_s=grad_time_s(TRUE, m) * off[0],
        step_s=step_time_s(TRUE, k, n > 1, m, 0.0) * off[1],
        weight=np.ones(k.size),
    )


def doubt_of(seen: Observations) -> Doubt:
    found = fit(seen).doubt
    assert found is not None
    return found


def error(doubt: Doubt, gpus: int, gpu_type: str | None = None) -> float | None:
    at = Placement(gpus, -(-gpus // 4))
    return doubt.step_error(at, batch_per_gpu=64, accum_steps=0, gpu_type=gpu_type)


SIZES = [1, 2, 3, 4, 8, 12, 16]


def test_noisier_measurements_are_doubted_more() -> None:
    bars = [error(doubt_of(measured(SIZES, noise=noise)), 8) for noise in (0.0, 0.05, 0.2)]
    assert bars == sorted(bars, key=float)
    assert 0 < float(bars[0] or 0) < 0.02


def test_what_lies_further_from_what_was_tried_is_doubted_more() -> None:
    doubt = doubt_of(measured(SIZES, noise=0.05))
    near, far = error(doubt, 16), error(doubt, 128)
    assert near is not None
    assert far is not None
    assert near < far


def test_the_bar_covers_the_truth_about_as_often_as_a_standard_error_should() -> None:
    inside = 0
    for seed in range(60):
        found = fit(measured(SIZES, noise=0.1, seed=seed))
        assert found.doubt is not None
        bar = error(found.doubt, 12)
        predicted_s = step_time_s(stack([found.params]), 12, True, 64.0, 0.0)[0]
        off = np.log(predicted_s / step_time_s(TRUE, 12, True, 64.0, 0.0))
        inside += abs(off) <= (bar or 0.0)
    assert 0.5 <= inside / 60 <= 0.95  # 0.68 for a normal distribution


def test_an_assumption_has_no_error_bar() -> None:
    alone = doubt_of(measured([1]))
    assert error(alone, 1) is not None
    assert error(alone, 2) is None  # perfect scaling is only assumed
    one_node = doubt_of(measured([1, 2, 4]))
    assert error(one_node, 3) is not None
    assert error(one_node, 8) is None  # that two nodes cost what one costs, too


def test_a_type_that_was_never_run_has_no_error_bar() -> None:
    seen = measured(SIZES, noise=0.05)
    types = ("t4",) * 10 + ("v100",) * 4
    doubt = doubt_of(replace(seen, gpu_type=types))
    bars = [error(doubt, 4, name) for name in ("t4", "v100")]
    assert None not in bars
    assert bars[0] != bars[1]
    assert error(doubt, 4, "a100") is None


@pytest.mark.parametrize(("gpus", "nodes"), [(1, 1), (2, 1), (4, 2), (8, 4)])
def test_twice_the_gpus_take_as_few_nodes_as_they_need(gpus: int, nodes: int) -> None:
    doubt = doubt_of(measured([1, 2, 4]))
    assert doubt.doubled(Placement(gpus, 1)) == Placement(2 * gpus, nodes)
