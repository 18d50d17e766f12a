"""The direct program against enumeration: types, racks, shared nodes, CPUs and memory."""

import numpy as np
import pytest

from headway.core.solve import direct
from headway.core.solve.outcome import DEFAULT_BUDGET, Status
from headway.core.solve.problem import Problem
from headway.testing.placements import all_placements, is_a_placement, random_problem


def tiny(seed: int) -> Problem:
    rng, shared = np.random.default_rng(seed), seed % 5 == 0
    if seed % 2:
        return random_problem(
            rng, nodes=(2, 3), room=(2, 3), jobs=(2, 3), resources=2, share_spanning=shared
        )
    return random_problem(
        rng,
        nodes=(4, 5),
        room=(1, 2),
        jobs=(2, 3),
        kinds=2,
        racks=2,
        resources=1,
        share_spanning=shared,
    )


@pytest.mark.parametrize("seed", range(60))
def test_it_finds_and_proves_the_optimum(seed: int) -> None:
    problem = tiny(seed)
    best = min((cost for cost, _ in all_placements(problem)), default=np.inf)
    outcome, alloc = direct.solve(problem, rel_gap=1e-9, budget=DEFAULT_BUDGET)
    if not np.isfinite(best):
        assert outcome.status is Status.INFEASIBLE
        return
    assert outcome.status is Status.OPTIMAL
    assert alloc is not None
    assert is_a_placement(problem, alloc)
    assert float(problem.cost(alloc).sum()) == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert outcome.bound == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_its_size_is_known_before_it_is_built() -> None:
    problem = tiny(1)
    there = len(direct.build(problem).program.cost)
    assert there <= direct.columns(problem) + len(problem.held) * (1 + problem.capacity.sum())
