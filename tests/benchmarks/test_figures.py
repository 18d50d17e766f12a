"""Verdicts come from computation alone."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.results.figures import (
    Figure,
    Reach,
    Verdict,
    at_least,
    at_most,
    mean,
    near,
    percent,
    quotient,
    seconds,
)

NUMBERS = st.floats(-1e9, 1e9)


@given(measured=NUMBERS, bound=NUMBERS)
def test_a_bound_is_met_up_to_its_very_value(measured: float, bound: float) -> None:
    assert (at_most(bound).verdict(measured) is Verdict.MET) == (measured <= bound)
    assert (at_least(bound).verdict(measured) is Verdict.MET) == (measured >= bound)
    assert at_most(bound).verdict(bound) is Verdict.MET


@given(published=st.floats(1.0, 1e9), off=st.floats(-0.5, 0.5))
def test_near_is_as_near_above_as_below(published: float, off: float) -> None:
    if abs(abs(off) - 0.03) > 1e-9:
        verdict = near(published, 0.03).verdict(published * (1 + off))
        assert (verdict is Verdict.MET) == (abs(off) < 0.03)


@pytest.mark.parametrize("missing", [None, math.nan])
def test_what_was_not_measured_never_passes(missing: float | None) -> None:
    for reach in (Reach(), at_most(1.0), at_least(-1.0), near(5.0, 0.03)):
        assert reach.verdict(missing) is Verdict.MISSING


def test_where_nothing_is_asked_a_figure_is_only_shown() -> None:
    assert Reach().verdict(3.0) is Verdict.SHOWN
    assert Reach().text(seconds) == ""


def test_the_cells_of_a_line() -> None:
    figure = Figure(
        what="average JCT",
        unit=seconds,
        measured=2411.2,
        published=2446.1,
        reach=at_most(2323.8, "0.95 × published"),
    )
    assert figure.cells == (
        "average JCT",
        "2,411 s",
        "2,446 s",
        "≤ 2,324 s (0.95 × published)",
        "**not met**",
    )


def test_a_published_text_is_shown_as_it_is_and_a_missing_figure_as_nothing() -> None:
    figure = Figure(what="tail", unit=percent, measured=None, published="99 %")
    assert figure.cells == ("tail", "", "99 %", "", "not measured")


def test_a_published_zero_is_shown() -> None:
    assert Figure(what="x", unit=percent, measured=0.0, published=0.0).cells[1:3] == (
        "0.0 %",
        "0.0 %",
    )


def test_a_mean_with_a_gap_is_no_mean() -> None:
    assert mean([1.0, 3.0]) == 2.0
    assert mean([1.0, None]) is None
    assert mean([]) is None
    assert quotient(1.0, None) is None
    assert quotient(1.0, 0.0) is None
    assert quotient(1.0, 4.0) == 0.25
