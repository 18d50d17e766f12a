"""The elastic loader: what each worker reads, whatever the number of workers and the batch size.

Positions are counted in samples and move when a step was really made, so what a worker had
fetched when it yielded is read again by whoever goes on.
"""

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import tee
from typing import Any, Protocol, final

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

from headway.agent.job import MisuseError
from headway.agent.plan import Cursor, Orders, Pass, Split, passes_from
from headway.agent.reads import Counts, Reads
from headway.agent.rng import seed_of
from headway.agent.stream import STAND_INS, Positioned, fetcher
from headway.core.types import Int64, IntArray
from headway.protocol.messages import EpochCount

_AT_ONCE = 4096  # indices made ready for the sampler


class Driver(Protocol):
    """Who moves through the data: the loop."""

    @property
    def split(self) -> Split:
        """How steps are shared out now; a new value takes effect at the next step."""
        ...

    @property
    def halve_every(self) -> int:
        """One step in so many is made in two passes; 0: none."""
        ...

    @property
    def steps(self) -> int:
        """Steps made so far."""
        ...

    @property
    def cursor(self) -> Cursor:
        """How far the training is."""
        ...

    def begin_pass(self, one: Pass) -> None: ...

    def end_pass(self, one: Pass) -> bool:
        """The script asks for the next pass. Says whether the passes after this one have another
        shape from here on; does not return where the worker yields."""
        ...

    def end_epoch(self) -> None: ...


@final
class ElasticLoader:
    """Yields this worker's passes, one batch of the user's DataLoader a pass."""

    movable = True  # can go on as the loader of another worker among others

    def __init__(
        self, source: DataLoader[Any], *, seed: int, worker: int, initial_batch_size: int
    ) -> None:
        self._source = source
        self.seed = seed
        self.worker = worker
        dataset: Any = source.dataset
        everything = len(dataset)
        dropped = everything % initial_batch_size if source.drop_last else 0
        self.samples = everything - dropped  # read in an epoch
        self._orders = Orders(everything, seed=seed, shuffled=_is_shuffled(source))
        self._reads = Reads(everything, self._in_order)
        self._driver: Driver | None = None
        self._ahead = _Batches()
        self._rng = torch.Generator()

    def drive(self, driver: Driver) -> None:
        """Say who moves through the data."""
        self._driver = driver

    def __len__(self) -> int:
        """Passes from the present position to the end of the epoch, at the present batch size."""
        driver = self._driven()
        samples, split = self.samples - driver.cursor.position, driver.split
        steps, rest = divmod(samples, split.batch_size)
        return steps * split.passes(split.batch_size) + (split.passes(rest) if rest else 0)

    def __iter__(self) -> Iterator[Any]:
        driver = self._driven()
        while driver.cursor.position < self.samples:
            passes, batches = self._fetched()
            for one in passes:
                driver.begin_pass(one)
                yield next(batches)
                if driver.end_pass(one):
                    break
        driver.end_epoch()

    def made(self, step: list[Pass]) -> None:
        """A step was really made with these passes of this worker: count what was read."""
        for one in step:
            self.read(one.start, one.stop)

    def read(self, start: int, stop: int) -> None:
        """These positions were read for steps that were really made."""
        self._reads.add(start, stop)

    @property
    def counts(self) -> Counts:
        """How often this worker has read each sample in this epoch; may be written to."""
        return self._reads.counts

    def begin_epoch(self) -> None:
        """Nothing of it is read yet."""
        self._reads.begin_epoch()

    def epoch_count(self, summed: Callable[[Counts], Counts]) -> EpochCount:
        """How often the samples of this epoch were read, by all workers."""
        driver = self._driven()
        epoch = driver.cursor.epoch
        if driver.split.workers == 1:
            return self._reads.of_epoch_alone(epoch, self.samples)
        return self._reads.of_epoch(epoch, self.samples, summed)

    def _in_order(self) -> Int64[IntArray, " samples"]:
        return self._orders.of(self._driven().cursor.epoch)[: self.samples]

    def _plan(self) -> Callable[[], Iterator[Pass]]:
        """The passes to the end of the epoch, as things stand now."""
        driver = self._driven()
        return partial(
            passes_from,
            driver.cursor.position,
            self.samples,
            self.worker,
            driver.split,
            halve_every=driver.halve_every,
            step=driver.steps,
        )

    def _batches(self, passes: Iterator[Pass]) -> Iterator[list[int]]:
        order = self._in_order()
        first, ready = 0, order[:STAND_INS].tolist()
        for one in passes:
            if one.stop > first + len(ready):
                first = one.start
                ready = order[first : max(one.stop, first + _AT_ONCE)].tolist()
            yield ready[one.start - first : one.stop - first] or order[:STAND_INS].tolist()

    def _fetched(self) -> tuple[Iterator[Pass], Iterator[Any]]:
        """The passes to the end of the epoch, and what the user's DataLoader makes of them."""
        plan, epoch = self._plan(), self._driven().cursor.epoch
        if isinstance(self._source.dataset, IterableDataset):
            self._seed()
            return plan(), iter(fetcher(self._source, plan, epoch, self._options()))
        ahead, passes = tee(plan())
        self._ahead.batches = self._batches(ahead)
        if self._source.num_workers or self._source.pin_memory:
            self._seed()
            return passes, iter(self._fetcher)
        return passes, self._read(self._ahead.batches)

    def _seed(self) -> None:
        """What a DataLoader draws, for its processes to begin with."""
        cursor = self._driven().cursor
        self._rng.manual_seed(seed_of(self.seed, cursor.epoch, cursor.position, self.worker))

    def _read(self, batches: Iterator[list[int]]) -> Iterator[Any]:
        """What a DataLoader without workers makes of these, less its notes for profilers: they
        alone take a hundredth of a step of two milliseconds."""
        dataset: Any = self._source.dataset
        collate, at_once = self._source.collate_fn, getattr(dataset, "__getitems__", None)
        for batch in batches:
            yield collate(at_once(batch) if at_once else [dataset[index] for index in batch])

    @cached_property
    def _fetcher(self) -> DataLoader[Any]:
        """The user's DataLoader with our batches in place of its own."""
        source = self._source
        return DataLoader(
            source.dataset,
            batch_sampler=self._ahead,
            collate_fn=source.collate_fn,
            **self._options(),
        )

    def _options(self) -> dict[str, Any]:
        """Of the user's DataLoader, but what it reads."""
        source = self._source
        return {
            "num_workers": source.num_workers,
            "pin_memory": source.pin_memory,
            "timeout": source.timeout,
            "worker_init_fn": source.worker_init_fn,
            "multiprocessing_context": source.multiprocessing_context,
            "generator": self._rng,  # leaves the script's own alone
            "prefetch_factor": source.prefetch_factor,
        }

    def _driven(self) -> Driver:
        if self._driver is None:
            raise MisuseError("job.loader(...): iterate it inside `for epoch in job.epochs(n)`")
        return self._driver


