"""Bodies of answers: what is shown of a job, of the cluster, of the log."""

from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import BaseModel, Field

from headway.core.control.lifecycle import Phase
from headway.core.control.promised import Basis
from headway.core.explain.more import More
from headway.core.explain.promise import Told, standing
from headway.core.explain.why import explain
from headway.core.types import NOTHING, Allocation, work_examples
from headway.service.reads import JobRecord


class ReasonView(BaseModel):
    """Why a job holds what it holds."""

    code: str = Field(description="stable word", examples=["WaitingForGpus"])
    numbers: dict[str, float | None] = Field(description="what led to it", examples=[{"gain": 1.4}])
    at_s: float | None = Field(description="when it was decided, seconds since the epoch")


class PromiseView(BaseModel):
    """A job's promise, in seconds since the epoch; of one that finished, ends are what was."""

    rho_hat: float = Field(description="age at its finish over that with its share; above 1: late")
    egalitarian_end_s: float = Field(description="when it would end with its share of the cluster")
    finish_s: float = Field(description="when it is predicted to end; never before now")
    earliest_s: float = Field(
        description="as far as earlier promises came out too late; never before now"
    )
    latest_s: float = Field(
        description="with the former, around 95 of 100 ends, by earlier promises"
    )
    decided_s: float = Field(description="when this was predicted")
    basis: Basis = Field(
        description="guess until the job, or its kind, has reported how long it takes; then "
        "measured"
    )


class MoreView(BaseModel):
    """What more GPUs would be worth, by the model of a job's speed."""

    gpus: int
    times: float = Field(description="its progress a second over that on what it holds")
    tried: bool = Field(description="whether it ever held so many")
    short: str = Field(description="what is short beside GPUs that are free, in words")


class HistoryView(BaseModel):
    """One line of a job's history."""

    at_s: float
    event: str = Field(examples=["Allocated"])
    gpus: int | None = Field(default=None, description="held from then on")
    batch_size: int | None = Field(default=None, description="from then on")
    message: str = ""


class JobSummary(BaseModel):
    """A job in a list."""

    job_id: str = Field(examples=["digits"])
    name: str = Field(examples=["digits"])
    tenant: str
    phase: str = Field(examples=["running"])
    reason: str | None = Field(
        description="code of the last decision, or how it ended", examples=["Started"]
    )
    gpus: int = Field(description="held now")
    min_gpus: int
    max_gpus: int
    allocation: dict[str, int] = Field(description="GPUs by node", examples=[{"localhost": 2}])
    batch_mode: str
    batch_size: int | None = Field(description="as last reported, in examples")
    progress_examples: float | None = Field(
        description="scale-invariant examples done, as last reported"
    )
    progress_share: float | None = Field(
        description="of the work as its loop says or its owner declared; 1 once it has finished"
    )
    restarts: int
    submitted_s: float = Field(description="seconds since the epoch")
    started_s: float | None
    ended_s: float | None
    age_s: float = Field(description="from submission to its end, or to now")
    attained_gpu_s: float = Field(description="GPU-seconds held so far")
    message: str = Field(description="why it failed")


class JobDetail(JobSummary):
    """All there is to show of a job."""

    now_s: float = Field(description="when all this is so, by the clock of the service")
    spec: dict[str, Any] = Field(description="as it was submitted, defaults filled in")
    report: dict[str, Any] | None = Field(description="what its agent said last")
    why: ReasonView | None
    promise: PromiseView | None
    no_promise: str | None = Field(description="why there is no promise")
    more: MoreView | None = Field(
        description="what more GPUs would be worth; null where it is not known, or there is no more"
    )
    explanation: str = Field(description="why it holds what it holds, in a sentence or two")
    history: list[HistoryView]


class Dry(BaseModel):
    """What a submission would do."""

    job_id: str = Field(description="the identifier it would get")
    spec: dict[str, Any]
    message: str = Field(examples=["would wait for the next round, in 12 s at most"])


def summary(record: JobRecord, now_s: float) -> JobSummary:
    """A job in a list."""
    return JobSummary(**_summary(record, now_s))


def detail(record: JobRecord, told: Told, now_s: float, more: More | str = "") -> JobDetail:
    """All there is to show of a job."""
    promise = standing(told, now_s)
    return JobDetail(
        **_summary(record, now_s),
        now_s=now_s,
        spec=builtins(record.job.spec),
        report=None if record.report is None else builtins(record.report),
        why=_why(record),
        promise=None if isinstance(promise, str) else PromiseView(**builtins(promise)),
        no_promise=promise if isinstance(promise, str) else None,
        more=None if isinstance(more, str) else MoreView(**builtins(more)),
        explanation=explain(told, _held(record).gpus, now_s, more),
        history=[HistoryView(**builtins(entry)) for entry in record.history],
    )


def _why(record: JobRecord) -> ReasonView | None:
    """Why it holds what it holds; of an ended job, how it ended."""
    if record.phase.ended:
        return ReasonView(code=str(record.phase).capitalize(), numbers={}, at_s=record.ended_s)
    if record.reason is None:
        return None
    numbers = {key: _finite(value) for key, value in record.reason.numbers}
    return ReasonView(code=record.reason.code, numbers=numbers, at_s=record.reason_s)


def builtins(value: object) -> dict[str, Any]:
    """A core value as JSON will have it; numbers that JSON does not know become null."""
    plain: dict[str, Any] = _plain(msgspec.to_builtins(value))
    return plain


def _plain(value: Any) -> Any:  # whatever JSON can hold
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _summary(record: JobRecord, now_s: float) -> dict[str, Any]:
    job, spec, report = record.job, record.job.spec, record.report
    held, why = _held(record), _why(record)
    done = None if report is None else report.progress_examples
    return {
        "job_id": spec.job_id,
        "name": spec.name,
        "tenant": spec.tenant,
        "phase": str(record.phase),
        "reason": None if why is None else why.code,
        "gpus": held.gpus,
        "min_gpus": spec.gpus.min_gpus,
        "max_gpus": spec.gpus.max_gpus,
        "allocation": dict(held.per_node),
        "batch_mode": str(spec.batch.mode),
        "batch_size": None if report is None else report.batch_size,
        "progress_examples": done,
        "progress_share": _share(record, done, work_examples(spec, report)),
        "restarts": job.restarts,
        "submitted_s": spec.submitted_s,
        "started_s": job.first_started_s,
        "ended_s": record.ended_s,
        "age_s": (now_s if record.ended_s is None else record.ended_s) - spec.submitted_s,
        "attained_gpu_s": job.attained_gpu_s if record.phase.ended else job.attained_at(now_s),
        "message": record.message,
    }


def _held(record: JobRecord) -> Allocation:
    return NOTHING if record.phase.ended else record.job.allocation


def _share(record: JobRecord, done: float | None, work: float | None) -> float | None:
    """The last report of a job comes before its end: what has finished is done."""
    if record.phase is Phase.FINISHED:
        return 1.0
    return None if done is None or work is None else min(done / work, 1.0)
