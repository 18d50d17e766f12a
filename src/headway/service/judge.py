"""Pure questions of the runner: is this news, does this command still hold, what must run now."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from headway.core.control.commands import Command, RunJob, ScaleCluster, StopJob, StopReason
from headway.core.control.events import (
    Event,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobStarted,
    JobStopped,
    NodeJoined,
    NodeLost,
    RunOpened,
)
from headway.core.control.lifecycle import Phase
from headway.core.control.state import JobState, State
from headway.core.control.step import run_of
from headway.core.policy.base import Traits
from headway.core.types import Node
from headway.protocol.messages import AgentPhase, AgentReport


def is_news(state: State[Any], event: Event) -> bool:
    """Whether it changes anything: not so when it is about an allocation or a job that is past."""
    match event:
        case JobStarted() | JobStopped():
            job = state.jobs.get(event.job_id)
            if job is None or job.generation != event.generation:
                return False
            started = isinstance(event, JobStarted)
            return job.phase is Phase.STARTING if started else job.phase is not Phase.QUEUED
        case JobFinished() | JobFailed() | JobCancelled():
            return event.job_id in state.jobs
        case _:
            return True


def still_holds(state: State[Any], command: Command) -> bool:
    """Whether a command is what the scheduler wants now, and no later one took its place."""
    match command:
        case StopJob(why=StopReason.CANCEL):
            return True
        case StopJob():
            job = state.jobs.get(command.job_id)
            return job is not None and job.generation == command.generation and not job.allocation
        case RunJob():
            job = state.jobs.get(command.job.job_id)
            return job is not None and job.generation == command.generation and job.phase.holds
        case ScaleCluster():
            return state.scalings == command.generation and state.scaling is not None


def wanted(state: State[Any], traits: Traits) -> tuple[RunJob, ...]:
    """What must run by the decisions made so far."""
    return tuple(run_of(job, traits) for job in state.jobs.values() if job.phase.holds)


def node_events(state: State[Any], nodes: Iterable[Node], now_s: float) -> tuple[Event, ...]:
    """What has become of the nodes; one that has changed is lost and joins anew.

    One that only has other CPUs or memory is told of without a loss: its jobs hold their GPUs.
    """
    there = {node.node_id: node for node in nodes}
    lost = [key for key, node in state.nodes.items() if not _same_gpus(node, there.get(key))]
    new = [node for key, node in there.items() if state.nodes.get(key) != node]
    return (
        *(NodeLost(at_s=now_s, node_id=node_id) for node_id in lost),
        *(NodeJoined(at_s=now_s, node=node) for node in new),
    )


def _same_gpus(before: Node, now: Node | None) -> bool:
    return now is not None and replace(now, cpus=before.cpus, memory_gb=before.memory_gb) == before


def same_run(before: RunOpened | None, now: RunOpened) -> bool:
    """Whether a log goes on under the same policy and round length."""
    return before is not None and replace(before, at_s=now.at_s) == now


def leaving(state: State[Any]) -> tuple[StopJob, ...]:
    """Who was told to stop: told again, for a service that was down could not see them go."""
    return tuple(
        StopJob(job_id=job_id, generation=job.generation, why=StopReason.YIELD)
        for job_id, job in state.jobs.items()
        if job.phase is Phase.STOPPING
    )


def has_started(job: JobState | None, message: AgentReport) -> bool:
    """Whether a message says that the job now runs on what it was given."""
    return (
        job is not None
        and message.phase is AgentPhase.RUNNING
        and job.phase is Phase.STARTING
        and job.generation == message.generation
    )
