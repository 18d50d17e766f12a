"""What a placement costs and whether it keeps the rules, against a plain-Python reading of both."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.solve.problem import Problem
from headway.testing.placements import (
    is_a_placement,
    random_placement,
    random_problem,
    true_cost,
)


@pytest.mark.parametrize("seed", range(60))
def test_cost_and_feasibility_agree_with_the_independent_reading(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds, racks = 1 + seed % 2, seed % 3
    problem = random_problem(rng, nodes=(2, 6), room=(1, 4), jobs=(1, 5), kinds=kinds, racks=racks)
    placements = [
        random_placement(rng, problem.capacity, len(problem.held), problem.kind) for _ in range(5)
    ]
    noise = rng.integers(0, 3, problem.held.shape)  # mostly against the rules
    for alloc in (*placements, problem.held, noise):
        expected = [true_cost(problem, job, tuple(row)) for job, row in enumerate(alloc.tolist())]
        assert problem.cost(alloc).tolist() == expected
        assert problem.feasible(alloc) == is_a_placement(problem, alloc)


def one_job(held: list[int]) -> Problem:
    return Problem(
        capacity=np.array([2, 2]),
        held=np.array([held]),
        cost_none=np.array([9.0]),
        cost_local=np.array([[[np.inf, 5.0, 3.0]]]),
        cost_several=np.array([[[np.inf, np.inf, 4.0]]]),
        cost_keep=np.array([1.0]),
    )


def test_keeping_is_cheaper_than_the_same_shape_elsewhere() -> None:
    problem = one_job([2, 0])
    costs = [float(problem.cost(np.array([row]))[0]) for row in ([2, 0], [0, 2], [1, 1], [0, 0])]
    assert costs == [1.0, 3.0, 4.0, 9.0]


def test_sizes_beyond_a_table_are_not_allowed() -> None:
    problem = one_job([0, 0])
    assert problem.cost(np.array([[2, 1]])).tolist() == [np.inf]


def test_no_spanning_job_is_on_a_closed_node_nor_keeps_it() -> None:
    shut = replace(one_job([1, 1]), closed=np.array([False, True]))
    assert not shut.keepable().any()
    assert not shut.feasible(np.array([[1, 1]]))
    assert shut.feasible(np.array([[0, 2]]))
    assert one_job([1, 1]).keepable().all()


def test_a_job_that_holds_nothing_keeps_nothing() -> None:
    assert not one_job([0, 0]).keepable().any()


def test_what_a_node_no_longer_has_cannot_be_kept() -> None:
    problem = one_job([2, 0])
    assert problem.keepable().all()
    assert not replace(problem, capacity=np.array([1, 2])).keepable().any()
