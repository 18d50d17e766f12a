"""The columns of the pinned-pattern program that stand for a job's sizes, and what was chosen."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from headway.core.solve.problem import Problem
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray

_COST_CAP = 1e12  # of scaled costs: above it a double no longer sees the rest of the sum
# Of the cost of nothing, where it is so far above all else that less will do. 1,365 jobs, p = -10:
# from 1e30 down to 1e12 the mixed-integer program was lost in rounding, at 1e8 it took 0.04 s.
_NOTHING_CAP, _NOTHING_OVER_WORST = 1e6, 100.0


class Level(IntEnum):
    """How far what a job holds is spread."""

    NONE = -1  # nothing is held
    LOCAL = 0  # one node
    RACK = 1  # several nodes of one rack
    SEVERAL = 2  # several racks; several nodes where racks do not matter
    KEEP = 3  # what the job holds now


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is worth a column, by level: each costs less than all smaller ones of level and type.

    Pruning is exact: whoever holds a larger size can hold the smaller one in its place.
    """

    job: Int64[IntArray, " options"]
    level: Int64[IntArray, " options"]
    kind: Int64[IntArray, " options"]  # the type of GPU; 0 for keep
    gpus: Int64[IntArray, " options"]  # 0 for keep

    @classmethod
    def of(cls, problem: Problem) -> "Options":
        """The options of all jobs."""
        parts = []
        for level, cost in _levels(problem):
            job, kind, at = np.nonzero(_improves(cost))
            fewest = 1 if level is Level.LOCAL else 2
            spanning = at + 1 >= fewest  # the first column of a spanning level is one node's GPU
            job, kind, at = job[spanning], kind[spanning], at[spanning]
            parts.append((job, np.full(len(job), level, dtype=np.int64), kind, at + 1))
        keep = np.flatnonzero(problem.keepable())
        nought = np.zeros_like(keep)
        parts.append((keep, np.full_like(keep, Level.KEEP), nought, nought))
        job, level_of, kind, gpus = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(job=job, level=level_of, kind=kind, gpus=gpus)

    @property
    def spanning(self) -> BoolArray:
        """Options of several nodes."""
        return np.isin(self.level, (Level.RACK, Level.SEVERAL))

    def scaled_costs(
        self, problem: Problem
    ) -> tuple[Float64[FloatArray, " options"], Float64[FloatArray, " jobs"], float]:
        """Costs of all options and of nothing, over their median, and that median."""
        cost = problem.cost_keep[self.job]
        tables = {Level.LOCAL: problem.cost_local, Level.SEVERAL: problem.cost_several}
        if problem.cost_rack is not None:
            tables[Level.RACK] = problem.cost_rack
        for level, table in tables.items():
            of = self.level == level
            cost[of] = table[self.job[of], self.kind[of], self.gpus[of]]
        finite = np.abs(np.concatenate([cost, problem.cost_none[np.isfinite(problem.cost_none)]]))
        positive = np.sort(finite[finite > 0])
        scale = float(positive[len(positive) // 2]) if len(positive) else 1.0
        cost = _capped(cost / scale)
        most = max(_NOTHING_CAP, _NOTHING_OVER_WORST * float(cost.max(initial=0.0)))
        none = _bent(problem.cost_none / scale, most)
        return cost, np.where(np.isfinite(problem.cost_none), none, np.inf), scale

    def likeliest(
        self, value: Float64[FloatArray, " options"], jobs: int
    ) -> Int64[IntArray, " jobs"]:
        """Of each job the option of largest value; -1 where what is left up to 1 is larger."""
        rest = 1.0 - np.bincount(self.job, weights=value, minlength=jobs)
        everyone = np.concatenate([self.job, np.arange(jobs)])
        order = np.lexsort((-np.concatenate([value, rest]), everyone))
        first = order[np.flatnonzero(np.diff(everyone[order], prepend=-1))]
        return np.where(first < len(self.job), first, -1)


def _bent(cost: Float64[FloatArray, " jobs"], most: float) -> Float64[FloatArray, " jobs"]:
    """Beyond ``most`` costs grow with their logarithm: who goes without is still chosen by them."""
    return np.where(cost > most, most * (1.0 + np.log(np.maximum(cost, most) / most)), cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """How often each pattern fills the nodes of one class, or one wide node."""

    room: int
    flagged: bool  # a job that spans several nodes stays on them
    node: int | None  # the wide node that all patterns share, if it is one
    kind: int
    rack: int | None  # None: nodes of any rack
    sizes: Int64[IntArray, " sizes"]
    patterns: Int64[IntArray, "patterns sizes"]
    times: Float64[FloatArray, " patterns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a solution of the program says, not yet where. Pieces are None if it does not say."""

    level: Int64[IntArray, " jobs"]
    kind: Int64[IntArray, " jobs"]
    gpus: Int64[IntArray, " jobs"]  # 0 for none and keep
    filled: tuple[Filled, ...]
    # Column i: pieces of i GPUs of a spanning job; one rack only if racks do not matter.
    pieces: Int64[IntArray, "jobs racks sizes"] | None


def _levels(problem: Problem) -> Iterator[tuple[Level, Float64[FloatArray, "jobs kinds sizes"]]]:
    """Costs by level as ``_improves`` reads them: nothing, then one GPU, two, and so on."""
    none = np.broadcast_to(problem.cost_none[:, None, None], (*problem.cost_local.shape[:2], 1))
    one, several = problem.cost_local[:, :, 1:2], problem.cost_several[:, :, 2:]
    room = np.where(problem.kind == np.arange(problem.kinds)[:, None], problem.capacity, 0)
    largest = room.max(axis=1)
    local = problem.cost_local[:, :, 1 : largest.max() + 1]
    yield Level.LOCAL, np.concatenate([none, _up_to(local, largest)], axis=2)
    if problem.cost_rack is not None:
        in_rack = problem.rack == np.arange(problem.rack.max() + 1)[:, None]
        largest = np.where(in_rack, room[:, None], 0).sum(axis=2).max(axis=1)
        rack = _up_to(problem.cost_rack[:, :, 2:], largest - 1)
        yield Level.RACK, np.concatenate([none, one, rack], axis=2)
    several = _up_to(several, room.sum(axis=1) - 1)
    yield Level.SEVERAL, np.concatenate([none, one, several], axis=2)


def _up_to(
    cost: Float64[FloatArray, "jobs kinds sizes"], most: Int64[IntArray, " kinds"]
) -> Float64[FloatArray, "jobs kinds sizes"]:
    """Infinite beyond a number of columns of each type."""
    within = np.arange(cost.shape[2]) < most[:, None]
    return cost if within.all() else np.where(within, cost, np.inf)


def _improves(cost: Float64[FloatArray, "jobs kinds sizes"]) -> BoolArray:
    """Whether a size, from the second on, costs less than all before it."""
    return np.asarray(cost[..., 1:] < np.minimum.accumulate(cost, axis=-1)[..., :-1])


def _capped(cost: FloatArray) -> FloatArray:
    return np.clip(cost, -_COST_CAP, _COST_CAP)
