"""Optimus + Oracle: GPUs one by one to the job whose remaining time falls most (EuroSys'18)."""

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import final

import numpy as np

from headway.core.model.efficiency import assumed_noise_scale, gain
from headway.core.model.schedule import present_batch_size
from headway.core.model.split import fewest_passes
from headway.core.model.throughput import stack, step_time_s
from headway.core.policy.admission import place
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
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
        per_node, total = int(grid.capacity.max(initial=1)), int(grid.capacity.sum())
        ladders = [
            _Ladder.of(job, held=int(held), pinned=bool(pinned), total=total, per_node=per_node)
            for job, held, pinned in zip(grid.jobs, grid.held.sum(axis=1), grid.pinned, strict=True)
        ]
        need = _greedy(ladders, grid.pinned.tolist(), total)
        order = np.lexsort((np.arange(len(need)), -need, ~grid.pinned)).tolist()
        alloc = place(grid, [row for row in order if need[row]], need)
        left = [ladder.left_s(int(gpus)) for ladder, gpus in zip(ladders, need, strict=True)]
        return grid.decision(alloc, numbers={"remaining_s": left}), None


@dataclass(frozen=True, slots=True)
class _Ladder:
    """The sizes a job may hold, ascending, and its remaining time at each; infinite if unknown."""

    sizes: tuple[int, ...]
    remaining_s: Float64[FloatArray, " sizes"]

    @classmethod
    def of(cls, job: JobView, *, held: int, pinned: bool, total: int, per_node: int) -> "_Ladder":
        """Up to the size at which the batch still gives every GPU the least it may have."""
        sizes = (held,) if pinned else _sizes(job, total)
        return cls(sizes, _remaining_s(job, np.array(sizes, dtype=np.int64), per_node))

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
    most = _batch_size(job) // batch.min_batch_per_gpu
    return allowed[:1] + tuple(size for size in allowed[1:] if size <= most)


def _batch_size(job: JobView) -> int:
    """What was requested, or what the job has by itself now."""
    batch = job.spec.batch
    return present_batch_size(batch, job.report) if batch.follows else job.spec.requested_batch_size


def _remaining_s(
    job: JobView, gpus: Int64[IntArray, " sizes"], per_node: int
) -> Float64[FloatArray, " sizes"]:
    """Steps left x T_iter on as few nodes as possible, with a batch of the requested size."""
    steps = _remaining_steps(job)
    if job.report is None or steps is None:
        return np.full(len(gpus), np.inf)
    size = np.full(len(gpus), float(_batch_size(job)))
    limit = np.full(len(gpus), float(job.spec.batch.max_batch_per_gpu))
    batch_per_gpu, passes = fewest_passes(size, gpus.astype(np.float64), limit)
    theta = stack([job.report.throughput])
    return steps * step_time_s(theta, gpus, gpus > per_node, batch_per_gpu, passes - 1)


def _remaining_steps(job: JobView) -> float | None:
    """From the declared samples; else from the declared work, at the present noise scale."""
    spec, report = job.spec, job.report
    if report is None:
        return None
    size, initial = _batch_size(job), spec.batch.initial_batch_size
    if spec.work_samples is not None:
        return max(spec.work_samples - report.samples, 0.0) / size
    if spec.work_examples is None:
        return None
    if spec.batch.follows:
        return max(spec.work_examples - report.progress_examples, 0.0) / size
    worth = initial * gain(assumed_noise_scale(report.noise_scale), initial, size)
    return max(spec.work_examples - report.progress_examples, 0.0) / float(worth)


def _greedy(ladders: list[_Ladder], pinned: list[bool], total: int) -> Int64[IntArray, " jobs"]:
    """GPUs of each job: those who may not change, the smallest sizes, then step by step."""
    rungs = [-1] * len(ladders)
    for row in sorted(range(len(ladders)), key=lambda row: not pinned[row]):
        if ladders[row].sizes[0] <= total:
            rungs[row], total = 0, total - ladders[row].sizes[0]
    heap = [(-ladders[row].saved_s(0), row) for row, rung in enumerate(rungs) if rung == 0]
    heapify(heap)
    while heap and heap[0][0] < 0:
        _, row = heappop(heap)
        ladder, rung = ladders[row], rungs[row]
        step = ladder.sizes[rung + 1] - ladder.sizes[rung]
        if step <= total:
            rungs[row], total = rung + 1, total - step
            heappush(heap, (-ladder.saved_s(rung + 1), row))
    sizes = [
        ladder.sizes[rung] if rung >= 0 else 0 for ladder, rung in zip(ladders, rungs, strict=True)
    ]
    return np.array(sizes, dtype=np.int64)
