"""Options of one rack in the racks that fit them, and the few ways to cut them up there."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.solve.milp import solve_mixed
from headway.core.solve.pinned import solve
from headway.core.solve.problem import Problem
from headway.core.solve.program import build
from headway.core.solve.racks import Cuts
from headway.core.solve.unpack import place
from headway.core.types import Int64, IntArray
from headway.testing.placements import is_a_placement, random_problem


def cut_up(gpus: int, largest: int) -> list[list[int]]:
    """All pieces of each way, largest first."""
    cuts = Cuts.few(np.array([gpus]), np.array([largest]))
    ways = [np.repeat(size, number) for size, number in zip(cuts.size, cuts.number, strict=True)]
    return [sorted(way.tolist(), reverse=True) for way in ways]


@pytest.mark.parametrize(
    ("gpus", "largest", "ways"),
    [
        (9, 4, [[4, 4, 1], [3, 3, 3], [3, 2, 2, 2]]),
        (8, 4, [[4, 4], [3, 3, 2]]),
        (4, 8, [[3, 1], [2, 2], [2, 1, 1]]),
        (2, 4, [[1, 1]]),
        (3, 1, [[1, 1, 1]]),
    ],
)
def test_gpus_are_cut_into_few_pieces(gpus: int, largest: int, ways: list[list[int]]) -> None:
    assert cut_up(gpus, largest) == ways


@given(gpus=st.integers(2, 64), largest=st.integers(1, 16))
def test_every_way_has_all_gpus_in_two_pieces_at_least(gpus: int, largest: int) -> None:
    ways = cut_up(gpus, largest)
    assert 1 <= len(ways) == len({tuple(way) for way in ways}) <= 3
    for way in ways:
        assert sum(way) == gpus
        assert 2 <= len(way) <= max(2, -(-gpus // largest)) + 1
        assert 1 <= min(way) <= max(way) <= largest


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_few_cuts_give_placements_at_exactly_their_cost_and_never_a_lower_one(
    seed: int, shared: bool
) -> None:
    rng, kinds = np.random.default_rng(seed), 1 + seed % 2
    task = random_problem(
        rng, nodes=(4, 8), room=(1, 5), jobs=(2, 7), kinds=kinds, racks=2, share_spanning=shared
    )
    model = build(task, exact=True, few_cuts=True)
    outcome = solve_mixed(model.program, rel_gap=0.0)
    if outcome.x is None:
        return
    alloc = place(task, model.choice(outcome.x))
    assert is_a_placement(task, alloc)
    found = float(task.cost(alloc).sum())
    assert found <= outcome.objective * model.scale + 1e-6 * max(1.0, abs(found))
    assert found >= solve(task, rel_gap=0.0).bound - 1e-6 * max(1.0, abs(found))


def racked(nodes: int, nodes_per_rack: int) -> Problem:
    """A new job for every three GPUs of nodes of four; a tenth slower across racks."""
    rng, jobs = np.random.default_rng(0), nodes * 4 // 3
    power, gpus = rng.uniform(0.5, 0.95, (jobs, 1, 1)), np.arange(33)
    cost = 1 / ((gpus + 1e-3) ** power)
    return Problem(
        capacity=np.full(nodes, 4),
        held=np.zeros((jobs, nodes), dtype=np.int64),
        rack=np.arange(nodes) // nodes_per_rack,
        cost_none=np.full(jobs, 1e3),
        cost_local=cost[:, :, :5],
        cost_rack=1.05 * cost,
        cost_several=1.15 * cost,
        cost_keep=np.full(jobs, np.inf),
    )


def test_a_rack_that_is_too_small_for_an_option_has_no_column_for_it() -> None:
    """When a job had columns in each rack for its largest size, 1,024 GPUs took minutes."""
    task = replace(racked(16, 16), rack=np.array([0] * 8 + [1, 1, 2, 2, 3, 3, 4, 4]))
    assert task.cost_rack is not None
    task.cost_several[:] = np.inf
    model = build(task, exact=True, few_cuts=True)
    assert model.pieces is not None
    pieces, racks, jobs = model.pieces, 5, 21
    gpus = np.bincount(pieces.column, weights=pieces.size * pieces.number)
    assert pieces.rack[gpus[pieces.column] > 8].max() == 0
    assert gpus.max() == 32
    most = 3 * jobs * ((32 - 1) + (racks - 1) * (8 - 1))
    assert most / 2 < len(np.unique(pieces.column)) <= most


def a_round_later(task: Problem, alloc: Int64[IntArray, "jobs nodes"]) -> Problem:
    """Some jobs keep what they were given or else lose a fifth of their speed; others are new."""
    new = np.arange(len(alloc)) % 5 == 0
    slower = np.where(new, 1.0, 1.25)[:, None, None]
    assert task.cost_rack is not None
    return replace(
        task,
        held=np.where(new[:, None], 0, alloc),
        cost_local=task.cost_local[::-1] * slower,
        cost_rack=task.cost_rack[::-1] * slower,
        cost_several=task.cost_several[::-1] * slower,
        cost_keep=replace(
            task,
            cost_local=task.cost_local[::-1],
            cost_rack=task.cost_rack[::-1],
            cost_several=task.cost_several[::-1],
        ).cost(alloc),
    )


def test_1024_gpus_in_racks_take_little_work() -> None:
    """They took 60,000 iterations of the simplex method at the root of one part, and found nothing.

    Counted: the iterations of all programs together, and how good the answer is.
    """
    task = racked(256, 8)
    first = solve(task)
    assert first.alloc is not None
    second = solve(a_round_later(task, first.alloc))
    assert second.alloc is not None
    assert max(first.gap, second.gap) <= 0.01
    assert max(first.simplex_iterations, second.simplex_iterations) <= 20_000
