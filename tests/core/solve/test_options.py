"""Which sizes get a column, and how a fractional solution is read."""

import numpy as np

from headway.core.solve.options import Options, likeliest
from headway.core.solve.problem import Problem

INF = np.inf


def problem(local: list[float], several: list[float], keep: float = INF) -> Problem:
    """One job that would pay 10 for nothing, on two nodes of three GPUs."""
    return Problem(
        capacity=np.array([3, 3]),
        held=np.array([[1, 0]]),
        cost_none=np.array([10.0]),
        cost_local=np.array([[INF, *local]]),
        cost_several=np.array([[INF, INF, *several]]),
        cost_keep=np.array([keep]),
    )


def test_a_size_that_costs_no_less_than_a_smaller_one_gets_no_column() -> None:
    options = Options.of(problem([8.0, 8.0, 7.0], [7.5, INF, 7.5, 6.0], keep=3.0))
    assert options.local_size.tolist() == [1, 3]
    assert options.several_size.tolist() == [2, 5]
    assert options.keep_job.tolist() == [0]
    assert options.job.tolist() == [0, 0, 0, 0, 0]


def test_spanning_must_cost_less_than_one_gpu_and_anything_less_than_nothing() -> None:
    options = Options.of(problem([8.0, 11.0, INF], [9.0, 8.5]))
    assert options.local_size.tolist() == [1]
    assert options.several_size.tolist() == []
    assert Options.of(problem([10.0], [12.0])).local_size.tolist() == []


def test_sizes_beyond_the_largest_node_get_no_column() -> None:
    assert Options.of(problem([9.0, 8.0, 7.0, 6.0, 5.0], [])).local_size.tolist() == [1, 2, 3]


def test_costs_are_scaled_by_their_median_and_stay_within_what_a_double_can_add() -> None:
    wide = problem([4.0, 2.0, 1.0], [], keep=0.5)
    wide.cost_none[0] = 1e30  # (1e-3)^-10, a waiting job at p = -10
    cost, none, scale = Options.of(wide).scaled_costs(wide)
    assert scale == 2.0
    assert cost.tolist() == [2.0, 1.0, 0.5, 0.25]
    assert none.tolist() == [1e12]


def test_the_likeliest_option_of_each_job_is_read_off() -> None:
    options = Options(
        local_job=np.array([0, 0, 1, 3]),
        local_size=np.array([1, 2, 1, 4]),
        several_job=np.array([1, 3]),
        several_size=np.array([6, 8]),
        keep_job=np.array([2, 3]),
    )
    value = np.array([0.2, 0.7, 0.3, 0.1, 0.4, 0.2, 0.4, 0.6])
    keep, local, several = likeliest(options, value, jobs=5)
    assert local.tolist() == [2, 0, 0, 0, 0]
    assert several.tolist() == [0, 6, 0, 0, 0]
    assert keep.tolist() == [False, False, False, True, False]  # job 2: nothing has 0.6
