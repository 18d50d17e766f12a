"""Which sizes get a column, and how a fractional solution is read."""

import numpy as np

from headway.core.solve.options import Level, Options
from headway.core.solve.problem import Problem

INF = np.inf


def problem(local: list[float], several: list[float], keep: float = INF) -> Problem:
    """One job that would pay 10 for nothing, on two nodes of three GPUs."""
    return Problem(
        capacity=np.array([3, 3]),
        held=np.array([[1, 0]]),
        cost_none=np.array([10.0]),
        cost_local=np.array([[[INF, *local]]]),
        cost_several=np.array([[[INF, INF, *several]]]),
        cost_keep=np.array([keep]),
    )


def sizes(options: Options, level: Level) -> list[int]:
    return [int(gpus) for gpus in options.gpus[options.level == level]]


def test_a_size_that_costs_no_less_than_a_smaller_one_gets_no_column() -> None:
    options = Options.of(problem([8.0, 8.0, 7.0], [7.5, INF, 7.5, 6.0], keep=3.0))
    assert sizes(options, Level.LOCAL) == [1, 3]
    assert sizes(options, Level.SEVERAL) == [2, 5]
    assert options.job[options.level == Level.KEEP].tolist() == [0]
    assert options.job.tolist() == [0, 0, 0, 0, 0]


def test_spanning_must_cost_less_than_one_gpu_and_anything_less_than_nothing() -> None:
    options = Options.of(problem([8.0, 11.0, INF], [9.0, 8.5]))
    assert sizes(options, Level.LOCAL) == [1]
    assert sizes(options, Level.SEVERAL) == []
    assert sizes(Options.of(problem([10.0], [12.0])), Level.LOCAL) == []


def test_sizes_beyond_the_largest_node_get_no_column() -> None:
    options = Options.of(problem([9.0, 8.0, 7.0, 6.0, 5.0], []))
    assert sizes(options, Level.LOCAL) == [1, 2, 3]


def test_sizes_beyond_the_cluster_get_no_column() -> None:
    options = Options.of(problem([9.5], [9.0, 8.0, 7.0, 6.0, 5.0, 4.0]))
    assert sizes(options, Level.SEVERAL) == [2, 3, 4, 5, 6]


def test_each_type_and_rack_limits_the_sizes_that_are_worth_a_column() -> None:
    """Type 0 has nodes of 2, 2 and 1 GPUs, two of them in one rack; type 1 has one node of 4."""
    falling = 10.0 - np.arange(9.0)
    task = Problem(
        capacity=np.array([2, 2, 1, 4]),
        held=np.zeros((1, 4), dtype=np.int64),
        kind=np.array([0, 0, 0, 1]),
        rack=np.array([0, 1, 1, 1]),
        cost_none=np.array([10.0]),
        cost_local=np.tile(falling, (1, 2, 1)),
        cost_rack=np.tile(falling, (1, 2, 1)),
        cost_several=np.tile(falling, (1, 2, 1)),
        cost_keep=np.array([INF]),
    )
    options = Options.of(task)
    found = {
        (level, kind): options.gpus[(options.level == level) & (options.kind == kind)].tolist()
        for level in (Level.LOCAL, Level.RACK, Level.SEVERAL)
        for kind in (0, 1)
    }
    assert found == {
        (Level.LOCAL, 0): [1, 2],
        (Level.LOCAL, 1): [1, 2, 3, 4],
        (Level.RACK, 0): [2, 3],
        (Level.RACK, 1): [2, 3, 4],
        (Level.SEVERAL, 0): [2, 3, 4, 5],
        (Level.SEVERAL, 1): [2, 3, 4],
    }


def test_costs_are_scaled_by_their_median_and_stay_within_what_a_double_can_add() -> None:
    wide = problem([4.0, 2.0, 1.0], [], keep=0.5)
    wide.cost_none[0] = 1e30  # (1e-3)^-10, a waiting job at p = -10
    cost, none, scale = Options.of(wide).scaled_costs(wide)
    assert scale == 2.0
    assert cost.tolist() == [2.0, 1.0, 0.5, 0.25]
    assert 1e6 < none[0] < 1e8


def test_nothing_still_costs_far_more_than_the_worst_size() -> None:
    wide = problem([1e8, 2.0, 1.0], [], keep=0.5)
    wide.cost_none[0] = 1e30
    cost, none, _ = Options.of(wide).scaled_costs(wide)
    assert 100 * cost.max() < none[0] < 1e4 * cost.max()


def test_who_goes_without_still_costs_what_it_costs_beyond_the_cap() -> None:
    """Capped alike, a job of twice the weight was left waiting for one of half of it."""
    costs = []
    for nothing in (1e30, 2e30):
        wide = problem([4.0, 2.0, 1.0], [], keep=0.5)
        wide.cost_none[0] = nothing
        costs.append(Options.of(wide).scaled_costs(wide)[1][0])
    assert costs[1] > costs[0] * 1.01


def test_the_likeliest_option_of_each_job_is_read_off() -> None:
    job = np.array([0, 0, 1, 3, 1, 3, 2, 3])
    options = Options(job=job, level=np.zeros(8, int), kind=np.zeros(8, int), gpus=np.ones(8, int))
    value = np.array([0.2, 0.7, 0.3, 0.1, 0.4, 0.2, 0.4, 0.6])
    assert options.likeliest(value, jobs=5).tolist() == [1, 4, -1, 7, -1]  # 2: nothing has 0.6
