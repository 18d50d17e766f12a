"""Caps, allowed sizes and the price of a move."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInputError
from headway.core.policy.limits import (
    allowed_sizes,
    caps,
    check_range,
    realloc_factor,
    restart_delays_s,
    scale_out_cap,
    urgency,
)
from headway.testing.snapshots import bounds, job, report


@pytest.mark.parametrize(
    ("least", "most", "sizes", "held", "cap"),
    [
        (1, 8, None, 0, 1),
        (2, 8, None, 0, 2),
        (1, 8, (4, 8), 0, 4),
        (1, 8, None, 1, 2),
        (1, 8, None, 3, 6),
        (1, 8, None, 8, 8),
        (6, 6, None, 0, 6),  # rigid
        (1, 8, (8,), 0, 8),  # one size is rigid too
    ],
)
def test_the_cap_is_twice_what_was_held_and_a_rigid_job_has_none(
    least: int, most: int, sizes: tuple[int, ...] | None, held: int, cap: int
) -> None:
    view = replace(job("a", gpus=bounds(least=least, most=most, sizes=sizes)), max_gpus_held=held)
    assert scale_out_cap(view) == cap
    assert caps([view]).tolist() == [cap]


@given(
    least=st.integers(1, 6),
    extra=st.integers(0, 6),
    sizes=st.none() | st.sets(st.integers(1, 12), min_size=1),
    largest=st.integers(0, 14),
)
def test_allowed_sizes_are_those_of_the_bounds(
    least: int, extra: int, sizes: set[int] | None, largest: int
) -> None:
    own = bounds(least=least, most=least + extra, sizes=sizes and tuple(sorted(sizes)))
    (row,) = allowed_sizes([job("a", gpus=own)], largest)
    assert tuple(np.flatnonzero(row).tolist()) == own.allowed(largest)


def test_realloc_factor_is_the_share_of_time_not_spent_restarting() -> None:
    """Pollux, section 4.2.1: (T - R delta) / (T + delta)."""
    assert realloc_factor([60.0, 3_600.0, 60.0], [0, 10, 3], [30.0, 30.0, 30.0]).tolist() == [
        60 / 90,
        3_300 / 3_630,
        0.0,
    ]


@given(age=st.floats(0, 1e7), restarts=st.integers(0, 10_000), delay=st.floats(0, 1e4))
def test_realloc_factor_is_a_share(age: float, restarts: int, delay: float) -> None:
    (factor,) = realloc_factor([age], [restarts], [delay])
    assert 0.0 <= factor <= 1.0


def test_urgency_goes_down_a_step_a_turn_of_which_each_is_twice_as_long() -> None:
    steps = urgency([0, 299, 300, 899, 900, 2_099, 2_100], 300.0)
    assert ((1.5 - steps) * 64).tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert urgency([0.0, 1e9], 0.0).tolist() == [1.0, 1.0]  # no turns


@given(attained=st.lists(st.floats(0, 1e12), min_size=2, max_size=2), turn=st.floats(1e-3, 1e12))
def test_urgency_falls_with_what_was_attained_and_stays_within_its_bounds(
    attained: list[float], turn: float
) -> None:
    of_less, of_more = urgency(sorted(attained), turn)
    assert 1.5 >= of_less >= of_more >= 1.0


def test_the_measured_delay_is_used_where_there_is_one() -> None:
    measured = replace(job("a"), report=report(restart_s=7.0))
    unmeasured = replace(job("b"), report=report())
    assert restart_delays_s([measured, unmeasured, job("c")]).tolist() == [7.0, 30.0, 30.0]


def test_a_setting_is_inside_its_range_or_off() -> None:
    for value in (1e-3, 1.0, 2.0):
        check_range("las.quantum_gpu_s", value, 1e-3, 2.0)
    check_range("las.quantum_gpu_s", 0.0, 1e-3, 2.0, off=True)
    for value, off in ((0.0, False), (-1.0, True), (3.0, True), (float("nan"), True)):
        with pytest.raises(InvalidInputError, match="quantum_gpu_s must be"):
            check_range("las.quantum_gpu_s", value, 1e-3, 2.0, off=off)
