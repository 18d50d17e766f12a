"""The elastic loader with a driver that yields and resizes at will, and what it refuses."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    TensorDataset,
    WeightedRandomSampler,
)

from headway.agent.data import ElasticLoader, as_loader
from headway.agent.job import MisuseError
from headway.agent.plan import Cursor, Pass, Split


class YieldedError(Exception):
    """The worker leaves at a step boundary."""


class Driver:
    """Moves on at the last pass of a step; yields after so many steps."""

    def __init__(self, loader: ElasticLoader, split: Split, position: int, steps: int) -> None:
        self.split, self.cursor = split, Cursor(position=position)
        self.halve_every, self.steps = 0, 0
        self.ended, self._left, self._made = 0, steps, list[Pass]()
        self._loader = loader
        self._began: tuple[Split, int] | None = None
        loader.drive(self)

    def begin_pass(self, one: Pass) -> None:
        self._made = [*self._made, one] if one.index else [one]
        self._began = self._began or (self.split, self.halve_every)

    def end_pass(self, one: Pass) -> bool:
        if not one.last:
            return False
        self._loader.made(self._made)
        self.cursor.position += one.step_size
        self.steps += 1
        self._left -= 1
        if self._left == 0:
            raise YieldedError
        before, self._began = self._began, (self.split, self.halve_every)
        return before != self._began

    def end_epoch(self) -> None:
        self.ended += 1


def numbers(samples: int) -> TensorDataset:
    return TensorDataset(torch.arange(samples))


def elastic(samples: int, worker: int = 0, **more: bool) -> ElasticLoader:
    source = DataLoader(numbers(samples), batch_size=8, **{"shuffle": True, **more})
    return ElasticLoader(source, seed=3, worker=worker, initial_batch_size=8)


@settings(max_examples=30)
@given(
    samples=st.integers(1, 60),
    sequence=st.lists(
        st.tuples(st.integers(1, 3), st.integers(1, 20), st.integers(1, 9), st.integers(1, 4)),
        max_size=5,
    ),
)
def test_what_is_read_and_what_is_counted_is_each_sample_once(
    samples: int, sequence: list[tuple[int, int, int, int]]
) -> None:
    position, read = 0, list[int]()
    counts = np.zeros(samples, dtype=np.int32)
    for workers, batch_size, per_pass, steps in [*sequence, (2, 8, 8, -1)]:
        split, reached = Split(batch_size, workers, per_pass), position
        for worker in range(workers):
            loader = elastic(samples, worker)
            driver = Driver(loader, split, position, steps)
            pending = list[int]()
            try:
                for (batch,) in loader:
                    idle = driver._made[-1].samples == 0
                    pending += [] if idle else batch.tolist()
            except YieldedError:
                assert driver.steps == steps
            read += pending
            counts += loader.counts
            reached = max(reached, driver.cursor.position)
        position = reached
    assert position == samples
    assert np.all(counts == 1)
    assert sorted(read) == list(range(samples))


def test_a_yield_in_the_middle_of_a_step_counts_nothing_of_it() -> None:
    loader = elastic(32)
    driver = Driver(loader, Split(16, 1, 4), 0, steps=-1)
    passes: Iterator[list[Tensor]] = iter(loader)
    for _ in range(6):  # a step of four passes, and two of the next
        next(passes)
    assert driver.cursor.position == 16
    assert loader.counts.sum() == 16


def test_an_idle_worker_still_gets_something_to_compute_on() -> None:
    """AdaptDL's padding raised IndexError for tiny data sets."""
    loader = elastic(1, worker=3)
    Driver(loader, Split(8, 4, 2), 0, steps=-1)
    ((batch,),) = loader
    assert batch.tolist() == [0]
    assert loader.counts.sum() == 0


def test_a_new_split_takes_effect_at_the_next_step() -> None:
    loader = elastic(24)
    driver = Driver(loader, Split(8, 1, 4), 0, steps=-1)
    sizes = []
    for (batch,) in loader:
        sizes.append(len(batch))
        driver.split = Split(16, 1, 16)
    assert sizes == [4, 4, 16]
    assert driver.ended == 1
    assert driver.cursor.position == 24


