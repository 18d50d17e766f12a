"""Laws of the meter over random lives of a cluster, checked against the scheduler's own state."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.events import (
    BatchChanged,
    EpochRead,
    Event,
    JobFinished,
    JobReferenced,
    JobReported,
    JobStarted,
    RoundStarted,
)
from headway.core.control.lifecycle import Phase
from headway.core.control.state import JobState
from headway.core.ids import JobId
from headway.core.metrics import Summary, per_job, summarise
from headway.testing.histories import History, histories, shifted

CHATTER = RoundStarted | JobStarted | JobReported | BatchChanged | EpochRead


def lasting(history: History) -> list[Event]:
    """The log, and a last event that a test can count on to mark its end."""
    return [*history.log, RoundStarted(at_s=history.states[-1].now_s)]


def near(one: float | None, other: float | None, within: float = 1e-6) -> bool:
    if one is None or other is None:
        return one is other
    return one == pytest.approx(other, rel=within, abs=within)


def same(one: Summary, other: Summary) -> bool:
    """Equal but for rounding."""
    names = Summary.__dataclass_fields__
    return all(near(getattr(one, name), getattr(other, name)) for name in names)


@given(histories())
def test_it_agrees_with_the_scheduler_about_every_job(history: History) -> None:
    """Two accounts of the same facts: the meter's own and the state's."""
    last: dict[JobId, tuple[JobState, float]] = {}
    for before, after in zip(history.states, history.states[1:], strict=False):
        for job_id, job in before.jobs.items():
            last[job_id] = job, job.attained_at(after.now_s)
    for job_id, job in history.states[-1].jobs.items():
        last[job_id] = job, job.attained_at(history.states[-1].now_s)
    outcomes = {outcome.job_id: outcome for outcome in per_job(history.log)}
    assert outcomes.keys() == last.keys()
    for job_id, (job, attained_gpu_s) in last.items():
        outcome = outcomes[job_id]
        assert outcome.gpu_hours * 3600 == pytest.approx(attained_gpu_s, abs=1e-6)
        assert outcome.started_s == job.first_started_s
        assert (outcome.restarts, outcome.max_gpus) == (job.restarts, job.max_gpus_held)
        assert (outcome.ended is None) == (job_id in history.states[-1].jobs)


@given(histories())
def test_totals_are_those_of_the_jobs_and_no_gpu_is_used_twice(history: History) -> None:
    outcomes, summary = per_job(history.log), summarise(history.log)
    assert summary.jobs == len(outcomes) == history.states[-1].arrivals
    finished = [outcome for outcome in outcomes if outcome.ended is Phase.FINISHED]
    assert summary.finished == len(finished)
    assert summary.gpu_hours == pytest.approx(sum(outcome.gpu_hours for outcome in outcomes))
    assert summary.restarts == sum(outcome.restarts for outcome in outcomes)
    if summary.utilisation is not None:
        assert 0 <= summary.utilisation <= 1 + 1e-9
    if finished:
        assert summary.makespan_s == max(outcome.finished_s or 0.0 for outcome in finished)
        times_s = [outcome.jct_s for outcome in finished]
        assert all(jct_s is not None and jct_s >= 0 for jct_s in times_s)
    for outcome in finished:
        assert outcome.queueing_s is None or 0 <= outcome.queueing_s <= (outcome.jct_s or 0.0)


@given(histories())
def test_a_job_wants_at_least_one_gpu_so_counting_widths_is_the_milder_reading(
    history: History,
) -> None:
    for outcome in per_job(history.log):
        if outcome.rho_own is not None and outcome.rho_jobs is not None:
            assert outcome.rho_own <= outcome.rho_jobs * (1 + 1e-9)


@given(histories())
def test_what_jobs_report_and_when_rounds_are_does_not_count(history: History) -> None:
    log = lasting(history)
    quiet = [event for event in log[:-1] if not isinstance(event, CHATTER)]
    assert same(summarise([*quiet, log[-1]]), summarise(log))


@given(histories())
def test_a_reference_counts_wherever_it_stands(history: History) -> None:
    """A simulator writes them first, a live system when it has them."""
    log = lasting(history)
    references = [event for event in log if isinstance(event, JobReferenced)]
    others = [event for event in log if not isinstance(event, JobReferenced)]
    first = [replace(event, at_s=others[0].at_s) for event in references]
    assert same(summarise([*first, *others]), summarise(log))


@given(histories(), st.sampled_from([1.0, 4096.0, 1.7e9]))
def test_only_durations_count_not_the_clock_they_were_read_from(
    history: History, by_s: float
) -> None:
    """A simulated log begins at 0, a service's at the seconds of its epoch."""
    later = [shifted(event, by_s) for event in history.log]
    one, other = summarise(history.log), summarise(later)
    for name in ("avg_jct_s", "makespan_s", "avg_queueing_s", "utilisation", "gpu_hours"):
        assert near(getattr(one, name), getattr(other, name), within=1e-3)
    assert (other.jobs, other.finished, other.restarts) == (one.jobs, one.finished, one.restarts)


@given(histories())
def test_events_of_one_moment_may_be_read_in_any_order_that_is_legal(history: History) -> None:
    """Two jobs that finish together: which is written first is chance."""
    state = history.states[-1]
    ends: list[Event] = [
        JobFinished(at_s=state.now_s + 10.0, job_id=job_id) for job_id in state.jobs
    ]
    assert same(summarise([*history.log, *ends]), summarise([*history.log, *reversed(ends)]))
