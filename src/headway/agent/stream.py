"""Iterable data sets that declare their position: read elastically, sample-exact, by slices.

Such a data set yields the samples of an epoch in one order, the same in every process, and begins
where it is told. A worker reads its own slice of each step and passes over the others'.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Protocol, final, runtime_checkable

from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from headway.agent.plan import Pass

STAND_INS = 2  # samples that an idle worker computes on for nothing; normalisation needs two
NEAR = 64  # samples that are read and dropped rather than sought


@runtime_checkable
class Positioned(Protocol):
    """What an iterable data set must offer."""

    def __len__(self) -> int:
        """Samples of an epoch, all of them."""
        ...

    def seek(self, epoch: int, position: int) -> None:
        """Let the next iteration begin at this sample of the epoch's one order.

        No share of a worker's, of the job or of the loader: that is seen to here.
        """
        ...

    def __iter__(self) -> Iterator[Any]: ...


@final
class Slices(IterableDataset[Any]):
    """Batches of one worker, one a pass, read from a positioned data set.

    The loader's own processes take turns; each passes over what the others read.
    """

    def __init__(
        self,
        source: Positioned,
        passes: Callable[[], Iterator[Pass]],
        together: Callable[[list[Any]], Any],
        epoch: int,
    ) -> None:
        self._source = source
        self._passes = passes
        self._together = together
        self._epoch = epoch

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        mine, turns = (0, 1) if info is None else (info.id, info.num_workers)
        reader = Reader(self._source, self._epoch)
        for one in islice(self._passes(), mine, None, turns):
            start, count = (one.start, one.samples) if one.samples else (0, STAND_INS)
            yield self._together(reader.read(start, count))


class Reader:
    """Reads slices of an epoch, forward without a seek where they are near."""

    def __init__(self, source: Positioned, epoch: int) -> None:
        self._source = source
        self._epoch = epoch
        self._at = -1
        self._samples: Iterator[Any] = iter(())

    def read(self, start: int, count: int) -> list[Any]:
        """``count`` samples from ``start`` on; fewer at the end of the data."""
        if not 0 <= start - self._at <= NEAR or self._at < 0:
            self._source.seek(self._epoch, start)
            self._samples, self._at = iter(self._source), start
        for _ in islice(self._samples, start - self._at):
            pass
        found = list(islice(self._samples, count))
        self._at = start + len(found)
        return found


def fetcher(
    source: DataLoader[Any],
    passes: Callable[[], Iterator[Pass]],
    epoch: int,
    options: dict[str, Any],
) -> DataLoader[Any]:
    """The user's DataLoader over the slices of these passes."""
    dataset: Any = source.dataset
    slices = Slices(dataset, passes, source.collate_fn, epoch)
    return DataLoader(slices, batch_size=None, collate_fn=_as_it_is, **options)


@final
class Epochs:
    """A positioned data set without a scheduler: each iteration is the running epoch, whole."""

    def __init__(self, loader: DataLoader[Any], epoch: Callable[[], int]) -> None:
        self._loader = loader
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        dataset: Any = self._loader.dataset
        dataset.seek(self._epoch(), 0)
        return iter(self._loader)


def _as_it_is(batch: Any) -> Any:
    return batch
