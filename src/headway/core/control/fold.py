"""Events into state, without a policy: what a log means, and how a service finds itself again."""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import assert_never

from headway.core.control.events import (
    BatchChanged,
    Change,
    EpochRead,
    Event,
    JobCancelled,
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
    RoundStarted,
    RunOpened,
)
from headway.core.control.lifecycle import Phase, move
from headway.core.control.state import JobState, Memory, State
from headway.core.errors import InvalidInputError
from headway.core.ids import NodeId
from headway.core.scale import Scaling
from headway.core.types import NOTHING


def rebuild(events: Iterable[Event], start: State[Memory]) -> State[Memory]:
    """The state after these events; the policy is not asked again, the log has its decisions."""
    return reduce(fold, events, start)


def fold(state: State[Memory], event: Event) -> State[Memory]:
    """The state after one event. An event about a job that has ended changes nothing.

    Raises:
        InvalidInputError: a second job with an identifier that is taken.
    """
    state = replace(state, now_s=max(state.now_s, event.at_s))
    match event:
        case RunOpened():
            return _opened(state, event)
        case RoundStarted() | JobReferenced() | EpochRead():
            return state
        case NodeJoined() | NodeLost():
            return _nodes(state, event)
        case RoundDecided():
            return _decided(state, event)
        case JobSubmitted():
            return _submitted(state, event)
        case _:
            return _job(state, event)


def _opened(state: State[Memory], event: RunOpened) -> State[Memory]:
    """Another policy may decide from here on, so what it has to say of each job is news."""
    jobs = {job_id: replace(job, reason=None) for job_id, job in state.jobs.items()}
    return replace(state, round_s=event.round_s, jobs=jobs)


def _nodes(state: State[Memory], event: NodeJoined | NodeLost) -> State[Memory]:
    nodes = dict(state.nodes)
    if isinstance(event, NodeJoined):
        nodes[event.node.node_id] = event.node
        return replace(state, nodes=nodes, changes=state.changes + 1)
    nodes.pop(event.node_id, None)
    jobs = {key: _without_node(job, event.node_id, state.now_s) for key, job in state.jobs.items()}
    scaling = _scaling_without(state, event.node_id)
    return replace(state, nodes=nodes, jobs=jobs, scaling=scaling, changes=state.changes + 1)


def _scaling_without(state: State[Memory], node_id: NodeId) -> Scaling | None:
    """What is still asked for; nothing after a loss that nobody wanted, so it is asked for anew."""
    scaling = state.scaling
    if scaling is None or node_id not in scaling.leaving:
        return None
    return replace(scaling, leaving=tuple(left for left in scaling.leaving if left != node_id))


def _without_node(job: JobState, node_id: NodeId, now_s: float) -> JobState:
    """A job that had workers on a lost node waits for its next start, from its checkpoint."""
    if not job.allocation.on(node_id):
        return job
    phase = move(job.spec.job_id, job.phase, Phase.QUEUED)
    return replace(job.holding(NOTHING, now_s), phase=phase)


def _submitted(state: State[Memory], event: JobSubmitted) -> State[Memory]:
    if event.job.job_id in state.jobs:
        raise InvalidInputError(f"job_id {event.job.job_id} is taken; choose another name")
    job = JobState(spec=event.job, changed_s=event.at_s)
    return replace(state.with_job(job), arrivals=state.arrivals + 1)


def _decided(state: State[Memory], event: RoundDecided) -> State[Memory]:
    jobs = dict(state.jobs)
    for change in event.changes:
        jobs[change.job_id] = _changed(jobs[change.job_id], change, state.now_s)
    for reason in event.reasons:
        jobs[reason.job_id] = replace(jobs[reason.job_id], reason=reason)
    after = replace(state, jobs=jobs, round_index=event.round_index)
    if event.scaling is None:
        return after
    return replace(after, scaling=event.scaling, scalings=state.scalings + 1)


def _changed(job: JobState, change: Change, now_s: float) -> JobState:
    to = Phase.STARTING if change.allocation else Phase.STOPPING
    again = bool(change.allocation) and job.first_started_s is not None
    return replace(
        job.holding(change.allocation, now_s),
        phase=move(job.spec.job_id, job.phase, to),
        generation=change.generation,
        restarts=job.restarts + again,
        first_started_s=_first_start(job, change, now_s),
    )


def _first_start(job: JobState, change: Change, now_s: float) -> float | None:
    if job.first_started_s is None and change.allocation:
        return now_s
    return job.first_started_s


def _job(
    state: State[Memory],
    event: JobStarted
    | JobReported
    | BatchChanged
    | JobStopped
    | JobFinished
    | JobFailed
    | JobCancelled,
) -> State[Memory]:
    job = state.jobs.get(event.job_id)
    if job is None:  # news of a job that has ended in the meantime
        return state
    match event:
        case JobStarted():
            return state.with_job(_on_started(job, event))
        case JobReported():
            return state.with_job(replace(job, report=event.report))
        case BatchChanged():
            same = event.change.old_batch_size == event.change.new_batch_size
            return state if same else replace(state, changes=state.changes + 1)
        case JobStopped():
            return state.with_job(_on_stopped(job, event, state.now_s))
        case JobFinished() | JobFailed() | JobCancelled():
            return state.without_job(event.job_id)
        case _:
            assert_never(event)


def _on_started(job: JobState, event: JobStarted) -> JobState:
    if event.generation != job.generation or job.phase is not Phase.STARTING:
        return job  # of an allocation that has changed since
    return replace(job, phase=move(job.spec.job_id, job.phase, Phase.RUNNING))


def _on_stopped(job: JobState, event: JobStopped, now_s: float) -> JobState:
    if event.generation != job.generation or job.phase is Phase.QUEUED:
        return job
    return replace(
        job.holding(NOTHING, now_s), phase=move(job.spec.job_id, job.phase, Phase.QUEUED)
    )
