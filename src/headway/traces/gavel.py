"""Imports ``.trace`` files of Gavel and of Shockwave: tab-separated, without a header.

Three generations are told apart by their number of columns: 7 (Gavel's Philly jobs), 10 (Gavel),
12 (Shockwave, with the rule by which a job changes its batch size). Commands are labels.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from headway.core.adaptation import STATIC, Adaptation
from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.types import BatchContract, BatchMode, GpuBounds, JobSpec
from headway.traces.base import JobProfile, Workload, workload
from headway.traces.rows import MOST_S, Row, read_text
from headway.traces.shockwave import EPOCH_EXAMPLES, MODES, Key, batch_sizes, configurations
from headway.traces.speedtable import parse_job_type
from headway.traces.trajectory import Trajectory

_HEAD = ("job_type", "command")
_TAIL = ("step_option", "needs_data", "total_steps")
COLUMNS = {
    7: (*_HEAD, *_TAIL, "arrival_s", "scale_factor"),
    10: (*_HEAD, "folder", *_TAIL, "scale_factor", "priority", "slo", "arrival_s"),
    12: (
        *(*_HEAD, "folder", *_TAIL, "scale_factor"),
        *("mode", "priority", "slo", "duration_s", "arrival_s"),
    ),
}
GENERATIONS = "7, 10 or 12"
MOST_EPOCHS = 300_000  # a trajectory is written down epoch by epoch
UNUSED = "commands, folders, deadlines and durations are not used; times follow from the profiles"


def matches(names: Iterable[str]) -> bool:
    """Whether a first line, split at its commas, is a row of such a trace."""
    return ",".join(names).count("\t") + 1 in COLUMNS


def read_workload(path: Path, profiles: Mapping[str, JobProfile]) -> Workload:
    """The jobs of a trace; each keeps its number of GPUs.

    Raises:
        InvalidInputError: with the line, the field and the fix; or no job that can be run.
    """
    lines = list(_rows(path))
    jobs: list[tuple[JobSpec, str]] = []
    trajectories: dict[JobId, Trajectory] = {}
    notes = [UNUSED]
    for index, row in enumerate(lines):
        key = _key(row)
        why = _cannot(key, profiles)
        if why is not None:
            notes.append(f"{row.where}: dropped, {why}")
            continue
        name = f"{index:0{len(str(len(lines) - 1))}d}-{key.model.lower()}"
        job, trajectory = _job(name, row, key, profiles[key.model])
        jobs.append((job, key.model))
        trajectories[job.job_id] = trajectory
    if not jobs:
        raise InvalidInputError(
            f"{path}: no job can be run, {notes[-1].partition('dropped, ')[2]}; name a throughput "
            "table with --profiles"
        )
    return workload(path.name.split(".")[0], jobs, profiles, notes, trajectories)


def _rows(path: Path) -> Iterator[Row]:
    width = None
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        values, where = line.split("\t"), f"{path.name} line {number}"
        width = width or len(values)
        if width not in COLUMNS:
            raise InvalidInputError(
                f"{where}: {width} fields between tabs; a trace has {GENERATIONS}"
            )
        if len(values) != width:
            raise InvalidInputError(
                f"{where}: {len(values)} fields, but line 1 has {width}; the file may be cut off"
            )
        yield Row(where, dict(zip(COLUMNS[width], values, strict=True)))


def _key(row: Row) -> Key:
    kind = parse_job_type(row.text("job_type"))
    if kind is None:
        raise row.wrong("job_type", "must be like 'LM (batch size 10)'")
    return Key(*kind, row.whole("scale_factor"))


def _cannot(key: Key, profiles: Mapping[str, JobProfile]) -> str | None:
    """Why a job cannot be run with these profiles, if it cannot."""
    profile = profiles.get(key.model)
    if profile is None:
        return f"{key.model} has no profile"
    shape = (key.workers,)
    if key.workers > profile.max_gpus or not profile.measured(shape, key.batch_size):
        return f"{key.model} was not measured at {key.batch_size} on {key.workers} GPUs"
    return None


def _job(name: str, row: Row, key: Key, profile: JobProfile) -> tuple[JobSpec, Trajectory]:
    trajectory, mode = _course(row, key, profile)
    adaptation = Adaptation(
        rule=mode,
        model=key.model,
        configurations=tuple(key.workers * size for size in configurations(mode, key)),
        epochs=trajectory.epochs,
        samples_per_epoch=trajectory.samples_per_epoch,
    )
    job = JobSpec(
        job_id=JobId(name),
        name=name,
        submitted_s=row.number("arrival_s", most=MOST_S),
        gpus=GpuBounds(min_gpus=key.workers, max_gpus=key.workers),
        batch=BatchContract(
            initial_batch_size=adaptation.configurations[0],
            max_batch_size=max(adaptation.configurations),
            min_batch_per_gpu=profile.contract.min_batch_per_gpu,
            max_batch_per_gpu=profile.contract.max_batch_per_gpu,
            mode=BatchMode.FIXED if mode == STATIC else BatchMode.SCHEDULE,
        ),
        requested_gpus=key.workers,
        requested_batch_size=adaptation.configurations[0],
        weight=row.weight("priority"),
        work_examples=trajectory.work_examples,
        adaptation=adaptation,
    )
    return job, trajectory


def _course(row: Row, key: Key, profile: JobProfile) -> tuple[Trajectory, str]:
    """The truth of a job, and the rule that it has. A model whose epoch is not known has one."""
    mode = row.text("mode", STATIC)
    if mode not in MODES:
        raise row.wrong("mode", f"must be one of {', '.join(MODES)}, not {mode!r}")
    steps = row.whole("total_steps")
    examples = EPOCH_EXAMPLES.get(key.model, steps * key.batch_size)
    steps_per_epoch = -(-examples // key.batch_size)
    sizes: tuple[int, ...] = (key.batch_size,)
    if mode != STATIC:
        if steps > MOST_EPOCHS * steps_per_epoch:
            raise row.wrong("total_steps", f"{steps} make more than {MOST_EPOCHS} epochs")
        sizes = batch_sizes(mode, key, -(-steps // steps_per_epoch))
    if not profile.measured((key.workers,), max(sizes)):
        raise row.wrong("mode", f"{mode} reaches {max(sizes)}, which was not measured")
    trajectory = Trajectory.of(
        [key.workers * size for size in sizes],
        epochs=steps / steps_per_epoch,
        samples_per_epoch=key.workers * examples,
    )
    return trajectory, mode
