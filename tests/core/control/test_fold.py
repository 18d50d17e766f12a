"""What events mean, one by one: small logs, and laws over random ones."""

import pytest
from hypothesis import given

from headway.core.control.events import (
    BatchChanged,
    Change,
    EpochRead,
    Event,
    JobFailed,
    JobFinished,
    JobReferenced,
    JobReported,
    JobStarted,
    JobStopped,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    RoundDecided,
    RunOpened,
)
from headway.core.control.fold import fold, rebuild
from headway.core.control.lifecycle import Phase
from headway.core.control.state import State
from headway.core.errors import IllegalMoveError, InvalidInputError
from headway.core.ids import JobId, NodeId
from headway.core.types import Allocation, BatchChange, JobReport, JobSpec, Node, Reason, ReasonCode
from headway.testing.batches import batch_changes
from headway.testing.histories import History, histories
from headway.testing.strategies import job_reports, job_specs

A = JobId("a")
N0 = NodeId("n0")
EMPTY: State[None] = State(memory=None)


def after(*events: Event) -> State[None]:
    return rebuild(events, EMPTY)


def decided(at_s: float, generation: int, gpus: int) -> RoundDecided:
    change = Change(job_id=A, generation=generation, allocation=Allocation.of({N0: gpus}))
    return RoundDecided(at_s=at_s, round_index=generation, changes=(change,))


@given(histories())
def test_rebuilding_is_folding_one_by_one(history: History) -> None:
    state: State[None] = EMPTY
    for event in history.log:
        state = fold(state, event)
    assert rebuild(history.log, EMPTY) == state


@given(histories(max_events=25))
def test_folding_never_changes_the_state_it_was_given(history: History) -> None:
    """States are shared: a what-if and the live scheduler start from the very same value."""
    states = [EMPTY]
    for event in history.log:
        states.append(fold(states[-1], event))
    again = [EMPTY]
    for before, event in zip(states, history.log, strict=False):
        again.append(fold(before, event))
    assert states == again


@given(job_specs(A, submitted_s=10.0))
def test_the_life_of_a_job(spec: JobSpec) -> None:
    start = after(NodeJoined(at_s=0.0, node=Node(node_id=N0, gpus=8)))
    state = fold(start, JobSubmitted(at_s=10.0, job=spec))
    assert (state.arrivals, state.jobs[A].phase) == (1, Phase.QUEUED)
    state = fold(state, decided(60.0, 1, 2))
    job = state.jobs[A]
    assert (job.phase, job.first_started_s, job.restarts) == (Phase.STARTING, 60.0, 0)
    state = fold(state, JobStarted(at_s=90.0, job_id=A, generation=1))
    assert state.jobs[A].phase is Phase.RUNNING
    state = fold(state, decided(120.0, 2, 4))  # a resize
    assert (state.jobs[A].phase, state.jobs[A].restarts) == (Phase.STARTING, 1)
    assert state.jobs[A].attained_gpu_s == 2 * 60.0
    state = fold(state, decided(180.0, 3, 0))
    assert (state.jobs[A].phase, state.jobs[A].restarts) == (Phase.STOPPING, 1)
    state = fold(state, JobStopped(at_s=200.0, job_id=A, generation=3))
    assert state.jobs[A].phase is Phase.QUEUED
    state = fold(state, decided(240.0, 4, 1))
    job = state.jobs[A]
    assert (job.restarts, job.first_started_s, job.max_gpus_held) == (2, 60.0, 4)
    state = fold(state, JobFinished(at_s=300.0, job_id=A))
    assert (dict(state.jobs), state.departures, state.round_index) == ({}, 1, 4)


@given(job_specs(A, submitted_s=0.0))
def test_news_of_workers_that_are_no_more_changes_nothing(spec: JobSpec) -> None:
    state = after(JobSubmitted(at_s=0.0, job=spec), decided(10.0, 1, 1), decided(20.0, 2, 2))
    for event in (
        JobStarted(at_s=20.0, job_id=A, generation=1),
        JobStopped(at_s=20.0, job_id=A, generation=1),
    ):
        assert fold(state, event) == state
    running = fold(state, JobStarted(at_s=30.0, job_id=A, generation=2))
    assert fold(running, JobStarted(at_s=30.0, job_id=A, generation=2)) == running


