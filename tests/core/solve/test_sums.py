"""What the pinned-pattern program knows of CPUs and memory."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.solve.assembly import Assembly
from headway.core.solve.options import Options
from headway.core.solve.sums import add_sums, narrowed
from headway.testing.placements import all_placements, random_problem, true_cost


@pytest.mark.parametrize("seed", range(30))
def test_no_placement_is_lost_by_narrowing(seed: int) -> None:
    problem = random_problem(
        np.random.default_rng(seed), nodes=(2, 3), room=(2, 3), jobs=(2, 3), resources=1 + seed % 2
    )
    narrow = narrowed(problem)
    for cost, rows in all_placements(problem):
        assert (np.array(rows).sum(axis=0) <= narrow.capacity).all()
        same = sum(true_cost(narrow, job, row) for job, row in enumerate(rows))
        assert same == pytest.approx(cost)


def test_jobs_that_all_ask_for_the_same_leave_a_problem_of_gpus_alone() -> None:
    problem = random_problem(np.random.default_rng(1), nodes=(3, 3), room=(4, 4), jobs=(3, 3))
    beside = replace(problem.beside, each=np.full((3, 1), 2), room=np.array([[7], [100], [0]]))
    problem = replace(problem, held=np.zeros_like(problem.held), beside=beside)
    assert narrowed(problem).capacity.tolist() == [3, 4, 0]


def test_one_row_for_each_resource_of_each_type() -> None:
    problem = random_problem(
        np.random.default_rng(2), nodes=(4, 4), room=(2, 2), jobs=(3, 3), kinds=2, resources=2
    )
    beside = replace(problem.beside, each=np.maximum(problem.beside.each, 1))
    problem = replace(problem, held=np.zeros_like(problem.held), beside=beside)
    options, assembly = Options.of(problem), Assembly()
    column = assembly.add_columns(np.zeros(len(options.job)))
    add_sums(assembly, problem, options, column)
    assert assembly.rows == 4
