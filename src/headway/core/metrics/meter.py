"""Reads a log once, event by event, and remembers no more than its jobs.

It keeps its own accounts, apart from the scheduler's state, so that each can be checked against
the other. Time never goes back: an event that is late counts as happening when it is read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Self, final

from headway.core.control.events import (
    Change,
    Event,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobReferenced,
    JobStopped,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    RoundDecided,
    RunOpened,
)
from headway.core.control.lifecycle import ENDED_BY, Phase
from headway.core.ids import JobId, NodeId
from headway.core.metrics.entitlement import Entitlement
from headway.core.metrics.summary import JobOutcome, Summary, Totals, summary_of
from headway.core.policy.shares import parse_tenants
from headway.core.types import NOTHING, Allocation, JobSpec

HOUR_S = 3600.0


class Integrals(NamedTuple):
    """Sums over time, from the beginning of the log to some moment of it.

    The two that divide by the GPUs there skip the time in which there are none.
    """

    gpu_s: float = 0.0  # there
    node_s: float = 0.0
    share_gpu_s: float = 0.0  # there for each active job, if all had the same share
    held_gpu_s: float = 0.0
    served_s: float = 0.0  # time with at least one GPU
    contention_s: float = 0.0  # of max(1, GPUs wanted by active jobs / GPUs there)
    crowding_s: float = 0.0  # of active jobs / GPUs there


ZERO = Integrals()


@dataclass(slots=True, kw_only=True)
class _Job:
    spec: JobSpec
    since: Integrals  # when it came
    until: Integrals | None = None  # when it ended
    allocation: Allocation = NOTHING
    generation: int = 0
    gpu_s: float = 0.0  # up to the last change of the allocation
    changed_s: float = 0.0  # when that was
    started_s: float | None = None
    restarts: int = 0
    max_gpus: int = 0
    ended: Phase | None = None
    ended_s: float | None = None


@final
@dataclass(slots=True)
class Meter:
    """Measures a log as it is written or read: ``add`` every event, then ask."""

    _start_s: float | None = None
    _now_s: float = 0.0
    _nodes: dict[NodeId, int] = field(default_factory=dict)
    _jobs: list[_Job] = field(default_factory=list)
    _active: dict[JobId, _Job] = field(default_factory=dict)
    _references: dict[JobId, JobReferenced] = field(default_factory=dict)
    _entitled: Entitlement = field(default_factory=Entitlement)
    _integrals: Integrals = ZERO
    _gpus: int = 0  # there
    _held: int = 0
    _wanted: int = 0  # requested by active jobs
    _last_finish_s: float | None = None
    _at_last_finish: Integrals = ZERO
    _gap_max: float | None = None

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        """A meter that has read a whole log."""
        meter = cls()
        for event in events:
            meter.add(event)
        return meter

    @property
    def start_s(self) -> float:
        """When the log begins."""
        return 0.0 if self._start_s is None else self._start_s

    @property
    def now_s(self) -> float:
        """When the last event was."""
        return self._now_s

    @property
    def gpus(self) -> int:
        """GPUs that are there now."""
        return self._gpus

    @property
    def held_gpus(self) -> int:
        """GPUs that jobs hold now."""
        return self._held

    def add(self, event: Event) -> None:
        """Take the next event. One about a job that is not active changes nothing."""
        self.advance(event.at_s)
        match event:
            case RunOpened() | NodeJoined() | NodeLost():
                self._change_cluster(event)
            case JobSubmitted():
                self._submit(event.job)
            case RoundDecided():
                self._decide(event)
            case JobStopped():
                job = self._active.get(event.job_id)
                if job is not None and event.generation == job.generation:
                    self._hold(job, NOTHING)
            case JobFinished() | JobFailed() | JobCancelled():
                self._end(event)
            case JobReferenced():
                self._references[event.job_id] = event
            case _:
                pass

    def outcomes(self) -> tuple[JobOutcome, ...]:
        """How every job fared up to now, in the order of their submission."""
        return tuple(self._outcome(job) for job in self._jobs)

    def summary(self) -> Summary:
        """Everything up to now in one record."""
        gpu_s, held_gpu_s = self._at_last_finish.gpu_s, self._at_last_finish.held_gpu_s
        totals = Totals(
            makespan_s=self._makespan_s(),
            utilisation=held_gpu_s / gpu_s if gpu_s > 0 else None,
            gap_max=self._gap_max,
            node_hours=self._at_last_finish.node_s / HOUR_S,
            provisioned_gpu_hours=gpu_s / HOUR_S,
        )
        return summary_of(self.outcomes(), totals)

    def advance(self, at_s: float) -> None:
        """Let time pass in which nothing happens; it never goes back."""
        if self._start_s is None:
            self._start_s = self._now_s = at_s
        passed_s = at_s - self._now_s
        if passed_s <= 0:
            return
        self._now_s = at_s
        self._entitled.advance(passed_s)
        sums, gpus = self._integrals, self._gpus
        served_s = passed_s if gpus else 0.0
        self._integrals = Integrals(
            gpu_s=sums.gpu_s + passed_s * gpus,
            node_s=sums.node_s + passed_s * len(self._nodes),
            share_gpu_s=sums.share_gpu_s + passed_s * gpus / max(len(self._active), 1),
            held_gpu_s=sums.held_gpu_s + passed_s * self._held,
            served_s=sums.served_s + served_s,
            contention_s=sums.contention_s + served_s * max(1.0, self._wanted / max(gpus, 1)),
            crowding_s=sums.crowding_s + served_s * len(self._active) / max(gpus, 1),
        )

    def _change_cluster(self, event: RunOpened | NodeJoined | NodeLost) -> None:
        if isinstance(event, RunOpened):
            self._entitled.weigh(tenants_of(event))
        elif isinstance(event, NodeJoined):
            self._nodes[event.node.node_id] = event.node.gpus
        else:
            self._nodes.pop(event.node_id, None)
            for job in self._active.values():
                if job.allocation.on(event.node_id):  # all its workers stop with those lost
                    self._hold(job, NOTHING)
        self._gpus = sum(self._nodes.values())
        self._entitled.resize(self._gpus)

    def _submit(self, spec: JobSpec) -> None:
        job = _Job(spec=spec, since=self._integrals, changed_s=self._now_s)
        self._jobs.append(job)
        self._active[spec.job_id] = job
        self._entitled.come(spec)
        self._wanted += spec.requested_gpus

    def _decide(self, event: RoundDecided) -> None:
        if event.gap is not None:
            self._gap_max = max(event.gap, self._gap_max or 0.0)
        for change in event.changes:
            job = self._active.get(change.job_id)
            if job is not None:
                self._change(job, change)

    def _change(self, job: _Job, change: Change) -> None:
        job.generation = change.generation
        if change.allocation:
            if job.started_s is None:
                job.started_s = self._now_s
            else:
                job.restarts += 1
        self._hold(job, change.allocation)

    def _hold(self, job: _Job, allocation: Allocation) -> None:
        self._held += allocation.gpus - job.allocation.gpus
        job.gpu_s = self._gpu_s(job)
        job.changed_s = self._now_s
        job.allocation = allocation
        job.max_gpus = max(job.max_gpus, allocation.gpus)

    def _gpu_s(self, job: _Job) -> float:
        return job.gpu_s + job.allocation.gpus * (self._now_s - job.changed_s)

    def _end(self, event: JobFinished | JobFailed | JobCancelled) -> None:
        job = self._active.pop(event.job_id, None)
        if job is None:
            return
        self._hold(job, NOTHING)
        self._entitled.go(event.job_id)
        self._wanted -= job.spec.requested_gpus
        job.ended, job.ended_s, job.until = ENDED_BY[type(event)], self._now_s, self._integrals
        if job.ended is Phase.FINISHED:
            self._last_finish_s, self._at_last_finish = self._now_s, self._integrals

    def _makespan_s(self) -> float | None:
        return None if self._last_finish_s is None else self._last_finish_s - self.start_s

    def _mean_gpus(self) -> float:
        """GPUs of the cluster up to the last completion; of a steady one, simply its GPUs."""
        makespan_s = self._makespan_s()
        return self._at_last_finish.gpu_s / makespan_s if makespan_s else float(self._gpus)

    def _outcome(self, job: _Job) -> JobOutcome:
        submitted_s = job.spec.submitted_s
        finished_s = job.ended_s if job.ended is Phase.FINISHED else None
        jct_s = None if finished_s is None else finished_s - submitted_s
        rho, rho_own, rho_jobs, rho_static = self._rhos(job, jct_s)
        return JobOutcome(
            job_id=job.spec.job_id,
            name=job.spec.name,
            tenant=job.spec.tenant,
            submitted_s=submitted_s,
            started_s=job.started_s,
            finished_s=finished_s,
            jct_s=jct_s,
            queueing_s=None if job.started_s is None else job.started_s - submitted_s,
            gpu_hours=self._gpu_s(job) / HOUR_S,
            provisioned_gpu_hours=self._share_gpu_s(job) / HOUR_S,
            entitled_gpu_hours=self._entitled.gpu_s(job.spec.job_id) / HOUR_S,
            restarts=job.restarts,
            max_gpus=job.max_gpus,
            rho=rho,
            rho_own=rho_own,
            rho_jobs=rho_jobs,
            rho_static=rho_static,
            ended=job.ended,
        )

    def _share_gpu_s(self, job: _Job) -> float:
        return (job.until or self._integrals).share_gpu_s - job.since.share_gpu_s

    def _rhos(self, job: _Job, jct_s: float | None) -> tuple[float | None, ...]:
        """The four readings, in the order of ``Summary``; all None before the job has finished."""
        reference = self._references.get(job.spec.job_id)
        if reference is None or jct_s is None or job.until is None:
            return None, None, None, None
        served_s = job.until.served_s - job.since.served_s
        contention_s = job.until.contention_s - job.since.contention_s
        crowding_s = job.until.crowding_s - job.since.crowding_s
        static = max(1.0, len(self._jobs) / (self._mean_gpus() or 1.0))
        exclusive_s = reference.exclusive_s
        return (
            _ratio(jct_s, reference.egalitarian_s),
            _ratio(jct_s * served_s, exclusive_s * contention_s),
            _ratio(jct_s * served_s, exclusive_s * crowding_s),
            _ratio(jct_s, exclusive_s * static),
        )


def tenants_of(opened: RunOpened) -> dict[str, float]:
    """Weights of tenants: those of the policy, else those that a simulation reckons with."""
    return parse_tenants(opened.settings.get("tenants") or str(opened.simulated.get("tenants", "")))


def _ratio(over: float, under: float) -> float | None:
    return over / under if under > 0 else None