@given(job_specs(A, submitted_s=0.0), job_reports(), batch_changes())
def test_news_of_a_job_that_has_ended_changes_nothing(
    spec: JobSpec, report: JobReport, change: BatchChange
) -> None:
    state = after(JobSubmitted(at_s=0.0, job=spec), JobFailed(at_s=5.0, job_id=A, message="x"))
    for event in (
        JobReported(at_s=5.0, job_id=A, report=report),
        BatchChanged(at_s=5.0, job_id=A, change=change),
        JobStarted(at_s=5.0, job_id=A, generation=0),
        JobStopped(at_s=5.0, job_id=A, generation=0),
        JobFinished(at_s=5.0, job_id=A),
    ):
        assert fold(state, event) == state


@given(job_specs(A, submitted_s=0.0))
def test_what_metrics_and_people_read_does_not_reach_the_state(spec: JobSpec) -> None:
    state = after(JobSubmitted(at_s=0.0, job=spec))
    for event in (
        JobReferenced(at_s=0.0, job_id=A, egalitarian_s=1.0, exclusive_s=1.0),
        EpochRead(at_s=0.0, job_id=A, epoch=0, samples=9, read_least=1, read_most=1),
    ):
        assert fold(state, event) == state


@given(job_specs(A, submitted_s=0.0), job_reports(), batch_changes())
def test_reports_are_kept_and_batch_changes_make_plans_stale(
    spec: JobSpec, report: JobReport, change: BatchChange
) -> None:
    state = after(
        JobSubmitted(at_s=0.0, job=spec),
        JobReported(at_s=1.0, job_id=A, report=report),
        BatchChanged(at_s=2.0, job_id=A, change=change),
    )
    changed = change.old_batch_size != change.new_batch_size
    assert (state.jobs[A].report, state.changes) == (report, int(changed))


@given(job_specs(A))
def test_a_taken_identifier_is_refused_until_its_job_has_ended(spec: JobSpec) -> None:
    submitted = JobSubmitted(at_s=0.0, job=spec)
    state = after(submitted)
    with pytest.raises(InvalidInputError, match="job_id a is taken"):
        fold(state, submitted)
    assert A in after(submitted, JobFinished(at_s=1.0, job_id=A), submitted).jobs


@given(job_specs(A))
def test_a_decision_that_the_lifecycle_forbids_is_refused(spec: JobSpec) -> None:
    """A queued job has nothing to give back; a log that says so is damaged."""
    with pytest.raises(IllegalMoveError, match="a is queued and cannot become stopping"):
        after(JobSubmitted(at_s=0.0, job=spec), decided(1.0, 1, 0))


def test_time_does_not_go_back_for_an_event_that_is_late() -> None:
    state = after(NodeLost(at_s=50.0, node_id=N0), NodeLost(at_s=20.0, node_id=N0))
    assert state.now_s == 50.0


def test_a_run_opens_with_its_round_length_and_nodes_make_plans_stale() -> None:
    state = after(
        RunOpened(at_s=0.0, policy="fifo", round_s=15.0),
        NodeJoined(at_s=0.0, node=Node(node_id=N0, gpus=1)),
        NodeJoined(at_s=5.0, node=Node(node_id=N0, gpus=4)),  # repaired
    )
    assert (state.round_s, state.nodes[N0].gpus, state.changes) == (15.0, 4, 2)


@given(job_specs(A))
def test_the_last_reason_is_kept(spec: JobSpec) -> None:
    reason = Reason(job_id=A, code=ReasonCode.WAITING)
    state = after(
        JobSubmitted(at_s=0.0, job=spec),
        RoundDecided(at_s=1.0, round_index=1, reasons=(reason,)),
        RoundDecided(at_s=2.0, round_index=2),
    )
    assert state.jobs[A].reason == reason


@given(job_specs(A))
def test_where_another_policy_takes_over_no_reason_is_known(spec: JobSpec) -> None:
    """A job kept on showing what the policy before had promised it."""
    state = after(
        JobSubmitted(at_s=0.0, job=spec),
        RoundDecided(at_s=1.0, round_index=1, reasons=(Reason(job_id=A, code=ReasonCode.WAITING),)),
        RunOpened(at_s=2.0, policy="fifo", round_s=15.0),
    )
    assert state.jobs[A].reason is None
