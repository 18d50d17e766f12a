"""Branch and bound over relaxations: what enumeration and the mixed-integer solver find."""

from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.solve.assembly import Assembly, Program
from headway.core.solve.branch import solve_branching
from headway.core.solve.milp import Relaxation, solve_mixed
from headway.core.solve.outcome import Budget, Outcome, Status
from headway.core.solve.program import build
from headway.core.types import FloatArray
from headway.testing.placements import random_problem


def knapsacks(seed: int, items: int, least: float = -inf) -> Program:
    """Whole items of most value within half of all weight, by three measures of it."""
    rng = np.random.default_rng(seed)
    assembly = Assembly()
    column = assembly.add_columns(-rng.uniform(1, 2, items), upper=1.0)
    weight = rng.uniform(1, 3, (3, items))
    row = assembly.add_rows(3, lower=least, upper=weight.sum(axis=1) / 2)
    assembly.add_entries(np.repeat(row, items), np.tile(column, 3), weight.ravel())
    return assembly.program()


def placement(seed: int) -> Program:
    """One type or two; no rack level or up to two racks."""
    rng, kinds, racks = np.random.default_rng(seed), 1 + seed % 2, seed % 3
    problem = random_problem(rng, nodes=(2, 6), room=(1, 4), jobs=(1, 7), kinds=kinds, racks=racks)
    return build(problem, exact=True).program


def violation(program: Program, x: FloatArray) -> float:
    """By how much a row or a bound is missed."""
    column = np.repeat(np.arange(len(program.cost)), np.diff(program.starts))
    rows = np.bincount(program.indices, program.values * x[column], len(program.row_lower))
    off = (program.row_lower - rows, rows - program.row_upper, program.lower - x, x - program.upper)
    return float(np.concatenate(off).max())


@settings(max_examples=80)
@given(seed=st.integers(0, 2**32 - 1), rel_gap=st.sampled_from([0.0, 1e-4, 0.05]))
def test_the_optimum_is_never_lost_but_for_the_gap(seed: int, rel_gap: float) -> None:
    """Against the mixed-integer solver, on programs of placements."""
    program = placement(seed)
    best, found = solve_mixed(program, rel_gap=0.0), solve_branching(program, rel_gap=rel_gap)
    slack = 2e-6 * max(1.0, abs(best.objective)) if best.x is not None else 0.0
    if found.status is Status.BUDGET_SPENT:  # few, as the next test counts
        assert found.bound <= best.objective + slack
        return
    assert found.status is best.status
    if found.x is None:
        assert found.bound == found.objective == inf
        return
    assert found.objective <= best.objective + rel_gap * abs(found.objective) + slack
    assert found.objective >= best.objective - slack
    assert found.bound <= best.objective + slack
    assert found.objective - found.bound <= rel_gap * abs(found.objective) + slack
    assert violation(program, found.x) < 1e-6
    assert (found.x[program.integer] % 1 == 0).all()
    assert float(program.cost @ found.x) + program.offset == pytest.approx(found.objective)


def boxes(rng: np.random.Generator) -> tuple[Program, FloatArray]:
    """Any whole costs, bounds and rows, of which some are equations; and all points within bounds.

    Bounds may be fractions, costs below zero; rows are around one of the points, or around none.
    """
    columns, rows = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    lower = rng.choice([-2.0, -1.5, 0.0, 0.5], columns)
    upper = lower + rng.choice([0.0, 0.6, 2.0, 3.0], columns)
    whole = [np.arange(np.ceil(a), b + 1e-9) for a, b in zip(lower, upper, strict=True)]
    points = np.array(list(product(*whole)), dtype=np.float64).reshape(-1, columns)
    matrix = rng.integers(-3, 5, (rows, columns)).astype(np.float64)
    at = matrix @ (rng.choice(points) if len(points) and rng.random() < 0.8 else lower + 0.3)
    assembly = Assembly(offset=float(rng.integers(-5, 5)))
    column = assembly.add_columns(rng.integers(-5, 6, columns).astype(np.float64), upper=upper)
    below, above = rng.choice([0.0, 1.5, inf], (2, rows), p=[0.5, 0.3, 0.2])
    row = assembly.add_rows(rows, lower=at - below, upper=at + above)
    assembly.add_entries(np.repeat(row, columns), np.tile(column, rows), matrix.ravel())
    program = replace(assembly.program(), lower=lower)
    inside = [violation(program, point) < 1e-9 for point in points]
    return program, points[np.array(inside, dtype=np.bool_)]


