"""Nodes as classes with patterns and as wide nodes with counts of slots: the same optimum."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.solve import nodes
from headway.core.solve.assembly import Assembly
from headway.core.solve.nodes import Block, Residents, Zone, add_nodes
from headway.core.solve.pinned import Plan, solve
from headway.core.solve.problem import Problem
from headway.testing.placements import all_placements, is_a_placement, random_problem


def one_optimum(problem: Problem) -> Plan:
    return solve(problem, rel_gap=0.0)


@pytest.mark.parametrize("seed", range(60))
def test_wide_nodes_have_the_optimum_of_enumeration(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "_WIDE", 2)  # nodes of three are wide, those of two are not
    problem = random_problem(np.random.default_rng(seed), nodes=(2, 3), room=(2, 3), jobs=(2, 3))
    best, _ = min(all_placements(problem), default=(np.inf, ()))
    plan = one_optimum(problem)
    assert plan.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert plan.alloc is None or is_a_placement(problem, plan.alloc)


@pytest.mark.parametrize("seed", range(30))
def test_wide_or_not_makes_no_difference_to_the_optimum(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = random_problem(np.random.default_rng(seed), nodes=(2, 5), room=(2, 8), jobs=(2, 9))
    by_pattern = one_optimum(problem)
    monkeypatch.setattr(nodes, "_WIDE", 0)
    by_count = one_optimum(problem)
    assert by_count.objective == pytest.approx(by_pattern.objective, rel=1e-6, abs=1e-6)
    assert by_count.alloc is None or is_a_placement(problem, by_count.alloc)


def test_a_very_wide_node_stays_a_small_program() -> None:
    """One machine of 64 slots has 10 million patterns."""
    problem = random_problem(np.random.default_rng(0), nodes=(2, 2), room=(64, 64), jobs=(9, 9))
    plan = solve(problem)
    assert plan.columns < 3_000
    assert plan.gap <= 1e-4


def blocks_of(
    capacity: list[int], held: list[list[int]], sizes: list[int], nodes: list[int] | None = None
) -> list[Block]:
    """Blocks of some nodes, or of all."""
    assembly = Assembly()
    keep = assembly.add_columns(np.zeros(len(held)), upper=1.0)
    demand = assembly.add_rows(len(sizes), upper=0.0)
    zone = Zone(
        index=0,
        kind=0,
        rack=None,
        nodes=np.arange(len(capacity)) if nodes is None else np.array(nodes),
        sizes=np.array(sizes),
        demand=demand,
        spanning=True,
    )
    return list(
        add_nodes(
            assembly,
            zone,
            capacity=np.array(capacity),
            closed=np.zeros(len(capacity), dtype=np.bool_),
            residents=Residents.of(
                np.array(held, dtype=np.int64).reshape(len(held), len(capacity)), keep
            ),
        )
    )


def test_nodes_fall_into_classes_by_the_room_they_may_have() -> None:
    blocks = blocks_of([4, 4, 4, 2], [[1, 0, 0, 0], [0, 3, 2, 0]], [1, 2])
    classes = [(block.room, block.flagged) for block in blocks]
    # Empty ones of 4 and 2; 3 left by the local job; 1 and 2 beside the spanning one.
    assert classes == [(1, True), (2, False), (2, True), (3, False), (4, False)]


def test_a_full_node_is_of_no_class() -> None:
    blocks = blocks_of([4], [[4]], [1])
    assert [(block.room, block.flagged) for block in blocks] == [(4, False)]


def test_on_a_crowded_node_every_set_of_stayers_leaves_its_class() -> None:
    blocks = blocks_of([4], [[1], [1], [2]], [1])
    assert {block.room for block in blocks} == {1, 2, 3, 4}


def test_a_wide_node_cuts_slots_of_each_size_and_one_hole() -> None:
    (block,) = blocks_of([9], [], [2, 5])
    assert block.node == 0
    assert block.patterns.tolist() == [[1, 0], [0, 1], *[[0, 0]] * 9]
    assert block.left.tolist() == [0, 0, *range(1, 10)]


def test_a_zone_sees_its_own_nodes_and_who_spans_to_others() -> None:
    blocks = blocks_of([4, 9, 4, 4], [[1, 0, 0, 3], [0, 2, 0, 0]], [1], nodes=[0, 1])
    found = [(block.room, block.flagged, block.node) for block in blocks]
    assert found == [(3, True, None), (4, False, None), (9, False, 1)]


@pytest.mark.parametrize("wide", [8, 0])
@pytest.mark.parametrize("seed", range(30))
def test_on_closed_nodes_the_optimum_is_that_of_enumeration(
    seed: int, wide: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "_WIDE", wide)
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, nodes=(3, 3), room=(2, 3), jobs=(2, 3))
    problem = replace(problem, closed=rng.random(3) < 0.5)
    allowed = [
        cost
        for cost, rows in all_placements(problem)
        if problem.feasible(np.array(rows, dtype=np.int64))
    ]
    plan = one_optimum(problem)
    assert plan.objective == pytest.approx(min(allowed, default=np.inf), rel=1e-6, abs=1e-6)
