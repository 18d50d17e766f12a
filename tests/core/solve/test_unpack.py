"""From a choice to nodes: exact where it can be, repaired where it cannot, nothing left lying."""

import numpy as np
import pytest

from headway.core.solve.milp import solve_linear, solve_mixed
from headway.core.solve.options import Choice, Filled
from headway.core.solve.problem import Problem
from headway.core.solve.program import build
from headway.core.solve.unpack import fill, place
from headway.testing.placements import is_a_placement, random_problem


def problem(
    capacity: list[int], jobs: int, held: list[list[int]] | None = None, largest: int = 12
) -> Problem:
    """Jobs that gain from every GPU, less on several nodes."""
    cost = np.tile(1 / (np.arange(largest + 1) + 0.1), (jobs, 1))
    return Problem(
        capacity=np.array(capacity),
        held=np.zeros((jobs, len(capacity)), dtype=np.int64) if held is None else np.array(held),
        cost_none=np.full(jobs, 20.0),
        cost_local=cost,
        cost_several=cost * 1.2,
        cost_keep=np.full(jobs, 0.3),
    )


def choice(
    jobs: int,
    *,
    keep: list[int] | None = None,
    local: dict[int, int] | None = None,
    several: dict[int, int] | None = None,
    filled: tuple[Filled, ...] = (),
    pieces: list[list[int]] | None = None,
) -> Choice:
    """A choice in which what is not named holds nothing."""
    wanted = np.zeros((3, jobs), dtype=np.int64)
    wanted[0, keep or []] = 1
    for row, sizes in ((1, local or {}), (2, several or {})):
        for job, size in sizes.items():
            wanted[row, job] = size
    return Choice(
        keep=wanted[0] > 0,
        local=wanted[1],
        several=wanted[2],
        sizes=np.arange(1, 5),
        filled=filled,
        pieces=None if pieces is None else np.array(pieces),
    )


@pytest.mark.parametrize("seed", range(60))
def test_an_integer_solution_is_placed_at_exactly_its_cost(seed: int) -> None:
    task = random_problem(np.random.default_rng(seed), nodes=(2, 6), room=(1, 5), jobs=(1, 8))
    model = build(task, exact=True)
    outcome = solve_mixed(model.program, rel_gap=0.0)
    if outcome.x is None:
        return  # a pinned job's node is too crowded to keep it: nothing to place
    alloc = place(task, model.choice(outcome.x))
    assert is_a_placement(task, alloc)
    expected = outcome.objective * model.scale
    assert task.cost(alloc).sum() == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_a_rounded_relaxation_never_overfills_a_node_nor_shares_it_between_spanning_jobs(
    seed: int,
) -> None:
    task = random_problem(np.random.default_rng(seed), nodes=(3, 9), room=(1, 8), jobs=(2, 20))
    model = build(task, exact=False)
    outcome = solve_linear(model.program)
    if outcome.x is None:
        return
    alloc = place(task, model.choice(outcome.x))
    assert (alloc >= 0).all()
    assert (alloc.sum(axis=0) <= task.capacity).all()
    spanning = (alloc > 0).sum(axis=1) > 1
    assert ((alloc[spanning] > 0).sum(axis=0) <= 1).all()
    allowed = np.isfinite(task.cost(alloc)) | ~alloc.any(axis=1)
    assert allowed.all()


def test_patterns_say_who_shares_a_node() -> None:
    pair = Filled(
        room=4,
        flagged=False,
        node=None,
        patterns=np.array([[0, 2, 0, 0], [1, 0, 1, 0]]),
        times=np.ones(2),
    )
    task = problem([4, 4], jobs=4)
    alloc = place(task, choice(4, local={0: 2, 1: 1, 2: 2, 3: 3}, filled=(pair,), pieces=[[0]] * 4))
    assert alloc.tolist() == [[2, 0], [0, 1], [2, 0], [0, 3]]


def test_pieces_go_into_the_smallest_hole_that_fits_away_from_spanning_residents() -> None:
    held = [[2, 2, 0, 0, 0], [0, 0, 0, 0, 0]]
    task = problem([4, 4, 4, 3, 2], jobs=2, held=held)
    pieces = [[0, 0, 0, 0], [0, 0, 1, 1]]  # one of two, one of three
    alloc = place(task, choice(2, keep=[0], several={1: 5}, pieces=pieces))
    assert alloc[1].tolist() == [0, 0, 0, 3, 2]


def test_a_job_that_finds_no_slot_takes_the_fullest_node_with_room_and_shrinks_if_it_must() -> None:
    task = problem([2, 3], jobs=2)
    alloc = place(task, choice(2, local={0: 3, 1: 4}))
    assert alloc.tolist() == [[2, 0], [0, 3]]  # the larger one first


def test_spanning_jobs_take_the_largest_holes_and_shrink_to_what_is_open() -> None:
    task = problem([4, 3, 2, 1], jobs=2)
    alloc = place(task, choice(2, several={0: 8, 1: 6}))
    assert alloc[0].tolist() == [4, 3, 0, 1]  # the last hole is the one that fits best
    assert alloc[1].tolist() == [0, 0, 2, 0]  # given by the final round: it could not span


def test_free_gpus_go_to_whom_they_help_most() -> None:
    task = problem([4], jobs=2)
    alloc = fill(task, np.array([[1], [0]]))
    assert alloc.tolist() == [[2], [2]]


def test_who_is_given_back_exactly_what_it_held_has_kept_it() -> None:
    task = problem([4], jobs=2, held=[[2], [0]])
    task.cost_local[0, 1:] = [1.0, 0.9, 0.8, 0.7, *[np.inf] * 8]
    task.cost_keep[0] = 0.1
    task.cost_none[:] = 1.5, 0.4
    assert fill(task, np.zeros((2, 1), dtype=np.int64))[0].tolist() == [2]


def test_a_gift_that_does_not_lower_the_cost_is_not_made() -> None:
    task = problem([4], jobs=1, held=[[1]])
    task.cost_local[:] = 0.3
    assert fill(task, np.array([[1]])).tolist() == [[1]]
