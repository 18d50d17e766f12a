"""Where a job stands: running, waiting, late, ended, and under a policy that predicts nothing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.lifecycle import Phase
from headway.core.control.promised import Basis
from headway.core.explain.promise import Standing, Told, standing
from headway.core.explain.record import Factors
from headway.core.ids import JobId
from headway.core.types import Reason, ReasonCode

NUMBERS = {"egalitarian_s": 3_600.0, "finish_s": 2_700.0, "finish_error_s": 300.0}
REASON = Reason(job_id=JobId("a"), code=ReasonCode.KEPT, numbers=tuple(NUMBERS.items()))
TOLD = Told(
    submitted_s=1_000.0,
    phase=Phase.RUNNING,
    ended_s=None,
    reason=REASON,
    decided_s=1_600.0,
    policy="headway",
)


def stands(told: Told, now_s: float) -> Standing:
    found = standing(told, now_s)
    assert isinstance(found, Standing)
    return found


def test_ages_become_times_and_two_standard_errors_an_interval() -> None:
    assert standing(TOLD, 1_600.0) == Standing(
        rho_hat=0.75,
        egalitarian_end_s=4_600.0,
        finish_s=3_700.0,
        earliest_s=3_100.0,
        latest_s=4_300.0,
        decided_s=1_600.0,
        basis=Basis.MEASURED,
    )


def test_a_guess_is_kept_and_says_that_it_is_one() -> None:
    """A job that had told nothing was promised its end in an hour like any other."""
    guessed = replace(REASON, numbers=(*NUMBERS.items(), ("guess", 1.0)))
    found = stands(replace(TOLD, reason=guessed), 1_600.0)
    assert found == replace(stands(TOLD, 1_600.0), basis=Basis.GUESS)


def test_an_interval_is_as_wide_as_earlier_promises_came_out_wrong() -> None:
    """Two standard errors held 26 of 100 ends: a policy knows nothing of jobs to come."""
    wide = stands(replace(TOLD, factors=Factors(0.5, 3.0)), 1_600.0)
    assert (wide.earliest_s, wide.finish_s, wide.latest_s) == (2_650.0, 3_700.0, 7_900.0)
    narrow = stands(replace(TOLD, factors=Factors(0.99, 1.01)), 1_600.0)
    assert narrow == stands(TOLD, 1_600.0)


def test_nothing_is_predicted_for_the_past() -> None:
    """A prediction that was wrong says now, and the rho-hat that goes with it."""
    late = stands(TOLD, 5_000.0)
    assert (late.earliest_s, late.finish_s, late.latest_s) == (5_000.0, 5_000.0, 5_000.0)
    assert late.rho_hat == pytest.approx(4_000.0 / 3_600.0)


def test_a_job_that_waits_has_its_promise_too() -> None:
    waiting = replace(TOLD, phase=Phase.QUEUED, reason=replace(REASON, code=ReasonCode.WAITING))
    assert stands(waiting, 1_600.0) == stands(TOLD, 1_600.0)


def test_of_a_finished_job_the_end_is_what_was() -> None:
    done = stands(replace(TOLD, phase=Phase.FINISHED, ended_s=2_800.0), 9_000.0)
    assert (done.earliest_s, done.finish_s, done.latest_s) == (2_800.0, 2_800.0, 2_800.0)
    assert done.rho_hat == 0.5


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (replace(TOLD, phase=Phase.CANCELLED, ended_s=2_000.0), "the job was cancelled"),
        (replace(TOLD, phase=Phase.FAILED, ended_s=2_000.0), "the job failed"),
        (replace(TOLD, reason=None, decided_s=None), "no decision is made yet"),
        (
            replace(TOLD, reason=None, phase=Phase.FINISHED, ended_s=2_000.0),
            "no decision was made about it",
        ),
        (
            replace(TOLD, reason=replace(REASON, numbers=()), policy="fifo"),
            "policy fifo predicts no finish of this job",
        ),
        (
            replace(TOLD, reason=replace(REASON, numbers=(*NUMBERS.items(), ("finish_s", 1e999)))),
            "how long the job takes is not known yet",
        ),
    ],
)
def test_where_there_is_no_promise_it_says_why(told: Told, why: str) -> None:
    assert standing(told, 2_500.0) == why


@given(*(st.floats(0.0, 1e9) for _ in range(4)), st.floats(1.0, 1e9))
def test_an_interval_holds_its_prediction_and_begins_no_earlier_than_now(
    submitted_s: float, now_s: float, finish_s: float, error_s: float, egalitarian_s: float
) -> None:
    numbers = {"egalitarian_s": egalitarian_s, "finish_s": finish_s, "finish_error_s": error_s}
    reason = replace(REASON, numbers=tuple(numbers.items()))
    found = stands(replace(TOLD, submitted_s=submitted_s, reason=reason), now_s)
    assert now_s <= found.earliest_s <= found.finish_s <= found.latest_s
