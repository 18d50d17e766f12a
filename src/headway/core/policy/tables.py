"""Goodput of every job at every size it may hold, remembered while its report stays the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from headway.core.ids import JobId
from headway.core.model.goodput import JobModels, best
from headway.core.policy.grid import GpuType
from headway.core.types import (
    BatchContract,
    Float64,
    FloatArray,
    GradTime,
    Int64,
    IntArray,
    JobView,
    Locality,
    ThroughputParams,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """A figure of each job on each GPU type by GPUs; 0 where a placement is impossible."""

    local: Float64[FloatArray, "jobs kinds sizes"]  # on one node
    rack: Float64[FloatArray, "jobs kinds counts"] | None  # on several nodes of one rack
    several: Float64[FloatArray, "jobs kinds counts"]  # on several nodes, of several racks if any
    share: Float64[FloatArray, "jobs kinds"] | None = (
        None  # of a fair share as on one node; None: not asked for
    )

    def at(
        self,
        gpus: Int64[IntArray, " jobs"],
        kind: Int64[IntArray, " jobs"],
        locality: Int64[IntArray, " jobs"],
    ) -> Float64[FloatArray, " jobs"]:
        """Each job's figure where it is; 0 for one that holds nothing."""
        job = np.arange(len(gpus))
        one_node, several = locality == Locality.ONE_NODE, locality > Locality.ONE_NODE
        found = np.where(several, self.several[job, kind, np.where(several, gpus, 0)], 0.0)
        if self.rack is not None:
            near = locality == Locality.ONE_RACK
            found = np.where(near, self.rack[job, kind, np.where(near, gpus, 0)], found)
        return np.where(one_node, self.local[job, kind, np.where(one_node, gpus, 0)], found)


@dataclass(frozen=True, slots=True)
class Key:
    """All that a job's goodput depends on, but for where it is placed."""

    contract: BatchContract
    throughput: ThroughputParams | None
    grad_by_type: tuple[GradTime, ...]
    noise_scale: float | None

    @classmethod
    def of(cls, job: JobView) -> "Key":
        """Of a job as it is now."""
        report = job.report
        if report is None:
            return cls(job.spec.batch, None, (), None)
        return cls(job.spec.batch, report.throughput, report.grad_by_type, report.noise_scale)


@dataclass(frozen=True, slots=True)
class Share:
    """Goodput per type of so many GPUs as on one node that is wide enough."""

    gpus: int
    goodput_per_s: Float64[FloatArray, " kinds"]


@dataclass(frozen=True, slots=True)
class Row:
    """One job's goodput per type and size, and what it was computed from."""

    key: Key
    local: Float64[FloatArray, "kinds sizes"]
    rack: Float64[FloatArray, "kinds counts"] | None
    several: Float64[FloatArray, "kinds counts"]
    share: Share | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """Where jobs may be: GPU types with their nominal speeds and largest nodes; racks or not."""

    types: tuple[tuple[str, float, int], ...] = ()
    has_racks: bool = False

    @classmethod
    def of(cls, types: Sequence[GpuType], *, has_racks: bool) -> "Places":
        """Of a cluster; how many nodes there are is of no matter."""
        return cls(tuple((one.name, one.speed, one.largest) for one in types), has_racks)

    @property
    def smallest(self) -> int:
        """GPUs of the largest node of the type that has the smallest."""
        return min(largest for _, _, largest in self.types)

    @property
    def largest(self) -> int:
        """GPUs of the largest node."""
        return max(largest for _, _, largest in self.types)


@dataclass(frozen=True, slots=True)
class Goodputs:
    """The rows of all active jobs, nothing of those gone."""

    rows: Mapping[JobId, Row] = field(default_factory=dict)
    places: Places = field(default_factory=Places)

    def updated(
        self,
        jobs: Sequence[JobView],
        *,
        places: Places,
        most: Int64[IntArray, " jobs"],
        fair: Int64[IntArray, " jobs"] | None = None,
    ) -> "Goodputs":
        """The same for these jobs: up to a whole node, and up to ``most`` GPUs on several.

        With ``fair`` GPUs of each also as if they were of one node, where no node has so many. Only
        jobs whose report changed are computed, all at once.
        """
        if not jobs:
            return Goodputs()
        known = self.rows if places == self.places else {}
        stale = [
            index
            for index, job in enumerate(jobs)
            if (row := known.get(job.spec.job_id)) is None
            or row.key != Key.of(job)
            or row.several.shape[1] <= most[index]
        ]
        fresh = _rows([jobs[index] for index in stale], places, most[stale])
        known = {**known, **fresh}
        rows = {job.spec.job_id: known[job.spec.job_id] for job in jobs}
        if fair is not None and (fair > places.smallest).any():
            rows = _with_shares(rows, jobs, places, fair)
        return Goodputs(rows, places)

    def arrays(self, jobs: Sequence[JobView], most: Int64[IntArray, " jobs"]) -> Tables:
        """Goodput by type and GPUs; 0 where impossible, or above ``most``.

        What a row knows beyond is cut off, so that a decision never depends on what came before.
        """
        rows = [self.rows[job.spec.job_id] for job in jobs]
        local = np.array([row.local for row in rows])
        local = np.where(np.arange(local.shape[2]) <= most[:, None, None], local, 0.0)
        racks = [row.rack for row in rows if row.rack is not None]  # of all rows or of none
        return Tables(
            local=local,
            rack=_cut(racks, most) if racks else None,
            several=_cut([row.several for row in rows], most),
            share=_shares(rows),
        )


