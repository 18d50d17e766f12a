"""The line of `headway show` about a promise: running, late, ended, on another day, absent."""

from datetime import datetime
from typing import Any

import pytest

from headway.cli.promise import promise_line

NOON_S = datetime(2026, 3, 4, 12, 0).astimezone().timestamp()  # of the reader's clock


def job(ended_s: float | None = None, basis: str = "measured", **changed: float) -> dict[str, Any]:
    promise = {
        "rho_hat": 0.9,
        "egalitarian_end_s": NOON_S + 9_000.0,
        "finish_s": NOON_S + 7_500.0,
        "earliest_s": NOON_S + 6_600.0,
        "latest_s": NOON_S + 8_700.0,
        "basis": basis,
    }
    ended = {"submitted_s": NOON_S - 60.0, "ended_s": ended_s}
    return {"promise": promise | changed, "no_promise": None, **ended}


def test_of_a_job_that_runs_with_its_interval() -> None:
    assert promise_line(job(), NOON_S) == (
        "ends about 14:05 (13:50 to 14:25), in 2.1 h; its fair share promises 14:30: 0.90 of it"
    )


def test_of_one_whose_fair_share_would_have_ended() -> None:
    late = job(egalitarian_end_s=NOON_S - 60.0, rho_hat=1.3)
    assert promise_line(late, NOON_S).endswith("its fair share promised 11:59: 1.30 of it")


def test_of_one_that_runs_longer_than_the_latest_that_was_predicted() -> None:
    assert promise_line(job(latest_s=NOON_S), NOON_S) == (
        "was to have ended by now; its fair share promises 14:30: 0.90 of it"
    )


def test_another_day_is_named() -> None:
    line = promise_line(job(latest_s=NOON_S + 86_400.0), NOON_S)
    assert line.startswith("ends about 14:05 (13:50 to 2026-03-05 12:00)")


def test_of_one_that_has_ended() -> None:
    ended = job(ended_s=NOON_S + 7_500.0)
    assert promise_line(ended, NOON_S + 8_000.0) == (
        "ended 14:05; its fair share promised 14:30: 0.90 of it"
    )


def test_of_one_that_takes_minutes_with_seconds() -> None:
    """A job that ran for 15 s ended at 11:02, and its fair share had promised 11:02."""
    soon = job(finish_s=NOON_S + 95.0, earliest_s=NOON_S + 50.0, latest_s=NOON_S + 200.0)
    assert promise_line(soon, NOON_S) == (
        "ends about 12:01:35 (12:00:50 to 12:03:20), in 95 s; "
        "its fair share promises 14:30:00: 0.90 of it"
    )
    ended = job(ended_s=NOON_S + 95.0, finish_s=NOON_S + 95.0)
    assert promise_line(ended, NOON_S + 8_000.0).startswith("ended 12:01:35; its fair share")


def test_a_guess_is_no_promise_yet() -> None:
    guess = job(basis="guess")
    assert promise_line(guess, NOON_S) == (
        "none yet: how long it takes is not known; by a guess it ends in 2.1 h"
    )
    ended = job(ended_s=NOON_S + 7_500.0, basis="guess")
    assert promise_line(ended, NOON_S + 8_000.0) == (
        "ended 14:05; how long it takes was never known"
    )


def test_where_there_is_none_it_says_why() -> None:
    absent = {"promise": None, "no_promise": "the job was cancelled", "ended_s": 1.0}
    assert promise_line(absent, NOON_S) == "none: the job was cancelled"


@pytest.mark.parametrize("years", [1e4, 1e300])
def test_an_end_beyond_any_calendar_is_told(years: float) -> None:
    """``headway submit --work 1e18`` made ``headway show`` end with a traceback."""
    far_s = NOON_S + years * 365.25 * 86_400.0
    far = job(finish_s=far_s, latest_s=far_s, egalitarian_end_s=far_s, rho_hat=1.0)
    assert promise_line(far, NOON_S) == (
        "ends in over 1,000 years; its fair share promises the year 3026 or later: 1.00 of it"
    )
    late = promise_line(job(latest_s=far_s), NOON_S)
    assert late.startswith("ends about 14:05 (13:50 to the year 3026 or later), in 2.1 h")
