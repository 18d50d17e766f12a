"""Headway's own workload table: one row a job, read and written without loss.

``docs/reference/workload.md`` describes the columns. What a row leaves out comes from its profile.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from headway.core.adaptation import Adaptation
from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.model.schedule import first_batch_size, most_for_fewest
from headway.core.policy.needs import asked
from headway.core.types import (
    MOST_BESIDE,
    BatchContract,
    BatchMode,
    BatchRule,
    GpuBounds,
    JobSpec,
    ScheduledBatch,
)
from headway.traces import adapting
from headway.traces.base import JobProfile, Workload, widest, workload
from headway.traces.rows import MOST_S, Row, read_text, rows
from headway.traces.schedules import parse, text_of
from headway.traces.trajectory import Trajectory

NEEDED = ("name", "submitted_s", "profile", "requested_gpus", "requested_batch_size")
OPTIONAL = (
    "mode",
    "min_gpus",
    "max_gpus",
    "sizes",
    "initial_batch_size",
    "max_batch_size",
    "min_batch_per_gpu",
    "max_batch_per_gpu",
    "max_accum_steps",
    "work_examples",
    "tenant",
    "weight",
    "preemptible",
    "schedule",
)
BESIDE = ("cpus_per_gpu", "memory_gb_per_gpu")
COLUMNS = NEEDED + OPTIONAL + BESIDE + adapting.COLUMNS
MAX_ACCUM_STEPS = 1000  # the search tries each
MODES = ", ".join(mode.value for mode in BatchMode)


def matches(names: Iterable[str]) -> bool:
    """Whether a header is that of a neutral table."""
    return set(NEEDED) <= set(names)


def read_workload(path: Path, profiles: Mapping[str, JobProfile]) -> Workload:
    """The jobs of a neutral table.

    Raises:
        InvalidInputError: with the line, the field and the fix.
    """
    text = read_text(path)
    jobs: dict[JobId, tuple[JobSpec, str]] = {}
    trajectories: dict[JobId, Trajectory] = {}
    for row in rows(path, text, NEEDED, COLUMNS):
        name = row.text("profile")
        if name not in profiles:
            known = ", ".join(sorted(profiles))
            raise row.wrong(
                "profile", f"{name!r} is not known; there are {known}; --profiles takes others"
            )
        followed = adapting.read(row, name)
        job = _job(row, profiles[name], None if followed is None else followed[0])
        if job.job_id in jobs:
            raise row.wrong("name", f"{job.name!r} is taken by an earlier row; rename one")
        jobs[job.job_id] = job, name
        if followed is not None:
            trajectories[job.job_id] = followed[1]
    return workload(
        path.name.split(".")[0], list(jobs.values()), profiles, trajectories=trajectories
    )


def written(of: Workload) -> str:
    """The table as text; reading it again with the same profiles gives an equal workload."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    plain, beside = not of.trajectories, any(any(asked(job)) for job in of.jobs)
    columns = NEEDED + OPTIONAL + BESIDE * beside + adapting.COLUMNS * (not plain)
    table.writerow(columns)
    for job in of.jobs:
        needs = (job.cpus_per_gpu, job.memory_gb_per_gpu) if beside else ()
        follows = () if plain else adapting.values(job, of.trajectories.get(job.job_id))
        table.writerow((*_values(job, of.profile_names[job.job_id]), *needs, *follows))
    return out.getvalue()


def _job(row: Row, profile: JobProfile, adaptation: Adaptation | None) -> JobSpec:
    name = row.text("name")
    batch = _batch(row, profile.contract, adaptation)
    requested_batch_size = row.whole("requested_batch_size")
    least, most = batch.initial_batch_size, batch.max_batch_size
    if batch.follows and adaptation is None:
        least = most = first_batch_size(batch)
    if not least <= requested_batch_size <= most:
        raise row.wrong(
            "requested_batch_size", f"must be from {least} to {most}, not {requested_batch_size}"
        )
    work_examples = profile.work_examples
    if adaptation is not None:
        work_examples = adaptation.epochs * adaptation.samples_per_epoch
    elif batch.initial_batch_size != profile.contract.initial_batch_size:
        row.text("work_examples")  # the profile counts its work at another batch size
    gpus = _gpus(row, profile)
    _check_shares(row, gpus, batch)
    requested_gpus = row.whole("requested_gpus")
    if requested_gpus not in gpus.allowed(requested_gpus):
        raise row.wrong(
            "requested_gpus", f"{requested_gpus} is not allowed by min_gpus, max_gpus and sizes"
        )
    return JobSpec(
        job_id=JobId(name),
        name=name,
        submitted_s=row.number("submitted_s", most=MOST_S),
        gpus=gpus,
        batch=batch,
        requested_gpus=requested_gpus,
        requested_batch_size=requested_batch_size,
        tenant=row.text("tenant", "default"),
        weight=row.weight("weight"),
        preemptible=row.flag("preemptible", "true"),
        work_examples=row.number("work_examples", repr(work_examples), above=0.0),
        adaptation=adaptation,
        cpus_per_gpu=row.number("cpus_per_gpu", "0", most=MOST_BESIDE),
        memory_gb_per_gpu=row.number("memory_gb_per_gpu", "0", most=MOST_BESIDE),
    )