def _with_shares(
    rows: Mapping[JobId, Row],
    jobs: Sequence[JobView],
    places: Places,
    fair: Int64[IntArray, " jobs"],
) -> dict[JobId, Row]:
    """The rows with the fair share of each job as on one node; computed where that is news."""
    old = [rows[job.spec.job_id].share for job in jobs]
    stale = [at for at, one in enumerate(old) if one is None or one.gpus != fair[at]]
    if not stale:
        return dict(rows)
    some = [jobs[at] for at in stale]
    kinds = range(len(places.types))
    found = np.array([as_on_one_node(some, places, kind, fair[stale]) for kind in kinds])
    fresh = {
        jobs[at].spec.job_id: replace(
            rows[jobs[at].spec.job_id], share=Share(int(fair[at]), found[:, index])
        )
        for index, at in enumerate(stale)
    }
    return {**rows, **fresh}


def _shares(rows: Sequence[Row]) -> Float64[FloatArray, "jobs kinds"] | None:
    """Of all rows, or of none."""
    found = [row.share.goodput_per_s for row in rows if row.share is not None]
    return np.array(found) if len(found) == len(rows) else None


def _cut(
    rows: Sequence[Float64[FloatArray, "kinds counts"]], most: Int64[IntArray, " jobs"]
) -> Float64[FloatArray, "jobs kinds counts"]:
    """Rows of any length as one array, each up to its own ``most``."""
    cut = np.zeros((len(rows), len(rows[0]), max(int(most.max()), 1) + 1))
    for index, row in enumerate(rows):
        count = int(most[index]) + 1
        cut[index, :, :count] = row[:, :count]
    return cut


def _rows(
    jobs: Sequence[JobView], places: Places, most: Int64[IntArray, " jobs"]
) -> dict[JobId, Row]:
    if not jobs:
        return {}
    by_type = [_of_type(jobs, places, kind, most) for kind in range(len(places.types))]
    local, rack, several = (np.stack(tables, axis=1) for tables in zip(*by_type, strict=True))
    return {
        job.spec.job_id: Row(
            Key.of(job),
            local[index],
            rack[index, :, : int(most[index]) + 1] if places.has_racks else None,
            several[index, :, : int(most[index]) + 1],
        )
        for index, job in enumerate(jobs)
    }


def _of_type(
    jobs: Sequence[JobView], places: Places, kind: int, most: Int64[IntArray, " jobs"]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Goodput on one GPU type: on one node, on several of one rack, on several of any."""
    name, _, largest = places.types[kind]
    counts = max(int(most.max()), 1) + 1
    sizes = places.largest + 1
    levels = [Locality.ONE_NODE, Locality.ONE_RACK]
    levels += [Locality.SEVERAL_RACKS] if places.has_racks else []
    lengths = [sizes] + [counts] * (len(levels) - 1)
    gpus = np.concatenate([np.arange(length) for length in lengths])
    locality = np.repeat(np.array(levels, dtype=np.int64), lengths)
    several = locality > Locality.ONE_NODE
    wanted = np.where(several, gpus >= 2, (gpus >= 1) & (gpus <= largest))
    found = best(
        _models(jobs, places, name),
        gpus,
        locality,
        nodes=np.where(several, np.maximum(-(-gpus // largest), 2), 1),
        wanted=wanted & (gpus <= most[:, None]),
    ).goodput_per_s
    parts = np.split(found, np.cumsum(lengths)[:-1], axis=1)
    return parts[0], parts[1], parts[-1]


def as_on_one_node(
    jobs: Sequence[JobView], places: Places, kind: int, gpus: Int64[IntArray, " jobs"]
) -> Float64[FloatArray, " jobs"]:
    """Each job's goodput on so many GPUs of a type, were its nodes wide enough for them."""
    models = _models(jobs, places, places.types[kind][0])
    return best(models, gpus[:, None], Locality.ONE_NODE).goodput_per_s[:, 0]


def _models(jobs: Sequence[JobView], places: Places, gpu_type: str) -> JobModels:
    return JobModels.of(
        [(job.spec.batch, job.report) for job in jobs],
        gpu_type,
        speed={name: speed for name, speed, _ in places.types},
    )
