"""The trajectory of a job that changes its batch size by epoch: a truth that no policy is told."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """Batch sizes from start to end, in stages; a stage begins with a whole epoch.

    An epoch is ``samples_per_epoch`` examples in steps of one batch each, the last of them short
    but as long as the others: so a step counts for a share of an epoch, and no epoch is rounded.
    """

    epochs: float  # to the end; the last one may be a part
    samples_per_epoch: int
    stages: tuple[tuple[int, int], ...]  # (first epoch, global batch size), from epoch 0

    @classmethod
    def of(cls, batch_sizes: Sequence[int], *, epochs: float, samples_per_epoch: int) -> Self:
        """From the batch size of each epoch."""
        stages, first = [], 0
        for size, run in groupby(batch_sizes):
            stages.append((first, size))
            first += len(list(run))
        return cls(epochs=epochs, samples_per_epoch=samples_per_epoch, stages=tuple(stages))

    @property
    def work_examples(self) -> float:
        """Examples from start to end."""
        return self.epochs * self.samples_per_epoch

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """One for each stage."""
        return tuple(size for _, size in self.stages)

    @cached_property
    def stage_epochs(self) -> tuple[float, ...]:
        """Epochs of each stage; they sum to ``epochs``."""
        firsts = [float(first) for first, _ in self.stages]
        return tuple(end - first for first, end in pairwise([*firsts, self.epochs]))

    @cached_property
    def stage_ends(self) -> tuple[float, ...]:
        """Examples read when each stage ends."""
        firsts = [first * self.samples_per_epoch for first, _ in self.stages[1:]]
        return (*map(float, firsts), self.work_examples)

    def steps_per_epoch(self, batch_size: int) -> int:
        """The last step of an epoch may be short; it takes as long as any."""
        return math.ceil(self.samples_per_epoch / batch_size)

    def rate_per_s(self, batch_size: int, step_s: float) -> float:
        """Examples of progress a second."""
        return self.samples_per_epoch / (self.steps_per_epoch(batch_size) * step_s)
