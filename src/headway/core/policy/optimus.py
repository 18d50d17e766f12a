"""Optimus + Oracle: GPUs one by one to the job whose remaining time falls most (EuroSys'18)."""

from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import final

import numpy as np

from headway.core.model.goodput import JobModels
from headway.core.model.sync import Theta
from headway.core.policy.admission import place
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.remaining import batch_size_of, step_times_s, steps_left
from headway.core.policy.seating import Totals, smaller
from headway.core.types import (
    Decision,
    Float64,
    FloatArray,
    Int64,
    IntArray,
    JobView,
    Snapshot,
)


@final
@dataclass(frozen=True)
class Optimus:
    """Greedy by marginal decrease of remaining time, at fixed batch sizes, as Pollux ran it.

    Each job gets its smallest size in the order of submission, then each further GPU goes where
    remaining steps x (T_iter(K) - T_iter(K + 1)) is largest (Optimus, section 4.1), with Pollux's
    throughput model instead of that of a parameter server (Pollux, section 5.2).

    The oracle is what a job declares. ``work_samples`` less the samples of its report are the exact
    steps left at the requested batch size; a simulated workload declares them. Failing these, the
    steps left of ``work_examples`` are counted at the noise scale reported now. A job that declared
    neither, or has not reported yet, stays at its smallest size.

    On Pollux's workload-6 (published: 5,302 s average JCT, 5.44 restarts a job) it has 5,509 s and
    5.88, and 5,341 s and 4.91 where it is given offline fits of the whole profiles: the published
    run knew the time of every placement beforehand, the rest is what finding out costs.

    On a cluster of several GPU types, which Optimus does not know, a job stays on the type where it
    runs; a new one goes where its share of the GPUs, at their nominal speed, is largest.
    """

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits(resizes=True, reads_reports=True)

    def start(self) -> None:
        """Nothing to remember."""

    def decide(
        self, snapshot: Snapshot, memory: None, rng: np.random.Generator
    ) -> tuple[Decision, None]:
        """Sizes by the greedy rule; who keeps its size is not moved."""
        grid = Grid.of(snapshot, at_requested_size=False)
        smallest = np.array([job.spec.gpus.smallest for job in grid.jobs], dtype=np.int64)
        least = np.where(grid.pinned, grid.held.sum(axis=1), smallest)
        start = np.lexsort((np.arange(len(least)), ~grid.pinned)).tolist()
        kinds = _types(grid, start, least)
        ladders = {row: _Ladder.of(grid, row, kind) for row, kind in kinds.items()}
        need = _greedy(ladders, kinds, Totals.of(grid), jobs=len(grid.jobs))
        order = np.lexsort((np.arange(len(need)), -need, ~grid.pinned)).tolist()
        alloc = place(grid, {row: kinds[row] for row in order if need[row]}, need)
        if grid.beside:
            alloc = smaller(grid, alloc, start)
        left = [
            ladders[row].left_s(int(gpus)) if row in ladders else -1.0
            for row, gpus in enumerate(need)
        ]
        return grid.decision(alloc, numbers={"remaining_s": left}), None


@dataclass(frozen=True, slots=True)
class _Ladder:
    """The sizes a job may hold, ascending, and its remaining time at each; infinite if unknown."""

    sizes: tuple[int, ...]
    remaining_s: Float64[FloatArray, " sizes"]

    @classmethod
    def of(cls, grid: Grid, row: int, kind: int) -> "_Ladder":
        """On one GPU type, up to the size at which the batch gives every GPU the least it may."""
        job, of_type = grid.jobs[row], grid.types[kind]
        held = int(grid.held[row].sum())
        sizes = (held,) if grid.pinned[row] else _sizes(job, of_type.gpus)
        models = JobModels.of(
            [(job.spec.batch, job.report)],
            of_type.name,
            speed={one.name: one.speed for one in grid.types},
        )
        return cls(sizes, _remaining_s(job, models.theta, np.array(sizes), of_type.largest))

    def saved_s(self, rung: int) -> float:
        """Seconds that each GPU of the next step up saves."""
        if rung + 1 >= len(self.sizes) or not np.isfinite(self.remaining_s[rung]):
            return 0.0
        saved_s = float(self.remaining_s[rung] - self.remaining_s[rung + 1])
        return saved_s / (self.sizes[rung + 1] - self.sizes[rung])

    def left_s(self, gpus: int) -> float:
        """Remaining time at a size; -1 where it is not known."""
        if gpus not in self.sizes:
            return -1.0
        left_s = float(self.remaining_s[self.sizes.index(gpus)])
        return left_s if np.isfinite(left_s) else -1.0


def _sizes(job: JobView, total: int) -> tuple[int, ...]:
    batch, allowed = job.spec.batch, job.spec.gpus.allowed(total)
    most = batch_size_of(job) // batch.min_batch_per_gpu
    return allowed[:1] + tuple(size for size in allowed[1:] if size <= most)


def _remaining_s(
    job: JobView, theta: Theta, gpus: Int64[IntArray, " sizes"], per_node: int
) -> Float64[FloatArray, " sizes"]:
    """Steps left x T_iter on as few nodes as possible, with a batch of the requested size."""
    steps = steps_left(job)
    if job.report is None or steps is None:
        return np.full(len(gpus), np.inf)
    return steps * step_times_s(job, theta, gpus, per_node, batch_size_of(job))


def _types(grid: Grid, order: list[int], least: Int64[IntArray, " jobs"]) -> dict[int, int]:
    """Who runs at all, at its smallest size, and on which type: its own, or the emptiest."""
    totals, speeds = Totals.of(grid), np.array([one.speed for one in grid.types])
    own, running = grid.held_kind, grid.running
    sharing = np.bincount(own[running], minlength=len(speeds))
    share = grid.gpus_of_types * speeds
    chosen = {}
    for row in order:
        enough = totals.enough(row, int(least[row]))
        if not enough.any():
            continue
        kind = int(np.argmax(np.where(enough, share / (sharing + 1), -1.0)))
        if running[row] and enough[own[row]]:
            kind = int(own[row])
        else:
            sharing[kind] += 1
        totals.take(row, kind, int(least[row]))
        chosen[row] = kind
    return chosen


def _greedy(
    ladders: Mapping[int, _Ladder],
    kinds: Mapping[int, int],
    totals: Totals,
    *,
    jobs: int,
) -> Int64[IntArray, " jobs"]:
    """GPUs of each job: all at their smallest sizes, then step by step while its type has some."""
    need = np.zeros(jobs, dtype=np.int64)
    for row, ladder in ladders.items():
        need[row] = ladder.sizes[0]
        totals.take(row, kinds[row], ladder.sizes[0])
    rungs = dict.fromkeys(ladders, 0)
    heap = [(-ladder.saved_s(0), row) for row, ladder in ladders.items()]
    heapify(heap)
    while heap and heap[0][0] < 0:
        _, row = heappop(heap)
        ladder, rung, kind = ladders[row], rungs[row], kinds[row]
        step = ladder.sizes[rung + 1] - ladder.sizes[rung]
        if totals.enough(row, step)[kind]:
            rungs[row] = rung + 1
            totals.take(row, kind, step)
            need[row] += step
            heappush(heap, (-ladder.saved_s(rung + 1), row))
    return need
