"""How much of a cluster was held over time, as a line of blocks."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self, final

import numpy as np

from headway.core.control.events import Event
from headway.core.metrics import Meter
from headway.core.types import Float64, FloatArray

BLOCKS = " ▁▂▃▄▅▆▇█"
WIDTH = 60


@final
@dataclass(slots=True)
class Usage:
    """Reads a log once and keeps a point for every change of the GPUs held or there."""

    _meter: Meter = field(default_factory=Meter)
    _since_s: list[float] = field(default_factory=list)
    _held: list[int] = field(default_factory=list)
    _gpus: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        """The usage of a whole log."""
        usage = cls()
        for event in events:
            usage.add(event)
        return usage

    def add(self, event: Event) -> None:
        """Take the next event."""
        self._meter.add(event)
        held, gpus = self._meter.held_gpus, self._meter.gpus
        if self._since_s and (self._held[-1], self._gpus[-1]) == (held, gpus):
            return
        self._since_s.append(self._meter.now_s - self._meter.start_s)
        self._held.append(held)
        self._gpus.append(gpus)

    @property
    def length_s(self) -> float:
        """From the first event to the last."""
        return self._meter.now_s - self._meter.start_s

    def shares(self, until_s: float, buckets: int) -> Float64[FloatArray, " buckets"]:
        """GPU-seconds held over GPU-seconds there, in equal parts of the time up to ``until_s``."""
        edges_s = np.linspace(0.0, until_s, buckets + 1)
        held_gpu_s = np.diff(self._until(edges_s, self._held))
        there_gpu_s = np.diff(self._until(edges_s, self._gpus))
        none: FloatArray = np.zeros(buckets)
        return np.divide(held_gpu_s, there_gpu_s, out=none, where=there_gpu_s > 0)

    def means(self, until_s: float, buckets: int) -> Float64[FloatArray, "two buckets"]:
        """GPUs held and GPUs there on average, in equal parts of the time up to ``until_s``."""
        edges_s = np.linspace(0.0, until_s, buckets + 1)
        areas = [np.diff(self._until(edges_s, levels)) for levels in (self._held, self._gpus)]
        means: FloatArray = np.array(areas) / (until_s / buckets)
        return means

    def chart(self, until_s: float, width: int = WIDTH) -> str:
        """A block for each part of the time; an empty one where nothing was held."""
        if until_s <= 0:
            return BLOCKS[0] * width
        levels = np.ceil(self.shares(until_s, width) * (len(BLOCKS) - 1) - 1e-9)
        return "".join(BLOCKS[min(int(level), len(BLOCKS) - 1)] for level in levels)

    def _until(
        self, times_s: Float64[FloatArray, " times"], levels: list[int]
    ) -> Float64[FloatArray, " times"]:
        """The integral of a step function from 0 to each time; nothing is held after the log."""
        since_s = np.array([*self._since_s, self.length_s])
        areas = np.diff(since_s) * np.array(levels, dtype=np.float64)
        sums: FloatArray = np.interp(times_s, since_s, np.concatenate([[0.0], np.cumsum(areas)]))
        return sums
