"""Imports what was published with Pollux (OSDI'21): workload tables and folders of profiles.

A folder of profiles has one folder for each application: ``placements.csv`` (digits: workers on
each node), ``scalability.csv`` (larger sizes) and ``validation-M.csv`` (one row for each epoch of a
run at batch size M; the noise scale is M0 * grad_var / grad_sqr).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.model.observations import Observations
from headway.core.types import BatchContract, BatchMode, JobSpec
from headway.traces.base import JobProfile, Shape, Workload, adaptive_job, widest, workload
from headway.traces.measured import MAX_NOISE_SCALE, Curve, MeasuredProfile, canonical
from headway.traces.rows import MOST_S, MOST_WHOLE, Row, header, read_text, rows

COLUMNS = ("name", "time", "application", "num_replicas", "batch_size")
MAX_GPUS = 64  # nothing larger was measured
# what the published simulator sets apart from the files: yolov3 runs out of memory beyond 8,
# ncf is held on one GPU
MAX_BATCH_PER_GPU = {"yolov3": 8}
MAX_GPUS_OF = {"ncf": 1}

Point = tuple[int, float, float]  # per-GPU batch, step time, synchronisation time


def matches(names: Iterable[str]) -> bool:
    """Whether a header is that of a Pollux workload."""
    return set(COLUMNS) <= set(names)


def read_workload(path: Path, profiles: Mapping[str, JobProfile]) -> Workload:
    """The jobs of a Pollux workload table; each is adaptive and elastic.

    Raises:
        InvalidInputError: with the line, the field and the fix.
    """
    text = read_text(path)
    jobs: dict[JobId, tuple[JobSpec, str]] = {}
    notes = [f"column {name} is not used" for name in header(path, text) if name not in COLUMNS]
    for row in rows(path, text, COLUMNS):
        job, application = _job(row, profiles)
        if job.job_id in jobs:
            raise row.wrong("name", f"{job.name!r} is taken by an earlier row; rename one")
        jobs[job.job_id] = job, application
        asked = row.whole("num_replicas")
        if asked != job.requested_gpus:
            notes.append(
                f"{job.name}: num_replicas {asked} is more than {application} may hold; "
                f"{job.requested_gpus} is taken"
            )
    return workload(path.name.split(".")[0], list(jobs.values()), profiles, notes)


def _job(row: Row, profiles: Mapping[str, JobProfile]) -> tuple[JobSpec, str]:
    application = row.text("application")
    if application not in profiles:
        known = ", ".join(sorted(profiles))
        raise row.wrong("application", f"{application!r} has no profile; there are {known}")
    profile = profiles[application]
    batch_size = row.whole("batch_size")
    least, most = profile.contract.initial_batch_size, profile.contract.max_batch_size
    if not least <= batch_size <= most:
        raise row.wrong(
            "batch_size", f"of {application} must be from {least} to {most}, not {batch_size}"
        )
    job = adaptive_job(
        row.text("name"),
        profile,
        submitted_s=row.number("time", most=MOST_S),
        requested_gpus=min(row.whole("num_replicas"), widest(profile)),
        requested_batch_size=batch_size,
    )
    return job, application


def read_profiles(folder: Path) -> dict[str, MeasuredProfile]:
    """The profiles of a folder, by application.

    Raises:
        InvalidInputError: no profile in it, or a file that cannot be used.
    """
    found = sorted(folder.glob("*/placements.csv")) if folder.is_dir() else []
    if not found:
        raise InvalidInputError(
            f"--profiles {folder} holds no Pollux profiles; expected APPLICATION/placements.csv"
        )
    return {path.parent.name: _profile(path.parent) for path in found}


def read_observations(folder: Path) -> Observations:
    """Every step that was measured of one application, as an agent would have observed it.

    A pass is what a step takes apart from synchronisation.

    Raises:
        InvalidInputError: a file is missing or cannot be used.
    """
    found: list[tuple[int, int, Point]] = []
    for shape, points in _placements(folder / "placements.csv").items():
        found += [(sum(shape), len(shape), point) for point in points]
    for (nodes, gpus), point in _larger(folder / "scalability.csv"):
        found.append((gpus, nodes, point))
    gpus, nodes = np.array([entry[:2] for entry in found], dtype=np.int64).T
    batch, step_s, sync_s = np.array([point for *_, point in found], dtype=np.float64).T
    return Observations(
        gpus=gpus,
        nodes=nodes,
        batch_per_gpu=batch,
        accum_steps=np.zeros_like(batch),
        grad_s=step_s - sync_s,
        step_s=step_s,
        weight=np.ones_like(batch),
    )


def _profile(folder: Path) -> MeasuredProfile:
    shapes = _placements(folder / "placements.csv")
    noise = _Runs(folder)
    batches = [batch for points in shapes.values() for batch, _, _ in points]
    most = MAX_BATCH_PER_GPU.get(folder.name, max(batches))
    return MeasuredProfile(
        name=folder.name,
        contract=BatchContract(
            initial_batch_size=noise.sizes[0],
            max_batch_size=noise.sizes[-1],
            min_batch_per_gpu=min(batches),
            max_batch_per_gpu=most,
            mode=BatchMode.ADAPTIVE,
        ),
        max_gpus=MAX_GPUS_OF.get(folder.name, MAX_GPUS),
        work_examples=noise.sizes[0] * noise.progress[-1],
        epoch_ends=tuple(done / noise.progress[-1] for done in noise.progress),
        shapes={shape: _curve(points) for shape, points in shapes.items()},
        sizes=_sizes(shapes, folder / "scalability.csv"),
        noise=noise.table(),
        noise_batch_sizes=tuple(noise.sizes),
    )


def _placements(path: Path) -> dict[Shape, list[Point]]:
    """Points by canonical shape."""
    found: dict[Shape, list[Point]] = defaultdict(list)
    columns = ("placement", "local_bsz", "step_time", "sync_time")
    for row in rows(path, read_text(path), columns):
        digits = row.text("placement")
        if not re.fullmatch("[1-9]+", digits):
            raise row.wrong("placement", f"must be GPUs on each node, as in 211, not {digits!r}")
        found[canonical(tuple(map(int, digits)))].append(_point(row))
    return found


def _sizes(shapes: Mapping[Shape, list[Point]], path: Path) -> dict[tuple[int, int], Curve]:
    """Curves by (nodes, GPUs): the larger sizes, and the mean over the shapes of the smaller."""
    found: dict[tuple[int, int], list[Point]] = defaultdict(list)
    for shape, points in shapes.items():
        found[len(shape), sum(shape)].extend(points)
    for size, point in _larger(path):
        found[size].append(point)
    return {size: _curve(points) for size, points in found.items()}


def _larger(path: Path) -> Iterable[tuple[tuple[int, int], Point]]:
    """Points of the larger sizes, each with its (nodes, GPUs)."""
    columns = ("num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time")
    for row in rows(path, read_text(path), columns):
        yield (row.whole("num_nodes"), row.whole("num_replicas")), _point(row)


def _point(row: Row) -> Point:
    step_s = row.number("step_time", above=0.0)
    sync_s = row.number("sync_time")
    if sync_s > step_s:
        raise row.wrong("sync_time", f"{sync_s:g} is longer than the step of {step_s:g} s")
    return row.whole("local_bsz"), step_s, sync_s


def _curve(points: Iterable[Point]) -> Curve:
    """One point for each per-GPU batch: the mean of its measurements."""
    times: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for batch, step_s, sync_s in points:
        times[batch].append((step_s, sync_s))
    batches = sorted(times)
    means = np.array([np.mean(times[batch], axis=0) for batch in batches])
    return Curve(np.array(batches, dtype=np.float64), means[:, 0], means[:, 1])


class _Runs:
    """The training runs of an application: one at each batch size, one row for each epoch."""

    def __init__(self, folder: Path) -> None:
        runs: dict[int, list[tuple[float, float]]] = {}
        for path in sorted(folder.glob("validation-*.csv")):
            runs[_size(path)] = list(_epochs(path))
        if not runs:
            raise InvalidInputError(f"{folder} has no validation-BATCHSIZE.csv; add one")
        self.sizes = sorted(runs)
        self.progress = [done for done, _ in runs[self.sizes[0]]]
        self._ratios = {size: [ratio for _, ratio in epochs] for size, epochs in runs.items()}

    def table(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Noise scale by epoch and batch size; a shorter run keeps its last value."""
        epochs = len(self.progress)
        columns = [
            [ratios[min(epoch, len(ratios) - 1)] for epoch in range(epochs)]
            for ratios in (self._ratios[size] for size in self.sizes)
        ]
        noise = self.sizes[0] * np.array(columns, dtype=np.float64).T
        return np.clip(noise, 1e-3, MAX_NOISE_SCALE)


def _size(path: Path) -> int:
    digits = path.stem.removeprefix("validation-")
    if not re.fullmatch("[1-9][0-9]{0,9}", digits):
        raise InvalidInputError(f"{path}: the name must be validation-BATCHSIZE.csv")
    return int(digits)


def _epochs(path: Path) -> Iterable[tuple[float, float]]:
    """Progress in steps at M0 and variance over squared gradient, for each epoch."""
    last = 0.0
    for row in rows(path, read_text(path), ("progress", "grad_sqr", "grad_var")):
        progress = row.number("progress", most=MOST_WHOLE)
        if progress <= last:
            raise row.wrong("progress", f"must grow from row to row, not {progress:g}")
        last = progress
        square = max(row.number("grad_sqr"), 1e-300)
        yield progress, min(row.number("grad_var") / square, MAX_NOISE_SCALE)
