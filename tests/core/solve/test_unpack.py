"""From a choice to nodes: exact where it can be, repaired where it cannot."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.solve.milp import solve_linear, solve_mixed
from headway.core.solve.options import Choice, Filled, Level
from headway.core.solve.problem import Problem
from headway.core.solve.program import build
from headway.core.solve.unpack import place
from headway.testing.placements import is_a_placement, random_problem


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


def choice(
    jobs: int,
    *,
    keep: list[int] | None = None,
    local: dict[int, int] | None = None,
    several: dict[int, int] | None = None,
    filled: tuple[Filled, ...] = (),
    pieces: list[list[int]] | None = None,
) -> Choice:
    """A choice of GPUs of the first type, in which what is not named holds nothing."""
    level, gpus = np.full(jobs, Level.NONE), np.zeros(jobs, dtype=np.int64)
    level[keep or []] = Level.KEEP
    for name, sizes in ((Level.LOCAL, local or {}), (Level.SEVERAL, several or {})):
        for job, size in sizes.items():
            level[job], gpus[job] = name, size
    return Choice(
        level=level,
        kind=np.zeros(jobs, dtype=np.int64),
        gpus=gpus,
        filled=filled,
        pieces=None if pieces is None else np.array(pieces)[:, None],
    )


@pytest.mark.parametrize("seed", range(60))
def test_an_integer_solution_is_placed_at_exactly_its_cost(seed: int) -> None:
    rng, kinds, racks = np.random.default_rng(seed), 1 + seed % 2, seed % 3
    task = random_problem(rng, nodes=(2, 8), room=(1, 5), jobs=(1, 8), kinds=kinds, racks=racks)
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
    rng, kinds, racks = np.random.default_rng(seed), 1 + seed % 2, seed % 3
    task = random_problem(rng, nodes=(3, 9), room=(1, 8), jobs=(2, 20), kinds=kinds, racks=racks)
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
        kind=0,
        rack=None,
        sizes=np.arange(1, 5),
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


def test_a_job_of_one_rack_takes_the_rack_that_fits_best() -> None:
    task = replace(
        problem([4, 4, 3, 3, 2, 2], jobs=1),
        rack=np.array([0, 0, 1, 1, 2, 2]),
        cost_rack=np.tile(1 / (np.arange(13) + 0.1), (1, 1, 1)),
    )
    asked = replace(choice(1, several={0: 6}), level=np.array([Level.RACK]))
    assert place(task, asked).tolist() == [[0, 0, 3, 3, 0, 0]]


def test_a_job_of_one_type_is_placed_on_nodes_of_that_type() -> None:
    task = replace(
        problem([4, 4, 2, 2], jobs=2),
        kind=np.array([0, 0, 1, 1]),
        cost_local=np.tile(1 / (np.arange(5) + 0.1), (2, 2, 1)),
        cost_several=np.tile(1.2 / (np.arange(9) + 0.1), (2, 2, 1)),
    )
    asked = replace(choice(2, local={0: 2}, several={1: 4}), kind=np.array([1, 1]))
    assert place(task, asked).tolist() == [[0, 0, 2, 0], [4, 0, 0, 0]]  # one alone cannot span
