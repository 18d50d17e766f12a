"""The part that a relaxation leaves open: small, of the same kind, and no harm to the others."""

import numpy as np
import pytest

from headway.core.solve.milp import solve_linear
from headway.core.solve.options import Level, Options
from headway.core.solve.outcome import Status
from headway.core.solve.pinned import solve
from headway.core.solve.problem import Problem
from headway.core.solve.program import build
from headway.core.solve.restrict import Part, Reduced, open_part, part
from headway.core.solve.unpack import place
from headway.testing.placements import is_a_placement, random_problem

INF = np.inf


def reduced(problem: Problem, of_option: float = 0.0) -> Reduced:
    options = Options.of(problem)
    jobs = len(problem.held)
    return Reduced(
        options=options,
        of_option=np.full(len(options.job), of_option),
        of_nothing=np.zeros(jobs),
    )


def three_jobs() -> Problem:
    """Two nodes of four; one job spans them with three GPUs, one has two of the first."""
    cost = np.tile(1 / (np.arange(9.0) + 0.1), (3, 1, 1))
    return Problem(
        capacity=np.array([4, 4]),
        held=np.array([[2, 1], [2, 0], [0, 0]]),
        cost_none=np.full(3, 10.0),
        cost_local=cost[:, :, :5],
        cost_several=cost * 1.1,
        cost_keep=np.full(3, 0.2),
    )


def test_the_second_smallest_reduced_cost_tells_who_has_a_choice() -> None:
    options = Options(
        job=np.array([0, 0, 1, 2]),
        level=np.full(4, Level.LOCAL),
        kind=np.zeros(4, dtype=np.int64),
        gpus=np.array([1, 2, 1, 1]),
    )
    found = Reduced(
        options=options,
        of_option=np.array([0.0, 0.3, 0.0, -1e-9]),
        of_nothing=np.array([5.0, 0.2, 0.0, 0.0]),
    ).second()
    assert found.tolist() == [0.3, 0.2, 0.0, INF]  # the last has no option but nothing


def test_others_stay_and_what_they_leave_is_the_part() -> None:
    task = three_jobs()
    own = part(task, task.held, np.array([1, 2]), reduced(task), threshold=1.0)
    assert own.problem.capacity.tolist() == [2, 3]
    assert own.problem.closed.tolist() == [True, True]  # the first job spans both
    assert own.problem.held.tolist() == [[2, 0], [0, 0]]
    assert np.isfinite(own.problem.cost_local[0, 0, 1:]).all()


def test_options_that_cost_too_much_are_left_away() -> None:
    task = three_jobs()
    own = part(task, task.held, np.array([2]), reduced(task, of_option=2.0), threshold=1.0)
    assert np.isinf(own.problem.cost_local).all()
    assert np.isinf(own.problem.cost_several).all()


def test_what_a_job_holds_on_nodes_that_are_full_it_cannot_keep() -> None:
    task = three_jobs()
    alloc = np.array([[0, 0], [0, 4], [0, 0]])  # the second fills the node of the first's third
    own = part(task, alloc, np.array([0]), reduced(task), threshold=1.0)
    assert own.nodes.tolist() == [0]
    assert own.problem.held.tolist() == [[0]]
    assert np.isinf(own.problem.cost_keep).all()


def test_a_part_is_put_back_where_it_came_from() -> None:
    task = three_jobs()
    own = Part(problem=task, jobs=np.array([0, 2]), nodes=np.array([1]))
    placed = own.within(task.held, np.array([[3], [1]]))
    assert placed.tolist() == [[0, 3], [2, 0], [0, 1]]


@pytest.mark.parametrize("seed", range(60))
def test_any_plan_of_a_part_is_a_plan_of_the_whole(seed: int) -> None:
    rng, kinds, racks = np.random.default_rng(seed), 1 + seed % 2, seed % 3
    task = random_problem(rng, nodes=(4, 9), room=(1, 6), jobs=(3, 16), kinds=kinds, racks=racks)
    model = build(task, exact=False)
    outcome = solve_linear(model.program)
    if outcome.x is None:
        assert outcome.status is Status.INFEASIBLE
        return
    choice = model.choice(outcome.x)
    alloc = place(task, choice)
    own = open_part(task, alloc, choice, model.reduced(outcome), share=0.3)
    assert own.problem.held.size < task.held.size or len(own.jobs) == len(task.held)
    plan = solve(own.problem, rel_gap=0.0)
    if plan.alloc is not None:
        whole = own.within(alloc, plan.alloc)
        others = np.setdiff1d(np.arange(len(alloc)), own.jobs)
        assert (whole[others] == alloc[others]).all()
        assert is_a_placement(task, whole) or not is_a_placement(task, alloc)


def test_parts_close_gaps_that_rounding_leaves() -> None:
    better = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        task = random_problem(rng, nodes=(20, 20), room=(4, 4), jobs=(30, 30))
        model = build(task, exact=False)
        outcome = solve_linear(model.program)
        assert outcome.x is not None
        rounded = float(task.cost(place(task, model.choice(outcome.x))).sum())
        plan = solve(task, exact_up_to_gpus=0)
        assert plan.objective <= rounded
        assert plan.alloc is not None
        assert is_a_placement(task, plan.alloc)
        better += plan.objective < rounded
    assert better >= 3
