"""Spanning jobs that may share nodes: the exact program against enumeration of every placement."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.solve import nodes
from headway.core.solve.pinned import solve
from headway.core.solve.problem import Problem
from headway.testing.placements import all_placements, is_a_placement, random_problem

TINY_INSTANCES = 60


def tiny(seed: int, kinds: int = 1, racks: int = 0) -> Problem:
    return random_problem(
        np.random.default_rng(seed),
        nodes=(2, 3),
        room=(2, 3),
        jobs=(2, 3),
        kinds=kinds,
        racks=racks,
        share_spanning=True,
    )


def check(problem: Problem) -> None:
    best, _ = min(all_placements(problem), default=(np.inf, ()))
    plan = solve(problem, rel_gap=0.0)
    assert plan.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert plan.alloc is None or is_a_placement(problem, plan.alloc)
    rounded = solve(problem, exact_up_to_gpus=0)
    assert rounded.bound <= best + 1e-6 * max(1.0, abs(best))
    assert rounded.alloc is None or is_a_placement(problem, rounded.alloc)


@pytest.mark.parametrize("seed", range(TINY_INSTANCES))
def test_the_optimum_of_enumeration_is_found(seed: int) -> None:
    check(tiny(seed))


@pytest.mark.parametrize("seed", range(TINY_INSTANCES))
def test_with_types_and_with_racks_too(seed: int) -> None:
    check(tiny(seed, kinds=2))
    check(tiny(seed, racks=2))


@pytest.mark.parametrize("seed", [*range(20), 131])
def test_on_wide_nodes_too(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 131 a slot of a narrow node was given out on a wide one that had as much left."""
    monkeypatch.setattr(nodes, "_WIDE", 2)
    check(tiny(seed))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1))
def test_to_share_is_never_worse(seed: int) -> None:
    apart = random_problem(np.random.default_rng(seed), nodes=(2, 6), room=(1, 6), jobs=(1, 10))
    shared = replace(apart, share_spanning=True)
    plan = solve(shared, rel_gap=0.0)
    alone = solve(apart, rel_gap=0.0)
    assert plan.objective <= alone.objective + 1e-6 * max(1.0, abs(alone.objective))
    assert plan.alloc is None or is_a_placement(shared, plan.alloc)


def spanning_only(capacity: list[int], gpus: list[int]) -> Problem:
    """Jobs that wait and can run on several nodes alone, each at one size."""
    several = np.full((len(gpus), 1, sum(capacity) + 1), np.inf)
    several[np.arange(len(gpus)), 0, gpus] = 1.0
    return Problem(
        capacity=np.array(capacity),
        held=np.zeros((len(gpus), len(capacity)), dtype=np.int64),
        cost_none=np.full(len(gpus), 10.0),
        cost_local=np.full((len(gpus), 1, max(capacity) + 1), np.inf),
        cost_several=several,
        cost_keep=np.full(len(gpus), np.inf),
        share_spanning=True,
    )


@pytest.mark.parametrize(
    ("capacity", "gpus", "run"),
    [
        ([4, 1], [2, 2], 1),  # five GPUs, but only one beside the large node
        ([4, 2], [2, 2], 2),
        ([4, 2, 0], [3, 3], 2),
        ([6, 1, 1], [2, 2, 2], 2),
        ([4, 4, 4], [5, 5], 2),
        ([4, 4, 4, 4], [5, 5, 5], 3),  # where none may be shared two of them run
        ([3, 3], [2, 2, 2], 3),
        ([7, 7, 7, 7], [13, 9, 4, 2], 4),
    ],
)
def test_as_many_run_as_have_gpus_beside_the_largest_hole(
    capacity: list[int], gpus: list[int], run: int
) -> None:
    problem = spanning_only(capacity, gpus)
    plan = solve(problem, rel_gap=0.0)
    assert plan.objective == run + 10.0 * (len(gpus) - run)
    assert plan.gap == pytest.approx(0.0, abs=1e-9)
    assert plan.alloc is not None
    assert is_a_placement(problem, plan.alloc)
