"""What commands do in virtual time: the effects of a simulated run.

Between two moments at which something may be decided (a round, a node that comes or goes) a job's
life is determined. So at each such moment every job is advanced to the next one, and what happens
to it on the way becomes events; none of them can turn out to be wrong later, unless the job is
cancelled, and then ``forward`` drops them.
"""

import math
from bisect import insort
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, final

from headway.core.control.commands import Command, RunJob, ScaleCluster, StopJob
from headway.core.control.events import (
    Event,
    JobFinished,
    JobStarted,
    JobStopped,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    RoundStarted,
)
from headway.core.control.lifecycle import Phase
from headway.core.control.state import State
from headway.core.explain.forward import Push
from headway.core.ids import JobId
from headway.core.types import placement_on
from headway.sim.hardware import Hardware
from headway.sim.interference import disturbed
from headway.sim.provider import Provider
from headway.sim.truth import JobTruth

# rounds in which jobs wait and not one GPU is given away, after which nothing will change
MAX_IDLE_ROUNDS = 100


class Agents(Protocol):
    """What the agents inside the jobs do. They know what they measure, not the truth."""

    def start(self, job: JobTruth, *, adapts: bool) -> None:
        """Split the batch for the allocation that the job has just been given."""
        ...

    def started(self, job: JobTruth, at_s: float) -> Sequence[Event]:
        """What the agent says at the first step on an allocation."""
        ...

    def turned(self, job: JobTruth) -> Sequence[Event]:
        """The batch changes that the job's own rule has made since it was last asked."""
        ...

    def wakes_s(self, job: JobTruth) -> float:
        """When the agent of a running job will next look for a better split of its batch."""
        ...

    def tune(self, job: JobTruth, at_s: float) -> Sequence[Event]:
        """It looks; what it says if it changed something."""
        ...

    def report(self, job: JobTruth, at_s: float) -> Sequence[Event]:
        """What the agent of a running job says just before a round, if anybody listens."""
        ...


