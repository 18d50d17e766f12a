"""Giving out what is free: to whom it helps most, and nothing left lying."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.solve.fill import fill
from headway.core.solve.problem import Problem
from headway.testing.placements import is_a_placement, random_placement, random_problem


def problem(
    capacity: list[int], jobs: int, held: list[list[int]] | None = None, largest: int = 12
) -> Problem:
    """Jobs that gain from every GPU, less on several nodes."""
    cost = np.tile(1 / (np.arange(largest + 1) + 0.1), (jobs, 1, 1))
    return Problem(
        capacity=np.array(capacity),
        held=np.zeros((jobs, len(capacity)), dtype=np.int64) if held is None else np.array(held),
        cost_none=np.full(jobs, 20.0),
        cost_local=cost,
        cost_several=cost * 1.2,
        cost_keep=np.full(jobs, 0.3),
    )


def test_free_gpus_go_to_whom_they_help_most() -> None:
    task = problem([4], jobs=2)
    alloc = fill(task, np.array([[1], [0]]))
    assert alloc.tolist() == [[2], [2]]


def test_who_is_given_back_exactly_what_it_held_has_kept_it() -> None:
    task = problem([4], jobs=2, held=[[2], [0]])
    task.cost_local[0, 0, 1:] = [1.0, 0.9, 0.8, 0.7, *[np.inf] * 8]
    task.cost_keep[0] = 0.1
    task.cost_none[:] = 1.5, 0.4
    assert fill(task, np.zeros((2, 1), dtype=np.int64))[0].tolist() == [2]


def test_a_gift_that_does_not_lower_the_cost_is_not_made() -> None:
    task = problem([4], jobs=1, held=[[1]])
    task.cost_local[:] = 0.3
    assert fill(task, np.array([[1]])).tolist() == [[1]]


def test_without_free_gpus_nothing_changes() -> None:
    assert fill(problem([1], jobs=2), np.array([[1], [0]])).tolist() == [[1], [0]]


def test_who_holds_gpus_of_two_types_is_given_none() -> None:
    task = replace(
        problem([2, 2], jobs=1, held=[[1, 1]]),
        kind=np.array([0, 1]),
        cost_local=np.full((1, 2, 5), 0.1),
        cost_several=np.full((1, 2, 5), 0.1),
    )
    assert fill(task, task.held).tolist() == [[1, 1]]


@pytest.mark.parametrize("seed", range(60))
def test_a_gift_keeps_the_rules_and_never_raises_a_cost(seed: int) -> None:
    rng, kinds, racks = np.random.default_rng(seed), 1 + seed % 2, seed % 3
    task = random_problem(rng, nodes=(2, 8), room=(1, 6), jobs=(1, 9), kinds=kinds, racks=racks)
    alloc = random_placement(rng, task.capacity, len(task.held), task.kind)
    filled = fill(task, alloc)
    before, after = task.cost(alloc), task.cost(filled)
    assert (filled >= alloc).all()
    assert (after <= before).all()
    assert is_a_placement(task, filled) or not is_a_placement(task, alloc)
