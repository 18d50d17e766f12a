"""Pollux: co-adaptive scheduling by goodput (OSDI'21), solved exactly instead of searched."""

from dataclasses import dataclass
from typing import final

import numpy as np

from headway.core.errors import InvalidInputError
from headway.core.model.speedup import fair_gpus
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.limits import allowed_sizes, caps, realloc_factor, restart_delays_s
from headway.core.policy.tables import Goodputs
from headway.core.solve.pinned import EXACT_UP_TO_GPUS, solve
from headway.core.solve.problem import Problem
from headway.core.types import (
    Decision,
    Float64,
    FloatArray,
    Int64,
    IntArray,
    Snapshot,
)

RANGES = {  # of the settings that have one; a power of 1e9 left jobs without GPUs for ever
    "p": (-20.0, 20.0),
    "eps": (1e-9, 1.0),
    "margin": (0.0, 1.0),
    "spread": (0.0, 1.0),
    "rel_gap": (0.0, 1.0),
    "exact_up_to_gpus": (0, 1 << 20),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Speedups:
    """Goodput over that of a fair share (Pollux, Eqn. 15), by GPUs; 0 where not allowed."""

    local: Float64[FloatArray, "jobs sizes"]
    several: Float64[FloatArray, "jobs counts"]
    keep: Float64[FloatArray, " jobs"]  # of the present placement; 0 for a job that waits

    def of(self, alloc: Int64[IntArray, "jobs nodes"]) -> Float64[FloatArray, " jobs"]:
        """The speedup of each job's row."""
        gpus, nodes = alloc.sum(axis=1), (alloc > 0).sum(axis=1)
        job = np.arange(len(gpus))
        local = self.local[job, np.where(nodes == 1, gpus, 0)]
        several = self.several[job, np.where(nodes > 1, gpus, 0)]
        return np.where(nodes > 1, several, local)


@final
@dataclass(frozen=True)
class Pollux:
    """Maximise FITNESS_p, the power mean of the jobs' speedups (Eqn. 14), over all placements.

    FITNESS_p is monotone in a sum over jobs, so the policy is a table of costs: (s + eps)^p for
    p < 0, -log(s + eps) for p = 0, -s^p for p > 0. A running job's speedup s is multiplied by
    REALLOC_FACTOR for whatever differs from exactly what it holds.

    That factor nears 1 for an old job, which then moves for next to nothing; ``margin`` damps this
    without hindering growth. On the five published workloads 0 / 0.05 / 0.1 / 0.15 give 636 / 599 /
    567 / 543 restarts and 2,928 / 2,915 / 2,901 / 2,929 s average JCT.

    What was never tried on several nodes is assumed to be as fast there as on one, and the search
    would take either; ``spread`` breaks such ties for one node. With agents that are optimistic
    0 / 0.03 / 0.05 give 2,814 / 2,807 / 2,803 s.
    """

    p: float = -1.0
    eps: float = 1e-3  # the speedup of a job without GPUs, for p <= 0
    margin: float = 0.1  # share of its speedup that a job moved or shrunk, not grown, is denied
    spread: float = 0.05  # share of its speedup that a new placement on several nodes is denied
    rel_gap: float = 1e-4
    exact_up_to_gpus: int = EXACT_UP_TO_GPUS

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a setting beyond which the arithmetic means nothing."""
        for name, (low, high) in RANGES.items():
            value: float = getattr(self, name)
            if not low <= value <= high:
                raise InvalidInputError(f"pollux.{name} must be {low:g} to {high:g}, not {value:g}")

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits(adapts_batch_size=True, resizes=True, reads_reports=True)

    def start(self) -> Goodputs:
        """Nothing computed yet."""
        return Goodputs()

    def decide(
        self, snapshot: Snapshot, memory: Goodputs, rng: np.random.Generator
    ) -> tuple[Decision, Goodputs]:
        """Sizes and places of all jobs at once, with the gap to the best possible."""
        grid = Grid.of(snapshot, at_requested_size=False)
        if not grid.jobs:
            return grid.decision(grid.held, gap=0.0), Goodputs()
        total = int(grid.capacity.sum())
        fair = np.array([fair_gpus(job.spec.gpus, total, len(grid.jobs)) for job in grid.jobs])
        cap, held = caps(grid.jobs), grid.held.sum(axis=1)
        most = np.minimum(np.maximum(np.maximum(cap, held), fair), total)
        largest = int(grid.capacity.max())
        memory = memory.updated(grid.jobs, largest=largest, most=most)
        speedups = _speedups(grid, memory.arrays(grid.jobs, most), fair, cap)
        factor = realloc_factor(
            [job.age_s(snapshot.now_s) for job in grid.jobs],
            [job.restarts for job in grid.jobs],
            restart_delays_s(grid.jobs),
        )
        factor = np.where(grid.running, factor, 1.0)
        problem = self._problem(grid, speedups, factor)
        plan = solve(problem, rel_gap=self.rel_gap, exact_up_to_gpus=self.exact_up_to_gpus)
        # Without a plan (present holdings that no longer fit together) nobody is touched.
        alloc = grid.held if plan.alloc is None else plan.alloc
        kept = (alloc == grid.held).all(axis=1)
        after = np.where(kept, speedups.keep, speedups.of(alloc))
        decision = grid.decision(
            alloc,
            numbers={
                "speedup_before": speedups.keep,
                "speedup_after": after,
                "realloc_factor": factor,
            },
            objective=self._fitness(np.where(kept, after, after * factor)),
            gap=plan.gap if np.isfinite(plan.gap) and plan.alloc is not None else None,
            solver=plan.counts(),
        )
        return decision, memory

    def _problem(
        self, grid: Grid, speedups: Speedups, factor: Float64[FloatArray, " jobs"]
    ) -> Problem:
        """Costs of everything each job may do; a pinned one may only stay."""
        nothing = np.zeros(len(grid.jobs))
        spread = speedups.several * (1.0 - self.spread)
        return Problem(
            capacity=grid.capacity,
            held=grid.held,
            cost_none=np.where(grid.pinned, np.inf, self._cost(nothing)),
            cost_local=self._cost_of_moving(grid, speedups.local, factor)[:, None],
            cost_several=self._cost_of_moving(grid, spread, factor)[:, None],
            cost_keep=np.where(grid.running, self._cost(speedups.keep), np.inf),
        )

    def _cost_of_moving(
        self,
        grid: Grid,
        speedup: Float64[FloatArray, "jobs sizes"],
        factor: Float64[FloatArray, " jobs"],
    ) -> Float64[FloatArray, "jobs sizes"]:
        """Costs of new placements by size; a pinned job has none."""
        grows = np.arange(speedup.shape[1]) > grid.held.sum(axis=1)[:, None]
        counted = speedup * factor[:, None] * np.where(grows, 1.0, 1.0 - self.margin)
        allowed = (speedup > 0) & ~grid.pinned[:, None]
        return np.where(allowed, self._cost(counted), np.inf)

    def _cost(self, speedup: FloatArray) -> FloatArray:
        """A job's share of the sum that is minimised in place of FITNESS_p."""
        if self.p > 0:
            return np.asarray(-(speedup**self.p))
        if self.p == 0:
            return np.asarray(-np.log(speedup + self.eps))
        return np.asarray((speedup + self.eps) ** self.p)

    def _fitness(self, speedup: Float64[FloatArray, " jobs"]) -> float:
        """FITNESS_p (Eqn. 14); for p = 0 the geometric mean."""
        mean = float(np.abs(self._cost(speedup)).mean()) if self.p else 0.0
        if self.p == 0:
            return float(np.exp(np.log(speedup + self.eps).mean()))
        return mean ** (1 / self.p) if mean else 0.0


def _speedups(
    grid: Grid,
    goodput_per_s: tuple[FloatArray, FloatArray],
    fair: Int64[IntArray, " jobs"],
    cap: Int64[IntArray, " jobs"],
) -> Speedups:
    """Speedups at the sizes that owner and cap allow, and at what each job holds."""
    local, several = goodput_per_s
    fair_per_s = _fair_goodput(local, several, fair)
    job = np.arange(len(grid.jobs))
    gpus, nodes = grid.held.sum(axis=1), (grid.held > 0).sum(axis=1)
    held_per_s = np.where(
        nodes > 1,
        several[job, np.where(nodes > 1, gpus, 0)],
        local[job, np.where(nodes == 1, gpus, 0)],
    )
    may = allowed_sizes(grid.jobs, several.shape[1] - 1)
    may &= np.arange(several.shape[1]) <= cap[:, None]
    may_local = np.zeros(local.shape, dtype=np.bool_)
    width = min(may.shape[1], local.shape[1])
    may_local[:, :width] = may[:, :width]
    return Speedups(
        local=_over(np.where(may_local, local, 0.0), fair_per_s[:, None]),
        several=_over(np.where(may, several, 0.0), fair_per_s[:, None]),
        keep=_over(held_per_s, fair_per_s),
    )


def _fair_goodput(
    local: Float64[FloatArray, "jobs sizes"],
    several: Float64[FloatArray, "jobs counts"],
    fair: Int64[IntArray, " jobs"],
) -> Float64[FloatArray, " jobs"]:
    """Goodput of the fair share on as few nodes as it needs.

    Where the batch cannot be split so: the best on no more GPUs, or if there is none, on any.
    """
    job, one_node = np.arange(len(fair)), fair < local.shape[1]
    at_fair = np.where(
        one_node, local[job, np.where(one_node, fair, 0)], several[job, np.where(one_node, 0, fair)]
    )
    both = np.hstack([local, several])
    gpus = np.concatenate([np.arange(local.shape[1]), np.arange(several.shape[1])])
    no_more = np.where(gpus <= fair[:, None], both, 0.0).max(axis=1)
    return np.where(at_fair > 0, at_fair, np.where(no_more > 0, no_more, both.max(axis=1)))


def _over(value: FloatArray, reference: FloatArray) -> FloatArray:
    return np.divide(value, reference, out=np.zeros_like(value), where=reference > 0)
