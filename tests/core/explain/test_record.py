"""How promises came out: by hand, and the coverage of intervals over promises made by chance."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.events import (
    Event,
    JobCancelled,
    JobFinished,
    JobSubmitted,
    RoundDecided,
    RunOpened,
)
from headway.core.explain.record import Factors, Record
from headway.core.ids import JobId
from headway.core.types import Reason, ReasonCode
from headway.testing.histories import History, histories
from headway.testing.snapshots import job

OPENED = RunOpened(at_s=0.0, policy="headway", round_s=60.0)


def life(name: str, left_s: float, predicted_s: float, told: int = 1) -> list[Event]:
    """A job that is told, at its submission, to end ``predicted_s`` later, and ends otherwise."""
    numbers = {"egalitarian_s": 1e4, "finish_s": predicted_s, "finish_error_s": 1.0}
    reason = Reason(job_id=JobId(name), code=ReasonCode.KEPT, numbers=tuple(numbers.items()))
    decided = [RoundDecided(at_s=0.0, round_index=n, reasons=(reason,)) for n in range(told)]
    end = JobFinished(at_s=left_s, job_id=JobId(name))
    return [JobSubmitted(at_s=0.0, job=job(name).spec), *decided, end]


def after(*lives: list[Event]) -> Factors:
    record = Record()
    for event in (OPENED, *(event for events in lives for event in events)):
        record.add(event)
    return record.factors


def test_before_any_job_has_ended_the_interval_is_wide_and_not_endless() -> None:
    least, most = after()
    assert least == pytest.approx(np.exp(-0.5 * 1.645))
    assert most == pytest.approx(np.exp(0.5 * 1.645))


def test_it_narrows_with_promises_that_come_true() -> None:
    lives = [life(f"j{n}", 1_000.0, 1_000.0) for n in range(200)]
    least, most = after(*lives)
    assert 0.8 < least <= 1.0 <= most < 1.25


def test_it_widens_to_the_side_that_promises_err_to() -> None:
    late = [life(f"j{n}", 4_000.0, 1_000.0) for n in range(40)]
    least, most = after(*late)
    assert most == pytest.approx(4.0)
    assert least <= 1.0


def test_a_job_counts_once_however_often_it_was_told() -> None:
    right = [life(f"j{n}", 1_000.0, 1_000.0) for n in range(100)]
    once = after(*right, life("odd", 9_000.0, 1_000.0))
    often = after(*right, life("odd", 9_000.0, 1_000.0, told=50))
    assert often == pytest.approx(once, rel=0.2)
    assert often.most < 9.0


def test_jobs_that_did_not_finish_say_nothing() -> None:
    cancelled = life("a", 9_000.0, 10.0)[:-1]
    assert after([*cancelled, JobCancelled(at_s=9_000.0, job_id=JobId("a"))]) == after()


def test_another_policy_begins_anew() -> None:
    late = [life(f"j{n}", 4_000.0, 1_000.0) for n in range(40)]
    assert after(*late, [OPENED]) == after()


def test_95_of_100_ends_are_inside() -> None:
    """Errors as large as were measured in a simulation; only what is past is known each time."""
    draws = np.random.default_rng(0).lognormal(0.1, 0.4, size=400)
    record, inside = Record(), 0
    record.add(OPENED)
    for number, ratio in enumerate(draws.tolist()):
        least, most = record.factors
        inside += least <= ratio <= most
        for event in life(f"j{number}", 1_000.0 * ratio, 1_000.0):
            record.add(event)
    assert 0.92 <= inside / len(draws) <= 0.98


@given(histories(max_events=30), st.integers(0, 30))
def test_any_log_can_be_read_up_to_any_event(history: History, until: int) -> None:
    record = Record()
    for event in history.log[:until]:
        record.add(event)
    least, most = record.factors
    assert 0.0 < least <= 1.0 <= most


def test_how_a_guess_came_out_says_nothing_of_promises() -> None:
    guessed = []
    for event in life("a", 120.0, 3_600.0):
        if isinstance(event, RoundDecided):
            numbers = (*event.reasons[0].numbers, ("guess", 1.0))
            event = replace(event, reasons=(replace(event.reasons[0], numbers=numbers),))
        guessed.append(event)
    assert after(guessed) == after()
    assert after(life("a", 120.0, 3_600.0)) != after()