def test_steps_made_in_two_halves_read_the_same_samples() -> None:
    loader = elastic(40)
    driver = Driver(loader, Split(8, 1, 8), 0, steps=-1)
    driver.halve_every = 2
    sizes = []
    for (batch,) in loader:
        sizes.append(len(batch))
        if len(sizes) == 4:
            driver.halve_every = 4  # from the next step on; the third step is not one in four
    assert sizes == [4, 4, 8, 4, 4, 8, 4, 4]
    assert np.all(loader.counts == 1)


def test_order_and_tail_of_the_users_loader_are_kept() -> None:
    loader = elastic(20, shuffle=False)
    Driver(loader, Split(8, 1, 8), 0, steps=-1)
    assert [batch.tolist() for (batch,) in loader] == [
        list(range(8)),
        list(range(8, 16)),
        list(range(16, 20)),
    ]
    loader = elastic(20, shuffle=False, drop_last=True)
    Driver(loader, Split(16, 1, 16), 0, steps=-1)
    assert [len(batch) for (batch,) in loader] == [16]
    assert loader.samples == 16


def test_its_length_is_the_passes_still_to_come() -> None:
    loader = elastic(20)
    driver = Driver(loader, Split(8, 1, 4), 0, steps=-1)
    assert len(loader) == len(list(loader)) == 5
    driver.cursor.position = 8
    assert len(loader) == 3


def test_loader_workers_of_the_user_are_kept() -> None:
    source = DataLoader(numbers(12), batch_size=8, num_workers=1, shuffle=True)
    loader = ElasticLoader(source, seed=3, worker=0, initial_batch_size=8)
    Driver(loader, Split(8, 1, 8), 0, steps=-1)
    assert sorted(int(x) for (batch,) in loader for x in batch) == list(range(12))


class AtOnce:
    """A data set that reads a batch in one go, as some of Hugging Face's do."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> int:
        raise AssertionError("one by one")

    def __getitems__(self, indices: list[int]) -> list[int]:
        return [10 * index for index in indices]


def listed(samples: list[int]) -> list[int]:
    return samples


@pytest.mark.parametrize("own", [{}, {"num_workers": 1}], ids=["here", "by a worker"])
def test_a_batch_is_read_at_once_and_collated_as_the_user_has_it(own: dict[str, int]) -> None:
    """Without loader workers no DataLoader is in between; the script must not see that."""
    source: DataLoader[int] = DataLoader(
        AtOnce(),  # type: ignore[arg-type]
        batch_size=8,
        shuffle=False,
        collate_fn=listed,
        **own,
    )
    loader = ElasticLoader(source, seed=3, worker=0, initial_batch_size=8)
    Driver(loader, Split(8, 1, 8), 0, steps=-1)
    assert list(loader) == [list(range(0, 80, 10)), list(range(80, 120, 10))]


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


@pytest.mark.parametrize(
    ("source", "batch_size", "said"),
    [
        (Stream(), 8, "iterable"),
        (DataLoader(Stream(), batch_size=8), None, "iterable"),
        (iter(()), 8, "a tuple_iterator is no data set"),
        (numbers(9), None, "give batch_size"),
        (DataLoader(numbers(9), batch_size=None), None, "batch_sampler"),
        (
            DataLoader(
                numbers(9), batch_sampler=BatchSampler(SequentialSampler(range(9)), 2, False)
            ),
            None,
            "batch_sampler",
        ),
        (DataLoader(numbers(9), batch_size=3), 4, "leave batch_size away"),
        (
            DataLoader(numbers(9), batch_size=3, sampler=WeightedRandomSampler([1.0] * 9, 9)),
            None,
            "WeightedRandomSampler",
        ),
    ],
    ids=[
        "stream",
        "loader of a stream",
        "other",
        "no size",
        "no batches",
        "own batches",
        "two",
        "sampler",
    ],
)
def test_what_cannot_be_kept_through_a_resize_is_refused(
    source: Dataset[int] | DataLoader[int], batch_size: int | None, said: str
) -> None:
    with pytest.raises(MisuseError, match=said):
        as_loader(source, batch_size)
