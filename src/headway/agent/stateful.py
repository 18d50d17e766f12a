"""Loaders that batch, share out and remember by themselves: torchdata's protocol, and others'.

Such a loader hands each worker its own batches, so what is kept is what it says of itself, worker
by worker. Whether that means anything to another number of workers it alone knows, and says so by
an attribute ``elastic``; else the epoch is begun anew when their number changes.
"""

import io
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Protocol, final

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset

from headway.agent.checkpoint import check_plain
from headway.agent.context import Context
from headway.agent.data import Driver, ElasticLoader
from headway.agent.follower import shares
from headway.agent.job import MisuseError
from headway.agent.plan import Cursor, Pass
from headway.agent.reads import Counts
from headway.protocol.messages import EpochCount

Summed = Callable[[Tensor], Tensor]


class Source(Protocol):
    """What a loader of this kind offers."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any], /) -> object: ...


def is_stateful(source: object) -> bool:
    """Whether it has a state of its own, and no samples to be asked for by index."""
    whole = all(hasattr(source, name) for name in ("state_dict", "load_state_dict", "__iter__"))
    dataset = getattr(source, "dataset", source)
    indexed = hasattr(dataset, "__getitem__") and not isinstance(dataset, IterableDataset)
    return whole and not indexed and not hasattr(dataset, "seek")


@final
class StatefulLoader:
    """This worker's passes, as the source hands them out; whole steps only."""

    movable = False  # the source was made for one number of workers

    def __init__(
        self, source: Source, *, worker: int, workers: int, batch_size: int, most: int
    ) -> None:
        self.seed = 0
        self.counts: Counts = np.zeros(0, dtype=np.int32)  # nobody knows which samples they are
        self.source = source
        self.worker = worker
        self._workers = workers
        self._batch_size = batch_size
        self._here = shares(batch_size, workers, most)
        self._driver: Driver | None = None
        size = getattr(source, "batch_size", None)
        if size not in (None, self._here.per_worker):
            raise MisuseError(
                f"job.loader: the loader's batches are of {size}, but a worker's share of "
                f"{batch_size} is {self._here.per_worker} on {workers} workers: make it with "
                "batch_size=job.share(...)"
            )
        self.samples = 0  # of an epoch, once the workers have agreed

    def agree(self, summed: Summed) -> None:
        """A collective: the shortest loader ends the epoch for all."""
        lengths = torch.zeros(self._workers, dtype=torch.int64)
        try:
            lengths[self.worker] = len(self.source)
        except TypeError:
            raise MisuseError("job.loader: the loader does not say its length, len()") from None
        self.samples = int(summed(lengths).min()) // self._here.passes * self._batch_size

    def drive(self, driver: Driver) -> None:
        self._driver = driver

    def __len__(self) -> int:
        position = 0 if self._driver is None else self._driver.cursor.position
        return (self.samples - position) // self._batch_size * self._here.passes

    def __iter__(self) -> Iterator[Any]:
        driver = self._driver
        if driver is None:
            raise MisuseError("job.loader(...): iterate it inside `for epoch in job.epochs(n)`")
        if driver.cursor.position >= self.samples:  # a yield has cut the epoch at its very end
            return
        batches = iter(self.source)
        while driver.cursor.position < self.samples:
            for one in self._step(driver.cursor.position):
                driver.begin_pass(one)
                yield self._next(batches)
                driver.end_pass(one)
        for _ in batches:  # what another worker has no counterpart to; the source is at its end
            pass

    def _next(self, batches: Iterator[Any]) -> Any:
        for batch in batches:
            return batch
        raise MisuseError(f"job.loader: the loader ended before its {len(self.source)} batches")

    def made(self, step: list[Pass]) -> None:
        """Nothing to count."""

    def read(self, start: int, stop: int) -> None:
        """Nothing to count."""

    def begin_epoch(self) -> None:
        """Nothing to count."""

    def epoch_count(self, summed: Callable[[Counts], Counts]) -> EpochCount:
        """Nothing was counted."""
        epoch = 0 if self._driver is None else self._driver.cursor.epoch
        return EpochCount(epoch=epoch, samples=self.samples, read_least=0, read_most=0)

    def _step(self, position: int) -> Iterator[Pass]:
        size, passes = self._here.per_worker, self._here.passes
        start = position + self.worker * size * passes
        for index in range(passes):
            begin = start + index * size
            yield Pass(position, self._batch_size, index, passes, begin, begin + size)


AnyLoader = ElasticLoader | StatefulLoader


@final
class States:
    """What the loaders of all workers say of themselves, for the checkpoint."""

    def __init__(
        self, loader: StatefulLoader, summed: Summed, context: Context, cursor: Cursor
    ) -> None:
        self._loader = loader
        self._source = loader.source
        self._summed = summed
        self._worker = context.worker
        self._workers = context.workers
        self._cursor = cursor

    def state_dict(self) -> dict[str, Any]:
        """A collective; as bytes, which every worker can add up. Nothing between two epochs."""
        if self._cursor.position in (0, self._loader.samples):
            return {"states": []}
        state = self._source.state_dict()
        check_plain(state, "the loader's state_dict()")
        buffer = io.BytesIO()
        torch.save(state, buffer)
        mine = torch.frombuffer(bytearray(buffer.getvalue()), dtype=torch.uint8)
        sizes = torch.zeros(self._workers, dtype=torch.int64)
        sizes[self._worker] = mine.numel()
        sizes = self._summed(sizes)
        together = torch.zeros(self._workers, int(sizes.max()), dtype=torch.uint8)
        together[self._worker, : mine.numel()] = mine
        together = self._summed(together)
        return {"states": [one[:size] for one, size in zip(together, sizes.tolist(), strict=True)]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        states: list[Tensor] = state_dict["states"]
        if not states:
            return
        if len(states) != self._workers and not getattr(self._source, "elastic", False):
            warnings.warn(
                f"headway: the loader's state is of {len(states)} workers, each its own; on "
                f"{self._workers} the epoch is begun anew",
                stacklevel=2,
            )
            self._cursor.position = 0
            return
        mine = states[self._worker] if len(states) == self._workers else states[0]
        self._source.load_state_dict(
            torch.load(io.BytesIO(mine.numpy().tobytes()), weights_only=True)
        )