@settings(max_examples=300)
@given(
    seed=st.integers(0, 2**32 - 1),
    rel_gap=st.sampled_from([0.0, 0.05]),
    nodes=st.sampled_from([None, 0, 1, 3]),
    first=st.integers(0, 4),
)
def test_no_point_is_below_the_bound_and_none_is_said_to_be_where_none_is(
    seed: int, rel_gap: float, nodes: int | None, first: int
) -> None:
    """Against enumeration."""
    program, points = boxes(np.random.default_rng(seed))
    best = float((points @ program.cost).min(initial=inf)) + program.offset
    budget = Budget(branch_nodes=nodes)
    found = solve_branching(program, first=first, rel_gap=rel_gap, budget=budget)
    assert found.bound <= best + 1e-5
    assert found.bound <= found.objective
    assert (found.x is None) == (found.objective == inf)
    if found.x is not None:
        assert violation(program, found.x) < 1e-5
        assert best - 1e-5 <= found.objective
        assert float(program.cost @ found.x) + program.offset == pytest.approx(found.objective)
    if found.status is Status.OPTIMAL:
        assert found.objective <= best + rel_gap * abs(found.objective) + 1e-5
    elif found.status is Status.INFEASIBLE:
        assert len(points) == 0
    else:
        assert found.status is Status.BUDGET_SPENT


def test_some_placements_are_settled_by_the_first_relaxation_and_nearly_all_by_more() -> None:
    looked = [solve_branching(placement(seed)).branch_nodes for seed in range(80)]
    assert sum(number == 1 for number in looked) >= 20
    assert sum(1 < number <= 120 for number in looked) >= 20
    assert sum(number > 120 for number in looked) <= 8


def test_which_columns_come_first_changes_the_way_and_not_the_answer() -> None:
    ways = set()
    for first in (0, 2, 9):
        outcome = solve_branching(knapsacks(4, 9), first=first, rel_gap=0.0)
        ways.add(outcome.branch_nodes)
        assert outcome.objective == pytest.approx(solve_mixed(knapsacks(4, 9), rel_gap=0).objective)
    assert len(ways) > 1


def test_after_so_many_relaxations_there_is_a_bound_and_perhaps_a_solution() -> None:
    program = knapsacks(1, 30)
    best = solve_mixed(program, rel_gap=0.0).objective
    for nodes in (0, 1, 3, 9):
        outcome = solve_branching(program, rel_gap=0.0, budget=Budget(branch_nodes=nodes))
        assert outcome.status is Status.BUDGET_SPENT
        assert outcome.branch_nodes <= nodes + 1
        assert -inf < outcome.bound <= best + 1e-9 <= outcome.objective + 2e-9


def test_a_hard_program_is_given_up_with_a_bound() -> None:
    """Equal weights of which no number fills the room: branching proves little."""
    weight = np.random.default_rng(0).integers(10**5, 10**6, 40).astype(np.float64)
    assembly = Assembly()
    column = assembly.add_columns(-weight, upper=1.0)
    row = assembly.add_rows(1, upper=float(weight.sum() // 2) + 0.5)
    assembly.add_entries(np.repeat(row, 40), column, weight)
    outcome = solve_branching(assembly.program(), rel_gap=0.0, budget=Budget(branch_nodes=None))
    assert outcome.status is Status.BUDGET_SPENT
    assert outcome.bound == pytest.approx(-float(weight.sum() // 2) - 0.5)
    assert outcome.branch_nodes <= 121


def test_a_relaxation_cut_short_bounds_nothing() -> None:
    outcome = solve_branching(placement(2), budget=Budget(simplex_iterations=0))
    assert outcome.status is Status.BUDGET_SPENT
    assert outcome.bound == -inf


@pytest.mark.parametrize("lost", range(1, 8))
def test_a_part_that_is_lost_in_rounding_still_counts_in_the_bound(
    lost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first relaxation or another, the upper half of a part or the lower."""
    program, run, runs = knapsacks(4, 9), Relaxation.within, []

    def once_lost(self: Relaxation, lower: FloatArray, upper: FloatArray) -> Outcome:
        runs.append(run(self, lower, upper))
        nothing = Outcome(status=Status.FAILED, x=None, objective=inf, bound=-inf)
        return nothing if len(runs) == lost else runs[-1]

    monkeypatch.setattr(Relaxation, "within", once_lost)
    outcome = solve_branching(program, rel_gap=0.0)
    assert (outcome.status, len(runs)) == (Status.FAILED, lost)
    root, best = runs[0].objective, solve_mixed(program, rel_gap=0.0).objective
    assert outcome.bound == -inf if lost == 1 else root <= outcome.bound <= best + 1e-9


def test_what_has_no_point_is_infeasible() -> None:
    outcome = solve_branching(knapsacks(0, 5, least=100.0))
    assert outcome.status is Status.INFEASIBLE
    assert outcome.x is None
    assert outcome.objective == outcome.bound == inf


def test_what_has_a_fraction_alone_is_infeasible() -> None:
    assembly = Assembly()
    column = assembly.add_columns(np.array([1.0]), upper=1.0)
    row = assembly.add_rows(1, lower=0.4, upper=0.6)
    assembly.add_entries(row, column)
    assert solve_branching(assembly.program()).status is Status.INFEASIBLE


def test_the_same_program_gives_the_same_answer_to_the_last_bit() -> None:
    first, second = (solve_branching(knapsacks(5, 9), rel_gap=0.0) for _ in range(2))
    assert first.x is not None
    assert second.x is not None
    assert first.x.tobytes() == second.x.tobytes()
    assert (first.objective, first.bound) == (second.objective, second.bound)
    assert first.branch_nodes == second.branch_nodes > 1
