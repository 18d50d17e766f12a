"""Loaders with a state of their own: exact at the same size, and at others where they say so."""

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn
from torch.utils.data import IterableDataset

import headway.agent as headway
from headway.agent.stateful import is_stateful
from headway.core.types import BatchMode
from headway.protocol.environment import YIELDED

if TYPE_CHECKING:
    from conftest import Stage

pytestmark = pytest.mark.usefixtures("at_every_step")

Maker = Callable[..., "Stage"]
SAMPLES, EPOCHS = 320, 3


class Counting:
    """As loaders of other libraries do: batches of its own, and a state in samples."""

    def __init__(self, worker: int, workers: int, size: int, *, elastic: bool) -> None:
        self.worker, self.workers, self.batch_size, self.elastic = worker, workers, size, elastic
        self.read = 0  # of the epoch, by all workers
        self._resumed = False

    def __len__(self) -> int:
        return SAMPLES // (self.batch_size * self.workers)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        self.read, self._resumed = self.read if self._resumed else 0, False
        while self.read < SAMPLES:
            start = self.read + self.worker * self.batch_size
            self.read += self.workers * self.batch_size
            indices = torch.arange(start, start + self.batch_size)
            yield torch.stack([row(int(index)) for index in indices]), indices

    def state_dict(self) -> dict[str, Any]:
        return {"read": self.read, "of": [self.worker] if not self.elastic else None}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.read, self._resumed = state["read"], True
        assert self.elastic or state["of"] == [self.worker]


class Shard(IterableDataset[tuple[torch.Tensor, int]]):
    """What torchdata's loader reads: its own share of the data, from where it was."""

    def __init__(self, worker: int, workers: int) -> None:
        self.worker, self.workers, self.at = worker, workers, 0

    def __len__(self) -> int:
        return SAMPLES // self.workers

    def __iter__(self) -> Iterator[tuple[torch.Tensor, int]]:
        for index in range(self.worker + self.at * self.workers, SAMPLES, self.workers):
            self.at += 1
            yield row(index), index
        self.at = 0

    def state_dict(self) -> dict[str, int]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.at = state["at"]


def row(index: int) -> torch.Tensor:
    return torch.randn(6, generator=torch.Generator().manual_seed(index))


def train(tick: Callable[[], None], folder: Path, make: Callable[[Any], Any]) -> None:
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    with headway.attach(checkpoint_every_s=3600) as job:
        model = job.model(nn.Linear(6, 2))
        optimizer = job.optimizer(torch.optim.SGD(model.parameters(), lr=0.1), lr_rule="hold")
        loader = job.loader(make(job))
        for epoch in job.epochs(EPOCHS):
            for inputs, indices in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs), indices % 2).backward()
                optimizer.step()
                job.step()
                with (folder / f"seen-{job.worker}").open("a") as file:
                    file.write(json.dumps([epoch, indices.tolist()]) + "\n")
                tick()


def seen(folder: Path) -> list[Counter[int]]:
    read = [Counter[int]() for _ in range(EPOCHS)]
    for file in folder.glob("seen-*"):
        for line in file.read_text().splitlines():
            epoch, indices = json.loads(line)
            read[epoch].update(indices)
    return read


def counting(*, elastic: bool) -> Callable[[Any], Counting]:
    return lambda job: Counting(job.worker, job.workers, job.share(32), elastic=elastic)


def test_one_that_counts_samples_goes_on_at_any_size(stage: Maker) -> None:
    whole, cut = stage("whole"), stage("cut", per_gpu=16)
    make = counting(elastic=True)
    assert whole.run(lambda tick: train(tick, whole.folder, make)).codes == [0]
    script = lambda tick: train(tick, cut.folder, make)  # noqa: E731
    for workers, yield_at in ((2, 3), (1, 9), (4, 12)):
        assert cut.run(script, workers, yield_at=yield_at).codes == [YIELDED] * workers
    assert cut.run(script, 2).codes == [0, 0]
    assert seen(cut.folder) == seen(whole.folder) == [Counter(range(SAMPLES))] * EPOCHS
    for name, value in whole.model().items():
        torch.testing.assert_close(cut.model()[name], value, rtol=0, atol=1e-4)


def test_another_goes_on_at_the_same_size_and_begins_the_epoch_anew_at_others(
    stage: Maker,
) -> None:
    same, other = stage("same"), stage("other")
    make = counting(elastic=False)
    for job, workers in ((same, 2), (other, 1)):
        script = lambda tick, job=job: train(tick, job.folder, make)  # noqa: E731
        assert job.run(script, 2, yield_at=14).codes == [YIELDED] * 2
        assert job.run(script, workers).codes == [0] * workers
    assert seen(same.folder) == [Counter(range(SAMPLES))] * EPOCHS
    twice = seen(other.folder)[1]
    assert Counter(twice.values()) == {2: 4 * 32, 1: SAMPLES - 4 * 32}
    assert seen(other.folder)[::2] == [Counter(range(SAMPLES))] * 2


def test_torchdatas_loader_over_shards(stage: Maker) -> None:
    stateful = pytest.importorskip(
        "torchdata.stateful_dataloader", reason="needs the package torchdata"
    )

    def make(job: Any) -> Any:
        shard = Shard(job.worker, job.workers)
        return stateful.StatefulDataLoader(shard, batch_size=job.share(32), num_workers=0)

    job = stage(per_gpu=8)
    script = lambda tick: train(tick, job.folder, make)  # noqa: E731
    assert job.run(script, 2, yield_at=26).codes == [YIELDED] * 2
    assert job.run(script, 2).codes == [0, 0]
    assert seen(job.folder) == [Counter(range(SAMPLES))] * EPOCHS


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("size", "the loader's batches are of 5, but a worker's share of 32 is 32 on 1 workers"),
        ("length", "does not say its length"),
        ("short", "the loader ended before its 40 batches"),
        ("mode", "a loader with its own batches keeps them"),
    ],
)
def test_what_cannot_be_is_refused(
    stage: Maker, capfd: pytest.CaptureFixture[str], what: str, said: str
) -> None:
    class Endless(Counting):
        def __len__(self) -> int:
            raise TypeError

    class Short(Counting):
        def __len__(self) -> int:
            return 40

    kind = {"length": Endless, "short": Short}.get(what, Counting)
    size = 5 if what == "size" else 32
    job = stage(most=64 if what == "mode" else None)
    if what == "mode":
        job.batch = replace(job.batch, mode=BatchMode.ADAPTIVE)
    make = lambda _: kind(0, 1, size, elastic=True)  # noqa: E731
    assert job.run(lambda tick: train(tick, job.folder, make)).codes == [1]
    assert said in capfd.readouterr().err


def test_without_a_scheduler_it_comes_back_as_it_is() -> None:
    job, source = headway.attach(), Counting(0, 1, 32, elastic=False)
    assert is_stateful(source)
    assert job.loader(source) is source
    assert job.share(32) == 32
