"""The choice among throughput models: by what each foretells of placements it has not seen."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.model.choice import (
    candidates,
    fit_best,
    fit_linear,
    fit_profile_best,
    held_out_error,
)
from headway.core.model.fit import Fit, fit, fit_profile, mean_relative_error
from headway.core.model.observations import Observations
from headway.core.model.throughput import grad_time_s, stack, step_time_s
from headway.core.types import ThroughputKind, ThroughputParams
from headway.traces.pollux import read_observations

PARAMS = ThroughputParams(
    alpha_grad_s=0.05,
    beta_grad_s=0.001,
    alpha_local_s=0.02,
    beta_local_s=0.01,
    alpha_node_s=0.1,
    beta_node_s=0.03,
    gamma=1.5,
    alpha_rack_s=0.6,
    beta_rack_s=0.05,
    tree_s=0.02,
    hop_s=0.005,
)
SHAPES = [(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (4, 2), (6, 2), (8, 2), (6, 3), (9, 3), (12, 3)]
SHAPES += [(8, 4), (12, 4), (16, 4), (16, 8), (24, 8), (32, 8)]


def measured(
    kind: ThroughputKind, shapes: list[tuple[int, int]] = SHAPES, *, noise: float = 0.02
) -> Observations:
    """Each shape with two batch sizes; several nodes were once of one rack, once of two."""
    rng = np.random.default_rng(3)
    sites = [(k, n, racks) for k, n in shapes for racks in ((1, 2) if n > 1 else (1,))]
    gpus, nodes, racks = np.repeat(np.array(sites), 2, axis=0).T
    batch = np.tile([32.0, 96.0], len(sites))
    theta = stack([replace(PARAMS, kind=kind)])
    seen = Observations(
        gpus=gpus,
        nodes=nodes,
        racks=racks,
        batch_per_gpu=batch,
        accum_steps=np.zeros(gpus.size),
        grad_s=grad_time_s(theta, batch) * rng.lognormal(0, noise, gpus.size),
        step_s=np.ones(gpus.size),
        weight=np.ones(gpus.size),
    )
    step_s = step_time_s(theta, gpus, seen.locality, batch, 0.0, nodes=nodes)
    return replace(seen, step_s=step_s * rng.lognormal(0, noise, gpus.size))


@pytest.mark.parametrize("kind", ThroughputKind)
def test_jobs_get_the_model_that_they_follow(kind: ThroughputKind) -> None:
    seen = measured(kind)
    found = fit_best(seen)
    assert found.params.kind is kind
    assert found.held_out_error is not None
    assert found.held_out_error < 0.06
    assert fit_best(seen) == found
    assert fit_best(seen, found).params.kind is kind


def test_with_few_placements_only_the_linear_model_is_tried() -> None:
    seen = measured(ThroughputKind.COLLECTIVE, SHAPES[:8]).only(np.arange(12))
    assert candidates(seen) == (ThroughputKind.LINEAR,)
    found = fit_best(seen)
    assert found == fit(seen)
    assert found.held_out_error is None


def test_the_linear_model_has_a_pair_for_racks_once_some_were_spanned() -> None:
    seen = measured(ThroughputKind.RACKED)
    assert fit_linear(seen).params.kind is ThroughputKind.RACKED
    assert fit_linear(seen.only(seen.racks == 1)).params.kind is ThroughputKind.LINEAR
    assert fit_linear(replace(seen, racks=None)).params.kind is ThroughputKind.LINEAR


def test_without_racks_no_model_of_racks_is_tried() -> None:
    seen = replace(measured(ThroughputKind.COLLECTIVE), racks=None)
    assert candidates(seen) == (ThroughputKind.LINEAR, ThroughputKind.COLLECTIVE)


def test_held_out_means_that_the_fitter_never_sees_a_placement_that_it_is_judged_by() -> None:
    seen, shown = measured(ThroughputKind.LINEAR), []

    def fitter(part: Observations) -> Fit:
        shown.append(set(part.placements))
        return fit(part)

    held_out_error(seen, fitter)
    every = set(seen.placements)
    assert [every - part for part in shown] != []
    hidden = [place for part in shown for place in every - part]
    assert sorted(hidden) == sorted(every)


@settings(max_examples=4)
@given(order=st.permutations(range(20)))
def test_the_choice_does_not_depend_on_the_order_of_observations(order: list[int]) -> None:
    seen = measured(ThroughputKind.COLLECTIVE)
    rest = np.arange(20, seen.gpus.size)
    shuffled = seen.only(np.concatenate([np.array(order), rest]))
    assert held_out_error(shuffled, fit) == pytest.approx(held_out_error(seen, fit), rel=1e-3)
    assert fit_best(shuffled).params.kind is ThroughputKind.COLLECTIVE


def test_a_fit_that_fails_is_not_compared() -> None:
    last = fit_best(measured(ThroughputKind.COLLECTIVE))
    seen = measured(ThroughputKind.COLLECTIVE)
    found = fit_best(replace(seen, step_s=seen.step_s * np.nan), last)
    assert found.params == last.params
    assert found.trouble


@pytest.mark.parametrize(("app", "most"), [("yolov3", 0.085), ("ncf", 0.085)])
def test_ring_and_tree_foretell_what_the_linear_model_cannot(
    shared_data: Path, app: str, most: float
) -> None:
    """A table without any model, one time for each placement, still leaves 5.9 % and 7.2 %."""
    seen = read_observations(shared_data / "pollux" / "profiles" / app)
    held_out = {
        kind: held_out_error(seen, partial(fit_profile, kind=kind, gammas=(1.0, 2.0)))
        for kind in candidates(seen)
    }
    assert held_out[ThroughputKind.COLLECTIVE] <= most < held_out[ThroughputKind.LINEAR]


def test_a_profile_gets_the_better_model(shared_data: Path) -> None:
    seen = read_observations(shared_data / "pollux" / "profiles" / "bert")
    found = fit_profile_best(seen)
    assert found.params.kind is ThroughputKind.COLLECTIVE
    assert mean_relative_error(found.params, seen) <= 0.05  # 6.2 % by the linear model
