"""Times of one number of GPUs from those of another: laws, and the published table's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.predict.alike import Alike, Curve

POINTS = st.lists(
    st.tuples(st.integers(1, 10_000), st.floats(1e-3, 1e2)),
    min_size=1,
    max_size=6,
    unique_by=lambda point: point[0],
)


def curve(points: list[tuple[int, float]]) -> Curve:
    sizes, times_s = zip(*sorted(points), strict=True)
    return Curve(sizes, times_s)


@given(POINTS)
def test_a_curve_goes_through_what_was_measured(points: list[tuple[int, float]]) -> None:
    made = curve(points)
    for size, time_s in points:
        assert made.at(size) == pytest.approx(time_s)


@given(POINTS, st.floats(1.0, 100.0))
def test_beyond_it_a_step_takes_no_less_and_not_more_than_in_proportion(
    points: list[tuple[int, float]], factor: float
) -> None:
    made = curve(points)
    last, last_s = made.sizes[-1], made.times_s[-1]
    assert last_s * (1 - 1e-9) <= made.at(last * factor) <= last_s * factor * (1 + 1e-9)
    first, first_s = made.sizes[0], made.times_s[0]
    assert first_s / factor * (1 - 1e-9) <= made.at(first / factor) <= first_s * (1 + 1e-9)


@given(POINTS.filter(lambda points: len(points) > 1), st.floats(0.5, 2.0))
def test_widths_that_differ_by_a_factor_tell_each_other_all(
    points: list[tuple[int, float]], slower: float
) -> None:
    """One size on 8 GPUs is enough where all were measured on one."""
    alone = {("M", size, 1): time_s for size, time_s in points}
    (_, least, _), least_s = min(alone.items())
    known = {**alone, ("M", 8 * least, 8): least_s * slower}
    alike = Alike.of(known)
    for (_, size, _), time_s in alone.items():
        assert alike.step_s("M", 8 * size, 8) == pytest.approx(time_s * slower)


def test_where_nothing_is_known_of_a_width_it_is_as_fast_as_the_nearest() -> None:
    alike = Alike.of({("M", 10, 1): 0.2, ("M", 40, 4): 0.3, ("other", 20, 2): 9.0})
    assert alike.step_s("M", 80, 8) == pytest.approx(0.3)
    assert alike.step_s("M", 160, 8) == pytest.approx(0.3 * 1.5)  # half in proportion
    assert alike.step_s("nobody", 10, 1) is None


def test_a_single_size_says_nothing_of_another_on_as_many_gpus() -> None:
    """That is left to the job's own model."""
    assert Alike.of({("M", 10, 1): 0.2}).step_s("M", 20, 1) is None


def test_a_curve_that_covers_both_sizes_comes_before_a_nearer_one() -> None:
    alike = Alike.of(
        {
            ("M", 80, 8): 1.0,
            ("M", 40, 4): 1.0,
            ("M", 44, 4): 1.0,
            ("M", 10, 1): 1.0,
            ("M", 40, 1): 3.0,
        }
    )
    assert alike.step_s("M", 320, 8) == pytest.approx(3.0)
