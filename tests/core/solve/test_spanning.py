"""Pieces of jobs that span nodes: in holes, two at least, in one rack or in several."""

import numpy as np
import pytest

from headway.core.solve.milp import solve_mixed
from headway.core.solve.options import Level
from headway.core.solve.pinned import solve
from headway.core.solve.problem import Problem
from headway.core.solve.program import build
from headway.testing.placements import is_a_placement, random_problem


def one_job(*, rack: list[int], of_rack: float, of_several: float) -> Problem:
    """A job of exactly four GPUs on several nodes of two; the costs are those of four."""
    in_rack, several = np.full((2, 1, 1, 5), np.inf)
    in_rack[..., 4], several[..., 4] = of_rack, of_several
    return Problem(
        capacity=np.full(len(rack), 2),
        held=np.zeros((1, len(rack)), dtype=np.int64),
        rack=np.array(rack),
        cost_none=np.array([9.0]),
        cost_local=np.full((1, 1, 3), np.inf),
        cost_rack=in_rack,
        cost_several=several,
        cost_keep=np.array([np.inf]),
    )


@pytest.mark.parametrize(
    ("rack", "of_rack", "of_several", "cost", "racks"),
    [
        ([0, 1, 0], 1.0, 2.0, 1.0, 1),  # the cheaper level has room
        ([0, 1, 2], 1.0, 2.0, 2.0, 2),  # it has none
        ([0, 1, 0], 2.0, 1.0, 1.0, 2),
        ([0, 0, 0], 2.0, 1.0, 2.0, 1),  # one rack cannot be several
        ([0, 1, 2], 1.0, np.inf, 9.0, 0),
    ],
)
def test_a_job_is_in_one_rack_or_in_several(
    rack: list[int], of_rack: float, of_several: float, cost: float, racks: int
) -> None:
    problem = one_job(rack=rack, of_rack=of_rack, of_several=of_several)
    plan = solve(problem)
    assert plan.alloc is not None
    assert plan.objective == cost
    assert len(set(problem.rack[plan.alloc[0] > 0])) == racks


def test_pieces_are_read_by_rack() -> None:
    model = build(one_job(rack=[4, 7, 4], of_rack=1.0, of_several=2.0), exact=True)
    outcome = solve_mixed(model.program)
    assert outcome.x is not None
    choice = model.choice(outcome.x)
    assert choice.level.tolist() == [Level.RACK]
    assert choice.pieces is not None
    assert np.argwhere(choice.pieces).tolist() == [[0, 4, 2]]  # of the job, in rack 4, of two GPUs
    assert choice.pieces.sum() == 2


def test_the_aggregated_form_does_not_see_racks() -> None:
    task = random_problem(np.random.default_rng(5), nodes=(8, 8), room=(4, 4), jobs=(9, 9), racks=4)
    model = build(task, exact=False)
    assert model.pieces is None
    assert {block.zone.rack for block in model.blocks} == {None}


@pytest.mark.parametrize("exact", [True, False])
def test_one_rack_for_all_costs_what_no_rack_level_costs(exact: bool) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        flat = random_problem(rng, nodes=(2, 5), room=(2, 5), jobs=(2, 7))
        racked = Problem(
            capacity=flat.capacity,
            held=flat.held,
            cost_none=flat.cost_none,
            cost_local=flat.cost_local,
            cost_rack=flat.cost_several,
            cost_several=np.full_like(flat.cost_several, np.inf),
            cost_keep=flat.cost_keep,
        )
        plans = [
            solve(problem, rel_gap=0.0, exact_up_to_gpus=1_000 if exact else 0)
            for problem in (flat, racked)
        ]
        assert plans[0].bound == pytest.approx(plans[1].bound, rel=1e-6, abs=1e-6)
        if exact:
            assert plans[0].objective == pytest.approx(plans[1].objective, rel=1e-6, abs=1e-6)
        assert plans[1].alloc is None or is_a_placement(racked, plans[1].alloc)
