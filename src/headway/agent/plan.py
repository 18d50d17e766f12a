"""Which samples each worker reads in each pass: arithmetic, without torch.

The order of an epoch depends on the seed and the epoch alone. A step takes the next M samples of
it, whatever the number of workers, so any sequence of sizes reads every sample exactly once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from headway.core.types import Int64, IntArray


def epoch_order(
    samples: int, *, epoch: int, seed: int, shuffled: bool
) -> Int64[IntArray, " samples"]:
    """The order in which one epoch reads the data set."""
    if not shuffled:
        return np.arange(samples, dtype=np.int64)
    key = [seed, epoch]
    short = min(key) >= 0 and max(key) < 1 << 32  # numpy takes long to see that a list is
    rng = np.random.default_rng(np.array(key, dtype=np.uint32) if short else key)
    return rng.permutation(samples).astype(np.int64, copy=False)


@final
class Orders:
    """The order of each epoch of a data set.

    Of a small one several are drawn in a row: the first takes several times as long as those that
    follow, and an epoch of a tenth of a second would notice.
    """

    def __init__(self, samples: int, *, seed: int, shuffled: bool) -> None:
        self._samples, self._seed, self._shuffled = samples, seed, shuffled
        self._ready: dict[int, Int64[IntArray, " samples"]] = {}

    def of(self, epoch: int) -> Int64[IntArray, " samples"]:
        """As ``epoch_order`` has it."""
        if epoch not in self._ready:
            ahead = max(_READY // max(self._samples, 1), 1) if self._shuffled else 1
            self._ready.clear()  # of a huge data set there is room for one
            self._ready = {
                one: epoch_order(self._samples, epoch=one, seed=self._seed, shuffled=self._shuffled)
                for one in range(epoch, epoch + min(ahead, _MOST_READY))
            }
        return self._ready[epoch]


_READY, _MOST_READY = 1 << 14, 16  # indices of epochs to come, and epochs
_AT_ONCE = 32  # steps; ready code that runs in a row takes a fraction of what it takes in between


@dataclass(frozen=True, slots=True)
class Split:
    """How a step is shared out: M samples over K workers, at most m of them in a pass."""

    batch_size: int
    workers: int
    batch_per_gpu: int

    @property
    def accum_steps(self) -> int:
        return self.passes(self.batch_size) - 1

    def passes(self, samples: int) -> int:
        """Passes that every worker makes for a step of this many samples."""
        return max(1, -(-samples // (self.workers * self.batch_per_gpu)))


@dataclass(frozen=True, slots=True)
class Pass:
    """One worker's part of one pass; positions are in the order of the epoch."""

    step_start: int
    step_size: int  # samples of the whole step, over all workers and passes
    index: int
    passes: int
    start: int
    stop: int
    halved: bool = False  # one pass would do, two measure the noise

    @property
    def samples(self) -> int:
        """May be 0: the worker then goes through the motions with a gradient that counts 0."""
        return self.stop - self.start

    @property
    def last(self) -> bool:
        return self.index == self.passes - 1


@dataclass(slots=True)
class Cursor:
    """How far the training is."""

    epoch: int = 0
    position: int = 0  # samples of the epoch whose steps are made
    samples: int = 0  # of all epochs
    progress_examples: float = 0.0  # scale-invariant
    total_examples: float = 0.0  # to do; 0 while it is not known

    def move(self, samples: int, worth: float) -> None:
        """A step was made with these samples."""
        self.position += samples
        self.samples += samples
        self.progress_examples += worth


def part(start: int, stop: int, parts: int, index: int) -> tuple[int, int]:
    """The index-th of ``parts`` pieces whose sizes differ by at most one, the larger ones first."""
    samples = stop - start
    return start - (-samples * index // parts), start - (-samples * (index + 1) // parts)


def passes_from(
    position: int,
    samples: int,
    worker: int,
    split: Split,
    *,
    halve_every: int = 0,
    step: int = 0,
) -> Iterator[Pass]:
    """The passes of one worker from a position to the end of the epoch.

    ``halve_every``: one step in so many that needs one pass is made in two; ``step`` counts them.
    """
    while position < samples:
        made = []
        for _ in range(_AT_ONCE):
            size = min(split.batch_size, samples - position)
            halves = halve_every > 0 and step % halve_every == 0
            passes, halved, shares = _shares(size, split, worker, halves)
            for index, (start, stop) in enumerate(shares):
                made.append(
                    Pass(position, size, index, passes, position + start, position + stop, halved)
                )
            position += size
            step += 1
            if position >= samples:
                break
        yield from made


@lru_cache(maxsize=256)
def _shares(
    size: int, split: Split, worker: int, halves: bool
) -> tuple[int, bool, tuple[tuple[int, int], ...]]:
    """Passes of a step of so many samples, whether it is halved, and what a worker reads in each,
    counted from where the step starts."""
    passes = split.passes(size)
    halved = halves and passes == 1 < size
    passes = 2 if halved else passes
    mine = part(0, size, split.workers, worker)
    return passes, halved, tuple(part(*mine, passes, index) for index in range(passes))


@lru_cache(maxsize=256)
def micro_batches(step_size: int, workers: int, passes: int) -> tuple[int, float]:
    """Passes of a step that read samples at all, over all workers, and the harmonic mean of
    their sizes: the size at which the mean squared norm of their gradients is measured."""
    sizes = []
    for worker in range(workers):
        mine = part(0, step_size, workers, worker)
        sizes += [part(*mine, passes, index) for index in range(passes)]
    read = [stop - start for start, stop in sizes if stop > start]
    return len(read), len(read) / sum(1 / size for size in read)