def _batch(row: Row, default: BatchContract, adaptation: Adaptation | None) -> BatchContract:
    """The owner's bounds; those of the profile where the row is silent, and never beyond them."""
    text = row.text("mode", BatchMode.ADAPTIVE.value)
    if text not in list(BatchMode):
        raise row.wrong("mode", f"must be one of {MODES}, not {text!r}")
    mode = BatchMode(text)
    initial = row.whole("initial_batch_size", str(default.initial_batch_size))
    schedule, rule = _schedule(row, mode, adaptation)
    largest = max([initial, *(step.batch_size for step in schedule)])
    if rule is not None or mode is BatchMode.ADAPTIVE:
        largest = default.max_batch_size
    elif mode is BatchMode.SCHEDULE and adaptation is not None:
        largest = max(adaptation.configurations)
    batch = BatchContract(
        initial_batch_size=initial,
        max_batch_size=row.whole("max_batch_size", str(largest)),
        min_batch_per_gpu=row.whole("min_batch_per_gpu", str(default.min_batch_per_gpu)),
        max_batch_per_gpu=row.whole("max_batch_per_gpu", str(default.max_batch_per_gpu)),
        max_accum_steps=row.whole(
            "max_accum_steps", str(default.max_accum_steps), least=0, most=MAX_ACCUM_STEPS
        ),
        mode=mode,
        schedule=schedule,
        rule=rule,
    )
    if schedule and batch.max_batch_size < largest:
        raise row.wrong("max_batch_size", f"must be at least {largest}, as the schedule says")
    if mode in {BatchMode.OBSERVE, BatchMode.FIXED} and batch.max_batch_size != initial:
        raise row.wrong("max_batch_size", f"must be {initial} where the mode is {mode}")
    for low, high in (
        ("initial_batch_size", "max_batch_size"),
        ("min_batch_per_gpu", "max_batch_per_gpu"),
        ("min_batch_per_gpu", "max_batch_size"),
    ):
        if getattr(batch, low) > getattr(batch, high):
            raise row.wrong(high, f"{getattr(batch, high)} is below {low} {getattr(batch, low)}")
    return batch


def _schedule(
    row: Row, mode: BatchMode, adaptation: Adaptation | None
) -> tuple[tuple[ScheduledBatch, ...], BatchRule | None]:
    """As the agent follows it; nothing where the row says in its other columns what happens."""
    text = row.text("schedule", "none")
    if adaptation is not None:
        if mode is BatchMode.ADAPTIVE:
            raise row.wrong("mode", f"must be {BatchMode.SCHEDULE} with a rule, not {mode}")
        if text != "none":
            raise row.wrong("schedule", "is for a row without a rule; leave one of both out")
        return (), None
    if mode is not BatchMode.SCHEDULE:
        if text != "none":
            raise row.wrong("schedule", f"is for mode schedule, not for {mode}")
        return (), None
    if text == "none":
        raise row.wrong(
            "schedule",
            "must say '0:64 2M:128', accordion or gns in this mode, or rule must name one",
        )
    try:
        return parse(text)
    except InvalidInputError as error:
        raise row.wrong("schedule", str(error).removeprefix("schedule: ")) from None


def _gpus(row: Row, profile: JobProfile) -> GpuBounds:
    least = row.whole("min_gpus", "1")
    most = row.whole("max_gpus", str(max(least, widest(profile))))
    if most < least:
        raise row.wrong("max_gpus", f"{most} is below min_gpus {least}")
    if most > profile.max_gpus:
        raise row.wrong("max_gpus", f"{profile.name} is known up to {profile.max_gpus}, not {most}")
    return GpuBounds(min_gpus=least, max_gpus=most, sizes=_sizes(row, least, most))


def _check_shares(row: Row, gpus: GpuBounds, batch: BatchContract) -> None:
    """A job that cannot share its batch out over the fewest GPUs would wait for ever."""
    size, each = most_for_fewest(batch), batch.min_batch_per_gpu
    if size < gpus.smallest * each:
        raise row.wrong(
            "min_gpus" if gpus.sizes is None else "sizes",
            f"{gpus.smallest} GPUs with min_batch_per_gpu {each} need more than the batch of "
            f"{size}; lower one of both or raise the batch",
        )


def _sizes(row: Row, least: int, most: int) -> tuple[int, ...] | None:
    text = row.text("sizes", "any")
    if text == "any":
        return None
    try:
        sizes = tuple(sorted({int(part) for part in text.split()}))
    except ValueError:
        raise row.wrong("sizes", f"must be GPU counts like '1 2 4', not {text!r}") from None
    if not sizes or sizes[0] < least or sizes[-1] > most:
        raise row.wrong("sizes", f"{text!r} must lie between min_gpus {least} and max_gpus {most}")
    return sizes


def _values(job: JobSpec, profile: str) -> tuple[object, ...]:
    """All but an adaptation; numbers as Python writes them, so that nothing is rounded."""
    if job.work_examples is None:
        raise InvalidInputError(f"job {job.name} has no work_examples; a workload must say them")
    gpus, batch = job.gpus, job.batch
    return (
        job.name,
        job.submitted_s,
        profile,
        job.requested_gpus,
        job.requested_batch_size,
        batch.mode.value,
        gpus.min_gpus,
        gpus.max_gpus,
        "any" if gpus.sizes is None else " ".join(map(str, gpus.sizes)),
        batch.initial_batch_size,
        batch.max_batch_size,
        batch.min_batch_per_gpu,
        batch.max_batch_per_gpu,
        batch.max_accum_steps,
        job.work_examples,
        job.tenant,
        job.weight,
        "true" if job.preemptible else "false",
        text_of(batch) or "none",
    )
