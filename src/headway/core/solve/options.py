"""The columns of the pinned-pattern program that stand for a job's sizes, and what was chosen."""

from dataclasses import dataclass

import numpy as np

from headway.core.solve.problem import Problem
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray

_COST_CAP = 1e12  # of scaled costs: above it a double no longer sees the rest of the sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The sizes worth a column: each costs less than every smaller one of its kind.

    Pruning is exact: whoever holds a larger size can hold the smaller one in its place.
    """

    local_job: Int64[IntArray, " locals"]
    local_size: Int64[IntArray, " locals"]
    several_job: Int64[IntArray, " severals"]
    several_size: Int64[IntArray, " severals"]
    keep_job: Int64[IntArray, " keeps"]

    @classmethod
    def of(cls, problem: Problem) -> "Options":
        """The options of all jobs."""
        none = problem.cost_none[:, None]
        largest = int(problem.capacity.max())
        local = np.hstack([none, problem.cost_local[:, 1 : largest + 1]])
        several = np.hstack([none, problem.cost_local[:, 1:2], problem.cost_several[:, 2:]])
        local_job, local_at = np.nonzero(_improves(local))
        several_job, several_at = np.nonzero(_improves(several)[:, 1:])
        return cls(
            local_job=local_job,
            local_size=local_at + 1,
            several_job=several_job,
            several_size=several_at + 2,
            keep_job=np.flatnonzero(problem.keepable()),
        )

    @property
    def job(self) -> Int64[IntArray, " options"]:
        """The job of every option: local ones first, then several, then keep."""
        return np.concatenate([self.local_job, self.several_job, self.keep_job])

    def scaled_costs(
        self, problem: Problem
    ) -> tuple[Float64[FloatArray, " options"], Float64[FloatArray, " jobs"], float]:
        """Costs of all options and of nothing, over their median, and that median."""
        cost = np.concatenate(
            [
                problem.cost_local[self.local_job, self.local_size],
                problem.cost_several[self.several_job, self.several_size],
                problem.cost_keep[self.keep_job],
            ]
        )
        finite = np.abs(np.concatenate([cost, problem.cost_none[np.isfinite(problem.cost_none)]]))
        positive = np.sort(finite[finite > 0])
        scale = float(positive[len(positive) // 2]) if len(positive) else 1.0
        none = np.where(np.isfinite(problem.cost_none), _capped(problem.cost_none / scale), np.inf)
        return _capped(cost / scale), none, scale


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """How often each pattern fills the nodes of one class, or one wide node."""

    room: int
    flagged: bool  # a job that spans several nodes stays on them
    node: int | None  # the wide node that all patterns share, if it is one
    patterns: Int64[IntArray, "patterns sizes"]
    times: Float64[FloatArray, " patterns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a solution of the program says, not yet where. Pieces are None if it does not say."""

    keep: BoolArray
    local: Int64[IntArray, " jobs"]  # GPUs of one node; 0 for other options
    several: Int64[IntArray, " jobs"]  # GPUs of several nodes; 0 for other options
    sizes: Int64[IntArray, " sizes"]  # of the patterns
    filled: tuple[Filled, ...]
    pieces: Int64[IntArray, "jobs sizes"] | None  # column i: pieces of i GPUs of a spanning job


def likeliest(
    options: Options, value: Float64[FloatArray, " options"], jobs: int
) -> tuple[BoolArray, Int64[IntArray, " jobs"], Int64[IntArray, " jobs"]]:
    """Of each job the option of largest value, where not choosing any is the rest up to 1."""
    job = options.job
    rest = 1.0 - np.bincount(job, weights=value, minlength=jobs)
    everyone = np.concatenate([job, np.arange(jobs)])
    order = np.lexsort((-np.concatenate([value, rest]), everyone))
    first = order[np.flatnonzero(np.diff(everyone[order], prepend=-1))]
    locals_, severals = len(options.local_job), len(options.several_job)
    size = np.concatenate([options.local_size, options.several_size])
    keep = np.zeros(jobs, dtype=np.bool_)
    local, several = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.int64)
    chosen = first[first < locals_]
    local[everyone[chosen]] = size[chosen]
    chosen = first[(first >= locals_) & (first < locals_ + severals)]
    several[everyone[chosen]] = size[chosen]
    keep[everyone[first[(first >= locals_ + severals) & (first < len(job))]]] = True
    return keep, local, several


def _improves(cost: Float64[FloatArray, "jobs sizes"]) -> BoolArray:
    """Whether a size, from the second on, costs less than all before it."""
    return cost[:, 1:] < np.minimum.accumulate(cost, axis=1)[:, :-1]


def _capped(cost: FloatArray) -> FloatArray:
    return np.clip(cost, -_COST_CAP, _COST_CAP)
