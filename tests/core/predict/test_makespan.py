"""The makespan bound is a bound: no schedule of equal GPUs ends sooner."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.predict.makespan import makespan_bound_s


@given(
    jobs=st.lists(st.tuples(st.floats(0.1, 1e4), st.integers(1, 4)), min_size=1, max_size=12),
    gpus=st.integers(4, 16),
)
def test_no_list_schedule_ends_before_the_bound(jobs: list[tuple[float, int]], gpus: int) -> None:
    remaining = np.array([length for length, _ in jobs])
    wanted = np.array([width for _, width in jobs])
    free_s = np.zeros(gpus)  # each job takes the GPUs that are free first
    for length, width in jobs:
        first = np.argsort(free_s)[:width]
        free_s[first] = free_s[first].max() + length
    assert makespan_bound_s(remaining, wanted, gpus) <= free_s.max() * (1 + 1e-9)


def test_the_longest_job_or_the_area_whichever_is_more() -> None:
    wanted = np.array([1, 2])
    assert makespan_bound_s(np.array([9.0, 1.0]), wanted, 4) == 9.0
    assert makespan_bound_s(np.array([9.0, 9.0]), wanted, 2) == pytest.approx(13.5)
    assert makespan_bound_s(np.zeros(0), np.zeros(0, dtype=np.int64), 4) == 0.0


def test_the_area_counts() -> None:
    """The published makespan term is the longest job alone: 100 equal jobs on one GPU look as if
    they could end together."""
    assert makespan_bound_s(np.ones(100), np.ones(100, dtype=np.int64), 1) == pytest.approx(100.0)
