"""The line of `headway show` about a promise: running, late, ended, on another day, absent."""

from datetime import datetime
from typing import Any

import pytest

from headway.cli.promise import promise_line, why_line
from headway.core.control.lifecycle import Phase
from headway.core.control.state import JobState
from headway.core.explain.record import EXACT
from headway.core.ids import JobId, NodeId
from headway.core.types import Allocation, Reason, ReasonCode
from headway.service.api.views import detail
from headway.service.reads import JobRecord
from headway.testing.stores import spec

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
    ended = {"submitted_s": NOON_S - 60.0, "ended_s": ended_s, "now_s": NOON_S}
    return {"promise": promise | changed, "no_promise": None, **ended}


def test_of_a_job_that_runs_with_its_interval() -> None:
    assert promise_line(job()) == (
        "ends about 14:05 (13:50 to 14:25), in 2.1 h; its fair share promises 14:30: 0.90 of it"
    )


def test_of_one_whose_fair_share_would_have_ended() -> None:
    late = job(egalitarian_end_s=NOON_S - 60.0, rho_hat=1.3)
    assert promise_line(late).endswith("its fair share promised 11:59: 1.30 of it")


def test_of_one_that_runs_longer_than_the_latest_that_was_predicted() -> None:
    overdue = {"finish_s": NOON_S, "earliest_s": NOON_S}
    assert promise_line(job(**overdue)) == (
        "was to have ended by now, or by 14:25:00 at the latest; "
        "its fair share promises 14:30:00: 0.90 of it"
    )
    assert promise_line(job(**overdue, latest_s=NOON_S)) == (
        "was to have ended by now; its fair share promises 14:30:00: 0.90 of it"
    )


def test_another_day_is_named() -> None:
    line = promise_line(job(latest_s=NOON_S + 86_400.0))
    assert line.startswith("ends about 14:05 (13:50 to 2026-03-05 12:00)")


def test_of_one_that_has_ended() -> None:
    ended = job(ended_s=NOON_S + 7_500.0)
    assert promise_line(ended | {"now_s": NOON_S + 8_000.0}) == (
        "ended 14:05; its fair share promised 14:30: 0.90 of it"
    )


def test_of_one_that_takes_minutes_with_seconds() -> None:
    """A job that ran for 15 s ended at 11:02, and its fair share had promised 11:02."""
    soon = job(finish_s=NOON_S + 95.0, earliest_s=NOON_S + 50.0, latest_s=NOON_S + 200.0)
    assert promise_line(soon) == (
        "ends about 12:01:35 (12:00:50 to 12:03:20), in 95 s; "
        "its fair share promises 14:30:00: 0.90 of it"
    )
    ended = job(ended_s=NOON_S + 95.0, finish_s=NOON_S + 95.0)
    assert promise_line(ended | {"now_s": NOON_S + 8_000.0}).startswith(
        "ended 12:01:35; its fair share"
    )


def test_a_guess_is_no_promise_yet() -> None:
    guess = job(basis="guess")
    assert promise_line(guess) == (
        "none yet: how long it takes is not known; by a guess it ends in 2.1 h"
    )
    ended = job(ended_s=NOON_S + 7_500.0, basis="guess")
    assert promise_line(ended | {"now_s": NOON_S + 8_000.0}) == (
        "ended 14:05; how long it takes was never known"
    )


def test_where_there_is_none_it_says_why() -> None:
    absent = job(ended_s=1.0) | {"promise": None, "no_promise": "the job was cancelled"}
    assert promise_line(absent) == "none: the job was cancelled"


@pytest.mark.parametrize("years", [1e4, 1e300])
def test_an_end_beyond_any_calendar_is_told(years: float) -> None:
    """``headway submit --work 1e18`` made ``headway show`` end with a traceback."""
    far_s = NOON_S + years * 365.25 * 86_400.0
    far = job(finish_s=far_s, latest_s=far_s, egalitarian_end_s=far_s, rho_hat=1.0)
    assert promise_line(far) == (
        "ends in over 1,000 years; its fair share promises the year 3026 or later: 1.00 of it"
    )
    late = promise_line(job(latest_s=far_s))
    assert late.startswith("ends about 14:05 (13:50 to the year 3026 or later), in 2.1 h")


def why(code: str, ended_s: float | None = None, **numbers: float | None) -> dict[str, Any]:
    told = {"code": code, "numbers": {"gpus_before": 1.0, "gpus_after": 2.0, **numbers}}
    return {"job_id": "a", "ended_s": ended_s, "why": told}


def test_why_is_a_code_and_what_led_to_it() -> None:
    speedup = {"speedup_before": 1.0, "speedup_after": 1.6254, "planned": None}
    assert why_line(why("Grew", **speedup)) == "Grew: speedup 1 → 1.63"
    assert why_line(why("Kept")) == "Kept"
    assert why_line(why("ExceedsCluster", gpus_needed=8.0)) == "ExceedsCluster: gpus_needed 8"
    assert why_line(why("Kept", remaining_s=7_200.0)) == "Kept: remaining 2.0 h"
    assert why_line(why("Finished", ended_s=1.0)) == "Finished"


def test_show_and_explain_say_the_same_of_a_promise() -> None:
    """The one had rho-hat as it was decided, the other as it is by now; and each its own now."""
    numbers = {"rho_hat": 0.8, "egalitarian_s": 1_000.0, "finish_s": 800.0, "finish_error_s": 200.0}
    reason = Reason(job_id=JobId("a"), code=ReasonCode.KEPT, numbers=tuple(numbers.items()))
    kept = JobState(spec=spec(submitted_s=NOON_S), allocation=Allocation.of({NodeId("n"): 1}))
    record = JobRecord(job=kept, phase=Phase.RUNNING, reason=reason, reason_s=NOON_S)
    told = record.told("headway", EXACT)
    for now_s, left, rho in ((NOON_S + 200.0, "in 10 min", "0.80"), (NOON_S + 900.0, "", "0.90")):
        shown = detail(record, told, now_s).model_dump()
        line = promise_line(shown)
        assert left in line.replace("in about", "in")
        assert left in shown["explanation"].replace("in about", "in")
        assert f"{rho} of it" in line
        assert f"{rho} of its" in shown["explanation"]
        assert why_line(shown) == "Kept"
