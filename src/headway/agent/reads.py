"""How often a worker has read each sample of an epoch."""

from collections.abc import Callable
from typing import final

import numpy as np
from numpy.typing import NDArray

from headway.core.types import Int64, IntArray
from headway.protocol.messages import EpochCount

Counts = NDArray[np.int32]
_MOST_RANGES = 1024
_NOTHING = (-1, -1)


@final
class Reads:
    """Ranges of positions in the order of the epoch; samples are counted when somebody asks."""

    def __init__(self, samples: int, order: Callable[[], Int64[IntArray, " read"]]) -> None:
        """``order``: of the present epoch, of those that it reads."""
        self._counts: Counts = np.zeros(samples, dtype=np.int32)
        self._order = order
        self._ranges = [_NOTHING]  # that are not in the counts yet, after a first one
        self._begun = False  # the counts may be others than 0

    def begin_epoch(self) -> None:
        """Nothing is read yet."""
        self._ranges = [_NOTHING]
        if self._begun:
            self._counts[:] = 0
            self._begun = False

    def add(self, start: int, stop: int) -> None:
        """These positions were read for steps that were really made."""
        if start == self._ranges[-1][1]:
            self._ranges[-1] = self._ranges[-1][0], stop
            return
        self._ranges.append((start, stop))
        if len(self._ranges) > _MOST_RANGES:
            self._count()

    def _count(self) -> None:
        ranges, self._ranges, self._begun = self._ranges[1:], [_NOTHING], True
        if ranges == [(0, self._counts.size)]:
            self._counts += 1
            return
        for start, stop in ranges:
            self._counts[self._order()[start:stop]] += 1  # no index comes twice

    @property
    def counts(self) -> Counts:
        """How often this worker has read each sample in this epoch; may be written to."""
        self._count()
        return self._counts

    def of_epoch(self, epoch: int, samples: int, summed: Callable[[Counts], Counts]) -> EpochCount:
        """How often all workers have read the samples of an epoch, with ``summed`` over them."""
        counts = summed(self.counts)
        read = counts if samples == counts.size else counts[self._order()]
        least, most = (int(read.min()), int(read.max())) if read.size else (0, 0)
        return EpochCount(epoch=epoch, samples=samples, read_least=least, read_most=most)

    def of_epoch_alone(self, epoch: int, samples: int) -> EpochCount:
        """The same of one worker, who need not count where he has read them in one go."""
        if not self._begun and self._ranges[1:] == [(0, samples)]:
            return EpochCount(epoch=epoch, samples=samples, read_least=1, read_most=1)
        return self.of_epoch(epoch, samples, lambda counts: counts)