@final
class _Batches(Sampler[list[int]]):
    """Lists of indices for one pass through a DataLoader."""

    batches: Iterator[list[int]] = iter(())

    def __iter__(self) -> Iterator[list[int]]:
        return self.batches


def as_loader(source: Dataset[Any] | DataLoader[Any], batch_size: int | None) -> DataLoader[Any]:
    """What the user gave as a DataLoader.

    Raises:
        MisuseError: it cannot be read elastically, or its batch size is not known.
    """
    dataset: Any = source.dataset if isinstance(source, DataLoader) else source
    iterable = isinstance(dataset, IterableDataset)
    if iterable and not isinstance(dataset, Positioned):
        raise MisuseError(
            "job.loader: an iterable data set has no order to keep, unless it has __len__() and "
            "seek(epoch, position)"
        )
    if not iterable and not hasattr(dataset, "__getitem__"):
        raise MisuseError(
            f"job.loader: a {type(dataset).__name__} is no data set: give the data set that it "
            "reads, whose samples are then shared out over any number of workers"
        )
    if not isinstance(source, DataLoader):
        if batch_size is None:
            raise MisuseError("job.loader(dataset): give batch_size, the global batch")
        return DataLoader(source, batch_size=batch_size, shuffle=None if iterable else True)
    batches = source.batch_sampler
    plain = type(batches) is BatchSampler or _is_torchdatas(batches, BatchSampler)
    if source.batch_size is None or not plain:
        raise MisuseError("job.loader(loader): a batch_sampler of your own cannot be resized")
    if batch_size is not None and batch_size != source.batch_size:
        raise MisuseError(
            f"job.loader(loader, batch_size={batch_size}): the DataLoader says "
            f"{source.batch_size}; leave batch_size away"
        )
    _is_shuffled(source)
    return source


def _is_shuffled(source: DataLoader[Any]) -> bool:
    """Whether the order is random; only plain orders can be kept through a resize."""
    sampler = source.sampler
    if isinstance(sampler, SequentialSampler) or isinstance(source.dataset, IterableDataset):
        return False
    random: Any = sampler
    known = isinstance(sampler, RandomSampler) or _is_torchdatas(sampler, RandomSampler)
    if known and not random.replacement:
        return True
    raise MisuseError(f"job.loader(loader): a {type(sampler).__name__} cannot be resized")


def _is_torchdatas(sampler: object, kind: type) -> bool:
    """Whether it is what a StatefulDataLoader has in place of torch's sampler of that name."""
    where, name = type(sampler).__module__, type(sampler).__name__
    return where.startswith("torchdata.stateful_dataloader.") and name == kind.__name__
