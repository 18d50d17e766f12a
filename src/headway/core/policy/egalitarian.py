"""The egalitarian cluster as a policy reckons it: what each job would have in its share of GPUs.

In it every active job always holds its share of the whole, and of each GPU type the same share.
The simulator has the true one; here speeds are those that jobs report, and the future is a guess.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from headway.core.policy.grid import Grid
from headway.core.policy.limits import allowed_sizes
from headway.core.policy.tables import Tables
from headway.core.solve.envelope import concave_steps
from headway.core.types import Float64, FloatArray, Int64, IntArray

FACTORS = np.array([1.0, 1.3, 1.7, 2.2, 3.0, 4.0])  # that shares grow by while jobs end
LEAST_PER_S = 1e-12  # goodput; keeps times finite


def sizes_above(grid: Grid, share: Float64[FloatArray, " jobs"]) -> Int64[IntArray, " jobs"]:
    """The least size of each job that is no less than a share, at most its largest."""
    found = []
    for job, gpus in zip(grid.jobs, share.tolist(), strict=True):
        bounds = job.spec.gpus
        sizes = bounds.sizes or (max(int(np.ceil(gpus)), bounds.min_gpus),)
        fits = [size for size in sizes if max(gpus, bounds.min_gpus) <= size <= bounds.max_gpus]
        found.append(min(fits, default=bounds.max_gpus))
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Goodput of each job against a fractional share of the cluster.

    On the concave envelope over the sizes that a job may hold, on as few nodes as each needs; so a
    job of w GPUs has share / w of its goodput on w. Where GPU types differ it is the mean over
    them, weighted by their GPUs; on a type with fewer GPUs than the share, that type's best.
    """

    steps: Float64[FloatArray, "jobs counts"]  # goodput per second that each further GPU adds

    @classmethod
    def of(cls, grid: Grid, goodput_per_s: Tables) -> Self:
        """From goodput at whole sizes."""
        counts = goodput_per_s.several.shape[2]
        beyond = goodput_per_s.several if goodput_per_s.rack is None else goodput_per_s.rack
        may = allowed_sizes(grid.jobs, counts - 1)
        total = sum(one.gpus for one in grid.types)
        steps = np.zeros((len(grid.jobs), counts - 1))
        for kind, one in enumerate(grid.types):
            curve = np.array(beyond[:, kind])
            width = min(goodput_per_s.local.shape[2], counts, one.largest + 1)
            curve[:, :width] = np.maximum(curve[:, :width], goodput_per_s.local[:, kind, :width])
            curve[:, one.gpus + 1 :] = 0.0
            rising = np.maximum.accumulate(np.where(may, curve, 0.0), axis=1)
            steps += one.gpus / total * concave_steps(rising)
        return cls(steps=steps)

    def at(self, share: Float64[FloatArray, " jobs"]) -> Float64[FloatArray, " jobs"]:
        """Goodput per second of a share of so many GPUs, at most of the largest size known."""
        within = np.clip(share[:, None] - np.arange(self.steps.shape[1]), 0.0, 1.0)
        return np.asarray(np.maximum((self.steps * within).sum(axis=1), LEAST_PER_S))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Shares to come: they grow while active jobs end, up to what they usually are.

    With the share of a busy hour for good, a job of many hours would seem to take for ever; and
    with no regard to the jobs that will come, to be done too soon.
    """

    factors: Float64[FloatArray, " levels"]  # of each job's share now
    rates_per_s: Float64[FloatArray, "jobs levels"]  # goodput at each job's share on each level
    lasts_s: Float64[FloatArray, " levels"]  # the last one for ever

    @classmethod
    def of(
        cls,
        curves: Curves,
        share: Float64[FloatArray, " jobs"],
        work: Float64[FloatArray, " jobs"],
        *,
        most: float,
    ) -> Self:
        """Of jobs with so much work left; shares grow by no more than ``most``."""
        jobs = len(share)
        within = np.less_equal(FACTORS, max(min(most, jobs), 1.0))
        factors = FACTORS[within]
        rates = np.stack([curves.at(share * factor) for factor in factors], axis=1)
        left, lasts_s = np.array(work), np.full(len(factors), np.inf)
        for level, factor in enumerate(factors[1:].tolist()):
            ended = max(jobs - int(np.ceil(jobs / factor)), 1)
            lasts_s[level] = np.sort(left / rates[:, level])[ended - 1]
            left = np.maximum(left - lasts_s[level] * rates[:, level], 0.0)
        return cls(factors=factors, rates_per_s=rates, lasts_s=lasts_s)

    def time_s(self, work: Float64[FloatArray, " jobs"]) -> Float64[FloatArray, " jobs"]:
        """How long so much work takes each job."""
        return np.asarray(self._times_s(work).sum(axis=1))

    def growth(
        self, work: Float64[FloatArray, " jobs"], most: Float64[FloatArray, " jobs"]
    ) -> Float64[FloatArray, " jobs"]:
        """GPUs that each job has on average while it does so much work, over its share now.

        No job has more than ``most``, in the same unit.
        """
        times_s = self._times_s(work)
        gpus_s = (times_s * np.minimum(self.factors, most[:, None])).sum(axis=1)
        return np.asarray(gpus_s / times_s.sum(axis=1))

    def _times_s(self, work: Float64[FloatArray, " jobs"]) -> Float64[FloatArray, "jobs levels"]:
        """How long each job works on so much at each level."""
        left, times_s = np.array(work), np.zeros_like(self.rates_per_s)
        for level, lasts_s in enumerate(self.lasts_s.tolist()):
            step_s = np.minimum(left / self.rates_per_s[:, level], lasts_s)
            times_s[:, level] = step_s
            left = np.maximum(left - step_s * self.rates_per_s[:, level], 0.0)
        return times_s

    def work_in(self, time_s: Float64[FloatArray, " jobs"]) -> Float64[FloatArray, " jobs"]:
        """How much work each job does in so long; the other way round."""
        left_s, work = np.array(time_s), np.zeros(len(time_s))
        for level, lasts_s in enumerate(self.lasts_s.tolist()):
            step_s = np.minimum(left_s, lasts_s)
            work += step_s * self.rates_per_s[:, level]
            left_s = left_s - step_s
        return work
