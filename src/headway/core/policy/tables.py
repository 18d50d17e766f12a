"""Goodput of every job at every size it may hold, remembered while its report stays the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headway.core.ids import JobId
from headway.core.model.goodput import JobModels, best
from headway.core.types import (
    BatchContract,
    Float64,
    FloatArray,
    Int64,
    IntArray,
    JobView,
    ThroughputParams,
)


@dataclass(frozen=True, slots=True)
class Row:
    """One job's goodput per size, and what it was computed from."""

    contract: BatchContract
    throughput: ThroughputParams | None
    noise_scale: float | None
    local: Float64[FloatArray, " sizes"]
    several: Float64[FloatArray, " counts"]

    def serves(self, job: JobView, largest: int, most: int) -> bool:
        """Whether the row is still right, and long enough."""
        throughput, noise_scale = _key(job)
        return (
            self.throughput == throughput
            and self.noise_scale == noise_scale
            and self.contract == job.spec.batch
            and len(self.local) == largest + 1
            and len(self.several) > most
        )


@dataclass(frozen=True, slots=True)
class Goodputs:
    """The rows of all active jobs; nothing of jobs that are gone."""

    rows: Mapping[JobId, Row] = field(default_factory=dict)

    def updated(
        self, jobs: Sequence[JobView], *, largest: int, most: Int64[IntArray, " jobs"]
    ) -> "Goodputs":
        """The same for these jobs: sizes up to ``largest`` on one node, up to ``most`` on several.

        Only jobs whose report changed are computed, all at once.
        """
        stale = [
            index
            for index, job in enumerate(jobs)
            if (row := self.rows.get(job.spec.job_id)) is None
            or not row.serves(job, largest, int(most[index]))
        ]
        fresh = _rows([jobs[index] for index in stale], largest=largest, most=most[stale])
        known = {**self.rows, **fresh}
        return Goodputs({job.spec.job_id: known[job.spec.job_id] for job in jobs})

    def arrays(
        self, jobs: Sequence[JobView], most: Int64[IntArray, " jobs"]
    ) -> tuple[Float64[FloatArray, "jobs sizes"], Float64[FloatArray, "jobs counts"]]:
        """Goodput on one node and on several, by GPUs; 0 where impossible, or above ``most``.

        What a row knows beyond is cut off, so that a decision never depends on what came before.
        """
        rows = [self.rows[job.spec.job_id] for job in jobs]
        several = np.zeros((len(rows), max(int(most.max()), 1) + 1))
        for index, row in enumerate(rows):
            count = int(most[index]) + 1
            several[index, :count] = row.several[:count]
        local = np.array([row.local for row in rows])
        return np.where(np.arange(local.shape[1]) <= most[:, None], local, 0.0), several


def _key(job: JobView) -> tuple[ThroughputParams | None, float | None]:
    if job.report is None:
        return None, None
    return job.report.throughput, job.report.noise_scale


def _rows(
    jobs: Sequence[JobView], *, largest: int, most: Int64[IntArray, " jobs"]
) -> dict[JobId, Row]:
    if not jobs:
        return {}
    widest = max(int(most.max()), 1)
    gpus = np.concatenate([np.arange(largest + 1), np.arange(widest + 1)])
    spans = np.arange(len(gpus)) > largest
    wanted = np.where(spans, gpus >= 2, gpus >= 1) & (gpus <= most[:, None])
    models = JobModels.of([(job.spec.batch, job.report) for job in jobs])
    nodes = np.where(spans, np.maximum(-(-gpus // largest), 2), 1)  # as few as they need
    found = best(models, gpus, spans, nodes=nodes, wanted=wanted).goodput_per_s
    return {
        job.spec.job_id: Row(
            job.spec.batch,
            *_key(job),
            found[index, : largest + 1],
            found[index, largest + 1 : largest + 2 + int(most[index])],
        )
        for index, job in enumerate(jobs)
    }
