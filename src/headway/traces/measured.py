"""A profile made of measurements: step times by placement and batch, noise scale by epoch."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from headway.core.types import BatchContract, Float64, FloatArray
from headway.traces.base import Shape

MAX_NOISE_SCALE = 1e9  # a gradient of zero has no noise scale; beyond this efficiency is 1


@dataclass(frozen=True)
class Curve:
    """Times against the per-GPU batch, linear between what was measured and along the last line."""

    batches: Float64[FloatArray, " points"]  # ascending
    step_s: Float64[FloatArray, " points"]  # with synchronisation
    sync_s: Float64[FloatArray, " points"]

    def at(
        self, batches: Float64[FloatArray, " batches"]
    ) -> tuple[Float64[FloatArray, " batches"], Float64[FloatArray, " batches"]]:
        """Seconds of a pass without and with synchronisation."""
        step_s = _line(self.batches, self.step_s, batches)
        sync_s = np.maximum(_line(self.batches, self.sync_s, batches), 0.0)
        return np.maximum(step_s - sync_s, 1e-6), np.maximum(step_s, 1e-6)

    def covers(self, batch: float) -> bool:
        """Whether the batch lies between two that were measured."""
        return bool(self.batches[0] <= batch <= self.batches[-1])


def _line(
    xs: Float64[FloatArray, " points"],
    ys: Float64[FloatArray, " points"],
    at: Float64[FloatArray, " batches"],
) -> Float64[FloatArray, " batches"]:
    """Linear between the points and, outside of them, along the nearest two."""
    if len(xs) == 1:
        return np.full(len(at), ys[0])
    left = np.clip(np.searchsorted(xs, at) - 1, 0, len(xs) - 2)
    slope = (ys[left + 1] - ys[left]) / (xs[left + 1] - xs[left])
    values: FloatArray = ys[left] + slope * (at - xs[left])
    return values


def canonical(shape: Shape) -> Shape:
    """The smallest rotation: workers talk in a ring, so where it starts does not matter."""
    return min(shape[turn:] + shape[:turn] for turn in range(len(shape)))


@final
@dataclass(frozen=True)
class MeasuredProfile:
    """Interpolates inside what was measured, and says when it is asked for more.

    A shape that was measured is read off its own curve. Any other is interpolated in the number of
    nodes and in the GPUs on each: linear in both, between the nearest that were measured. With more
    GPUs on a node than were measured nothing takes less time than with the most that were.
    """

    name: str
    contract: BatchContract
    max_gpus: int
    work_examples: float
    epoch_ends: tuple[float, ...]
    shapes: Mapping[Shape, Curve]  # by canonical shape
    sizes: Mapping[tuple[int, int], Curve]  # by (nodes, GPUs)
    noise: Float64[FloatArray, "epochs sizes"]
    noise_batch_sizes: tuple[int, ...]  # ascending

    def times_s(
        self, shape: Shape, batches_per_gpu: Float64[FloatArray, " batches"]
    ) -> tuple[Float64[FloatArray, " batches"], Float64[FloatArray, " batches"]]:
        """Seconds of a pass without and with the synchronisation of gradients."""
        curve = self.shapes.get(canonical(shape))
        if curve is not None:
            return curve.at(batches_per_gpu)
        nodes, gpus = len(shape), sum(shape)
        times = self._between(nodes, gpus, batches_per_gpu)
        if gpus > nodes * self._most_per_node:
            widest = self._between(nodes, nodes * self._most_per_node, batches_per_gpu)
            times = np.maximum(times, widest)
        # along a line beyond the edge a time could fall; a step is never shorter than its pass
        pass_s = np.maximum(times[0], 1e-6)
        return pass_s, np.maximum(times[1], pass_s)

    def _between(
        self, nodes: int, gpus: int, batches_per_gpu: Float64[FloatArray, " batches"]
    ) -> Float64[FloatArray, "times batches"]:
        """Seconds of a pass without and with synchronisation, from the nearest sizes."""
        times = np.zeros((2, len(batches_per_gpu)))
        for weight, size in self._neighbours(nodes, gpus):
            times += weight * np.array(self.sizes[size].at(batches_per_gpu))
        return times

    def measured(self, shape: Shape, batch_per_gpu: float) -> bool:
        """Whether this lies inside what was measured."""
        curve = self.shapes.get(canonical(shape))
        if curve is not None:
            return curve.covers(batch_per_gpu)
        return all(
            0.0 <= weight <= 1.0 and self.sizes[size].covers(batch_per_gpu)
            for weight, size in self._neighbours(len(shape), sum(shape))
        )

    def noise_scales(
        self, batch_sizes: Float64[FloatArray, " batches"]
    ) -> Float64[FloatArray, "epochs batches"]:
        """Log-linear in the batch size between those of the runs, constant outside of them."""
        at = np.log(batch_sizes)
        runs = np.log(np.array(self.noise_batch_sizes, dtype=np.float64))
        logs = np.log(self.noise)
        found: FloatArray = np.exp(np.array([np.interp(at, runs, epoch) for epoch in logs]))
        return found

    @cached_property
    def _most_per_node(self) -> int:
        """GPUs of the widest node that was measured, rounded up."""
        return max(-(-gpus // nodes) for nodes, gpus in self.sizes)

    @cached_property
    def _by_nodes(self) -> dict[int, list[int]]:
        """GPU counts that were measured, by the number of nodes, both ascending."""
        found: dict[int, list[int]] = {}
        for nodes, gpus in sorted(self.sizes):
            found.setdefault(nodes, []).append(gpus)
        return found

    def _neighbours(self, nodes: int, gpus: int) -> list[tuple[float, tuple[int, int]]]:
        """Sizes that were measured with the weight of each; outside, one weight is negative."""
        per_node = gpus / nodes
        return [
            (outer * inner, (near, count))
            for outer, near in _weights(list(self._by_nodes), nodes)
            for inner, count in _weights(self._by_nodes[near], per_node * near)
            if outer * inner != 0.0
        ]


def _weights(xs: Sequence[int], x: float) -> list[tuple[float, int]]:
    """The two points of a line through ``x`` and the weight of each."""
    if len(xs) == 1:
        return [(1.0, xs[0])]
    left = min(max(bisect_left(xs, x) - 1, 0), len(xs) - 2)
    share = (x - xs[left]) / (xs[left + 1] - xs[left])
    return [(1.0 - share, xs[left]), (share, xs[left + 1])]
