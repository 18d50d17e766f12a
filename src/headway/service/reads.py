"""What the API shows: every job that ever was, kept up to date from the events as they are kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, final

from headway.core.control.events import (
    BatchChanged,
    EpochRead,
    Event,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobReported,
    JobStarted,
    JobStopped,
    JobSubmitted,
    NodeLost,
    RoundDecided,
    RoundStarted,
    RunOpened,
)
from headway.core.control.lifecycle import ENDED_BY, Phase
from headway.core.control.state import JobState, State
from headway.core.explain.promise import Told
from headway.core.explain.record import Factors, Record
from headway.core.ids import JobId
from headway.core.metrics import Meter, TenantOutcome, per_tenant
from headway.core.types import NOTHING, ChangeCode, JobReport, Reason
from headway.service.store.base import job_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a job's history."""

    at_s: float
    event: str
    gpus: int | None = None  # held from then on
    batch_size: int | None = None  # from then on
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """All there is to show of one job; ended ones too."""

    job: JobState  # as it is, or was when it ended
    phase: Phase = Phase.QUEUED
    ended_s: float | None = None
    message: str = ""  # why it failed or stopped
    report: JobReport | None = None
    reason: Reason | None = None  # of the last decision that said something new
    reason_s: float | None = None
    history: tuple[Entry, ...] = ()

    def told(self, policy: str, factors: Factors) -> Told:
        """What its promise is read from."""
        return Told(
            submitted_s=self.job.spec.submitted_s,
            phase=self.phase,
            ended_s=self.ended_s,
            reason=self.reason,
            decided_s=self.reason_s,
            policy=policy,
            factors=factors,
        )


@dataclass(slots=True)
class _Sums:
    """What is true of the whole."""

    last_round_s: float | None = None
    opened: RunOpened | None = None
    decided: RoundDecided | None = None
    records: dict[JobId, JobRecord] = field(default_factory=dict)
    meter: Meter = field(default_factory=Meter)
    record: Record = field(default_factory=Record)


@final
class Board:
    """Written by the runner, read by any thread; what it hands out never changes."""

    def __init__(self) -> None:
        self._sums = _Sums()
        self._lock = Lock()

    def record(self, event: Event, state: State[Any]) -> None:
        """Take in an event, and the state after it."""
        with self._lock:
            self._whole(event)
            for job_id in _touched(event, self._sums.records):
                record = self._sums.records.get(job_id)
                if record is None and job_id in state.jobs:
                    record = JobRecord(job=state.jobs[job_id])
                if record is not None:
                    self._sums.records[job_id] = _after(record, event, state)

    def _whole(self, event: Event) -> None:
        self._sums.meter.add(event)
        self._sums.record.add(event)
        match event:
            case RunOpened():
                self._sums.opened = event
            case RoundStarted():
                self._sums.last_round_s = event.at_s
            case RoundDecided():
                self._sums.decided = event

    @property
    def last_round_s(self) -> float | None:
        return self._sums.last_round_s

    @property
    def opened(self) -> RunOpened | None:
        """The policy that decides, as the log has it."""
        return self._sums.opened

    @property
    def decided(self) -> RoundDecided | None:
        """The last decision."""
        return self._sums.decided

    def job(self, job_id: str) -> JobRecord | None:
        """One job, if there ever was one with this identifier."""
        with self._lock:
            return self._sums.records.get(JobId(job_id))

    def jobs(self) -> tuple[JobRecord, ...]:
        """All jobs, by submission."""
        with self._lock:
            return tuple(self._sums.records.values())

    def tenants(self, now_s: float) -> tuple[TenantOutcome, ...]:
        """The ledger: what each tenant has held and was entitled to, since the log began."""
        with self._lock:
            self._sums.meter.advance(now_s)
            outcomes = self._sums.meter.outcomes()
        return per_tenant(outcomes)

    @property
    def factors(self) -> Factors:
        """How wide an interval around a predicted finish must be, by how earlier ones came out."""
        with self._lock:
            return self._sums.record.factors

    def free_id(self, name: str) -> JobId:
        """The name itself, or with the first number that nobody has had."""
        with self._lock:
            job_id, number = JobId(name), 1
            while job_id in self._sums.records:
                number += 1
                job_id = JobId(f"{name}-{number}")
            return job_id


def _touched(event: Event, records: Mapping[JobId, JobRecord]) -> tuple[JobId, ...]:
    match event:
        case RoundDecided():
            named = [*(c.job_id for c in event.changes), *(r.job_id for r in event.reasons)]
            return tuple(dict.fromkeys(named))
        case NodeLost(node_id=lost):
            held = (job for job, record in records.items() if record.job.allocation.on(lost))
            return tuple(held)
        case _:
            job_id = job_of(event)
            return () if job_id is None else (job_id,)


def _after(record: JobRecord, event: Event, state: State[Any]) -> JobRecord:
    job_id = record.job.spec.job_id
    record = _ended(record, event)
    if job_id in state.jobs:
        job = state.jobs[job_id]
        record = replace(record, job=job, phase=job.phase)
    match event:
        case JobReported():
            return replace(record, report=event.report)  # too many for a history
        case RoundDecided():
            record = _decided(record, event)
    entry = _entry(record, event)
    return record if entry is None else replace(record, history=(*record.history, entry))


def _ended(record: JobRecord, event: Event) -> JobRecord:
    phase = ENDED_BY.get(type(event))
    if phase is None or record.phase.ended:
        return record
    job = record.job.holding(NOTHING, event.at_s)
    message = event.message if isinstance(event, JobFailed) else ""
    return replace(record, job=job, phase=phase, ended_s=event.at_s, message=message)


def _decided(record: JobRecord, event: RoundDecided) -> JobRecord:
    for reason in event.reasons:
        if reason.job_id == record.job.spec.job_id:
            return replace(record, reason=reason, reason_s=event.at_s)
    return record


def _entry(record: JobRecord, event: Event) -> Entry | None:
    at_s, kind, gpus = event.at_s, type(event).__name__, record.job.allocation.gpus
    match event:
        case RoundDecided():
            if all(change.job_id != record.job.spec.job_id for change in event.changes):
                return None
            why = "" if record.reason is None else str(record.reason.code)
            return Entry(at_s=at_s, event="Allocated", gpus=gpus, message=why)
        case BatchChanged(change=change) if change.resizes or change.code is ChangeCode.CHECKPOINT:
            size = change.new_batch_size  # of others, as of a noise scale that moved, the log tells
            return Entry(at_s=at_s, event=kind, batch_size=size, message=change.why)
        case EpochRead():
            exact = event.read_least == event.read_most == 1
            reads = "once" if exact else f"{event.read_least} to {event.read_most} times"
            text = f"epoch {event.epoch}: each of {event.samples} samples read {reads}"
            return Entry(at_s=at_s, event=kind, message=text)
        case JobFailed() | JobStopped():
            return Entry(at_s=at_s, event=kind, gpus=gpus, message=event.message)
        case JobStarted():
            return Entry(at_s=at_s, event=kind, gpus=gpus, message=event.cost())
        case JobSubmitted() | JobFinished() | JobCancelled() | NodeLost():
            return Entry(at_s=at_s, event=kind, gpus=gpus)
        case _:
            return None