@final
class Executor:
    """Carries commands out on the truth of jobs, and keeps the rounds going while jobs are active.

    A job that is given another allocation holds its GPUs for ``restart_s`` times its own factor
    without progress, at its first start too. Who spans nodes beside another such job is slower by
    ``interference``, from one moment of decision to the next.
    """

    def __init__(
        self,
        jobs: Mapping[JobId, JobTruth],
        agents: Agents,
        *,
        round_s: float,
        restart_s: float,
        hardware: Hardware,
        interference: float = 0.0,
        changes_s: Sequence[float] = (),
        provider: Provider | None = None,
    ) -> None:
        self._jobs = jobs
        self._agents = agents
        self._round_s = round_s
        self._restart_s = restart_s
        self._hardware = hardware
        self._provider = provider
        self._interference = interference
        # when nodes come or go; those of the file at time 0 are over before the first job is there
        self._changes_s = [*(at_s for at_s in changes_s if at_s > 0), math.inf]
        self._changes_seen = 0
        self._holding: dict[JobId, JobTruth] = {}
        self._round: int | None = None  # number of the round that is due
        self._round_pushed = False
        self._idle_rounds = 0

    def __call__(
        self, state: State[Any], event: Event, commands: tuple[Command, ...], push: Push
    ) -> None:
        """Do the commands, then push what will happen until something may be decided again."""
        now_s = event.at_s
        for command in commands:
            self._apply(state, command, now_s, push)
        match event:
            case RoundStarted():
                self._after_round(state)
            case NodeJoined() | NodeLost() if self._changes_s[self._changes_seen] <= now_s:
                self._changes_seen += 1
                self._resume(state, now_s)
            case JobSubmitted() if self._round is None:
                self._resume(state, now_s)
            case _:
                return
        self._plan(state, push)

    def _apply(self, state: State[Any], command: Command, now_s: float, push: Push) -> None:
        match command:
            case RunJob():
                job = self._jobs[command.job.job_id]
                job.spec = command.job  # with the batch contract as the policy wants it kept
                job.hold(
                    command.allocation,
                    command.generation,
                    site=self._hardware.site(command.allocation, state.nodes),
                    told=placement_on(state.nodes, command.allocation),
                    now_s=now_s,
                    restart_s=self._restart_s * job.restart_factor,
                )
                self._holding[command.job.job_id] = job
                self._agents.start(job, adapts=command.adapts)
            case StopJob():
                self._holding.pop(command.job_id, None)
                job_state = state.jobs.get(command.job_id)  # none of a job that was cancelled
                if job_state is not None and job_state.phase is Phase.STOPPING:
                    push(
                        JobStopped(at_s=now_s, job_id=command.job_id, generation=command.generation)
                    )
            case ScaleCluster():
                if self._provider is not None:
                    for at_s in self._provider.scale(state, command, now_s, push):
                        insort(self._changes_s, at_s, lo=self._changes_seen)

    def _round_from(self, now_s: float) -> int:
        """The first round that does not start in the past, even where a quotient is rounded."""
        number = math.ceil(now_s / self._round_s)
        return number if number * self._round_s >= now_s else number + 1

    def _resume(self, state: State[Any], now_s: float) -> None:
        """Hold rounds again, after news that may end the waiting of jobs."""
        self._idle_rounds = 0
        if self._round is None and state.jobs:
            self._round = self._round_from(now_s)

    def _after_round(self, state: State[Any]) -> None:
        """The next round is due while there is anything to decide about."""
        self._round_pushed = False
        self._idle_rounds = 0 if self._holding else self._idle_rounds + 1
        goes_on = bool(state.jobs) and self._idle_rounds < MAX_IDLE_ROUNDS
        self._round = (self._round or 0) + 1 if goes_on else None

    def _plan(self, state: State[Any], push: Push) -> None:
        """Advance every job to the next moment of decision, and push what happens on the way."""
        round_at_s = math.inf if self._round is None else self._round * self._round_s
        until_s = min(round_at_s, self._changes_s[self._changes_seen])
        if math.isinf(until_s):
            return
        self._set_paces()
        listen = until_s == round_at_s
        finished = [
            job_id
            for job_id, job in self._holding.items()
            if self._live(job, until_s, push, listen=listen)
        ]
        for job_id in finished:
            del self._holding[job_id]
        if not listen or self._round_pushed:
            return
        if len(state.jobs) > len(finished):
            push(RoundStarted(at_s=round_at_s))
            self._round_pushed = True
        else:
            self._round = None

    def _set_paces(self) -> None:
        """Slow down who disturbs each other now."""
        if self._interference > 0:
            slow = disturbed({job_id: job.allocation for job_id, job in self._holding.items()})
            for job_id, job in self._holding.items():
                job.pace = 1.0 - self._interference * (job_id in slow)

    def _live(self, job: JobTruth, until_s: float, push: Push, *, listen: bool) -> bool:
        """Whether the job comes to its end."""
        job_id = job.spec.job_id
        if not job.started and job.ready_s <= until_s:
            job.started = True
            push(JobStarted(at_s=job.ready_s, job_id=job_id, generation=job.generation))
            for said in self._agents.started(job, job.ready_s):
                push(said)
        finished_s = self._run(job, until_s, push)
        for said in self._agents.turned(job):
            push(said)
        if finished_s is not None:
            push(JobFinished(at_s=finished_s, job_id=job_id))
            return True
        if listen and job.ready_s < until_s:
            for said in self._agents.report(job, until_s):
                push(said)
        return False

    def _run(self, job: JobTruth, until_s: float, push: Push) -> float | None:
        """Let the job run, and its agent tune it on the way; the moment of its end, if it comes."""
        while job.at_s < until_s:
            to_s = until_s
            if job.started:
                to_s = min(until_s, self._agents.wakes_s(job))
            finished_s = job.advance(to_s)
            if finished_s is not None:
                return finished_s
            if to_s < until_s:
                for said in self._agents.tune(job, to_s):
                    push(said)
        return None
