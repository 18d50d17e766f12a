"""The pinned-pattern program: small where the problem is symmetric, and meant as it is read."""

import numpy as np
import pytest

from headway.core.solve.milp import solve_linear, solve_mixed
from headway.core.solve.options import Level
from headway.core.solve.problem import Problem
from headway.core.solve.program import build
from headway.testing.placements import random_problem


def identical_jobs(nodes: int, held: list[list[int]] | None = None) -> Problem:
    """Two jobs that gain from every GPU, on equal nodes of four."""
    gpus = np.arange(9.0)
    cost = np.tile(1 / (gpus + 0.1), (2, 1, 1))
    placed = np.zeros((2, nodes), dtype=np.int64) if held is None else np.array(held)
    return Problem(
        capacity=np.full(nodes, 4),
        held=placed,
        cost_none=np.full(2, 10.0),
        cost_local=cost[:, :, :5],
        cost_several=cost * 1.1,
        cost_keep=np.full(2, 0.2),
    )


def test_equal_empty_nodes_add_nothing_to_the_program() -> None:
    few, many = (build(identical_jobs(nodes), exact=True).program for nodes in (2, 200))
    assert few.cost.shape == many.cost.shape
    assert few.row_lower.shape == many.row_lower.shape


def test_a_node_with_one_resident_needs_no_column_of_its_own() -> None:
    empty = build(identical_jobs(3), exact=True).program
    spanning = build(identical_jobs(3, [[4, 4, 0], [0, 0, 4]]), exact=True).program
    keeps = 2
    assert len(spanning.cost) == len(empty.cost) + keeps


@pytest.mark.parametrize("seed", range(40))
def test_the_aggregated_relaxation_is_below_the_exact_one_and_that_below_the_optimum(
    seed: int,
) -> None:
    problem = random_problem(np.random.default_rng(seed), nodes=(2, 5), room=(1, 5), jobs=(1, 6))
    exact, aggregated = build(problem, exact=True), build(problem, exact=False)
    optimum = solve_mixed(exact.program, rel_gap=0.0).objective
    tight, loose = (solve_linear(model.program).objective for model in (exact, aggregated))
    slack = 1e-6 * max(1.0, abs(optimum)) if np.isfinite(optimum) else 0.0
    assert loose <= tight + slack
    assert tight <= optimum + slack


def test_a_solution_reads_as_sizes_patterns_and_pieces() -> None:
    model = build(identical_jobs(4), exact=True)
    outcome = solve_mixed(model.program)
    assert outcome.x is not None
    choice = model.choice(outcome.x)
    assert choice.level.tolist() == [Level.SEVERAL, Level.SEVERAL]
    assert choice.gpus.tolist() == [8, 8]
    assert choice.pieces is not None
    assert choice.pieces.sum(axis=0).tolist() == [[0, 0, 0, 0, 4]]
    assert outcome.objective * model.scale == pytest.approx(2 * 1.1 / 8.1)


def test_the_aggregated_form_says_nothing_of_pieces() -> None:
    model = build(identical_jobs(4), exact=False)
    outcome = solve_linear(model.program)
    assert outcome.x is not None
    assert model.choice(outcome.x).pieces is None
