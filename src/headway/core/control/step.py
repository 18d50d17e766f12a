"""The scheduler: ``(state, event, policy, rng) -> (state, commands)``. Drivers fetch and carry."""

from dataclasses import replace

import numpy as np

from headway.core.control.commands import Command, RunJob, ScaleCluster, StopJob, StopReason
from headway.core.control.events import (
    Change,
    Event,
    JobCancelled,
    NodeLost,
    RoundDecided,
    RoundStarted,
)
from headway.core.control.fold import fold
from headway.core.control.lifecycle import Phase
from headway.core.control.promised import has_moved
from headway.core.control.state import JobState, Memory, State
from headway.core.policy.base import Policy, Traits, contract_under
from headway.core.scale import Scaling
from headway.core.types import Decision, Reason


def step(
    state: State[Memory], event: Event, policy: Policy[Memory], rng: np.random.Generator
) -> tuple[State[Memory], tuple[Command, ...]]:
    """The state after the event, and what an engine must do about it.

    At a round start the policy is asked; its decision is an event of its own, kept in
    ``state.decided`` until the next one. ``records`` gives what belongs in the log.
    """
    after = fold(state, event)
    match event:
        case RoundStarted():
            return _round(after, event, policy, rng)
        case JobCancelled():
            return after, _cancel(state, event)
        case NodeLost():
            return after, _lost(state, after)
        case _:
            return after, ()


def records(event: Event, after: State[Memory]) -> tuple[Event, ...]:
    """What a driver writes into the log for an event: it, and the decision it led to."""
    if isinstance(event, RoundStarted) and after.decided is not None:
        return event, after.decided
    return (event,)


def _round(
    state: State[Memory], event: RoundStarted, policy: Policy[Memory], rng: np.random.Generator
) -> tuple[State[Memory], tuple[Command, ...]]:
    decision, memory = policy.decide(state.snapshot(), state.memory, rng)
    decided = RoundDecided(
        at_s=event.at_s,
        round_index=state.round_index + 1,
        changes=_changes(state, decision),
        reasons=_reasons(state, decision),
        objective=decision.objective,
        gap=decision.gap,
        solver=decision.solver,
        scaling=_scaling(state, decision),
    )
    after = replace(fold(state, decided), memory=memory, decided=decided)
    commands = _commands(state, after, decided, policy.traits)
    return after, (*commands, *_scale(after, decided))


def _changes(state: State[Memory], decision: Decision) -> tuple[Change, ...]:
    return tuple(
        Change(job_id=job_id, generation=job.generation + 1, allocation=decision.of(job_id))
        for job_id, job in state.jobs.items()
        if decision.of(job_id) != job.allocation
    )


def _reasons(state: State[Memory], decision: Decision) -> tuple[Reason, ...]:
    """Those of the jobs whose allocation, reason or promise is new."""

    def news(reason: Reason) -> bool:
        job = state.jobs[reason.job_id]
        if job.reason is None or job.reason.code is not reason.code:
            return True
        age_s = state.now_s - job.spec.submitted_s
        return decision.of(reason.job_id) != job.allocation or has_moved(
            job.reason, reason, age_s=age_s, round_s=state.round_s
        )

    return tuple(reason for reason in decision.reasons if news(reason))


def _scaling(state: State[Memory], decision: Decision) -> Scaling | None:
    """The wanted size of the cluster, where it is another than the one that was asked for."""
    wanted = decision.scaling
    if wanted is None:
        return None
    leaving = () if state.scaling is None else state.scaling.leaving
    same = (wanted.nodes, wanted.leaving) == (state.nodes_wanted, leaving)
    return None if same else wanted


def _scale(after: State[Memory], decided: RoundDecided) -> tuple[Command, ...]:
    """After all commands about jobs, for these empty the nodes that leave."""
    if decided.scaling is None:
        return ()
    nodes, leaving = decided.scaling.nodes, decided.scaling.leaving
    return (ScaleCluster(nodes=nodes, leaving=leaving, generation=after.scalings),)


def _commands(
    before: State[Memory], after: State[Memory], decided: RoundDecided, traits: Traits
) -> tuple[Command, ...]:
    """Those that free GPUs first, so that an engine can carry them out in this order."""

    def growth_gpus(change: Change) -> int:
        return change.allocation.gpus - before.jobs[change.job_id].allocation.gpus

    commands: list[Command] = []
    for change in sorted(decided.changes, key=growth_gpus):
        job = after.jobs[change.job_id]
        if change.allocation:
            commands.append(run_of(job, traits))
        else:
            commands.append(_stop(job, StopReason.YIELD))
    return tuple(commands)


def run_of(job: JobState, traits: Traits) -> RunJob:
    """The command that makes what a job holds true under a policy of these traits."""
    return RunJob(
        job=replace(job.spec, batch=contract_under(traits, job.spec.batch)),
        allocation=job.allocation,
        generation=job.generation,
        adapts=traits.adapts_batch_size and job.spec.batch.adapts,
    )


def _stop(job: JobState, why: StopReason) -> StopJob:
    return StopJob(job_id=job.spec.job_id, generation=job.generation, why=why)


def _cancel(before: State[Memory], event: JobCancelled) -> tuple[Command, ...]:
    job = before.jobs.get(event.job_id)
    if job is None or job.phase is Phase.QUEUED:
        return ()
    return (_stop(job, StopReason.CANCEL),)


def _lost(before: State[Memory], after: State[Memory]) -> tuple[Command, ...]:
    """Workers on the nodes that are left must not wait for those that are gone."""
    return tuple(
        _stop(job, StopReason.YIELD)
        for job_id, job in after.jobs.items()
        if before.jobs[job_id].allocation and not job.allocation
    )
