"""Iterable data sets with a declared position, stateful loaders: each sample once, any sizes."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import headway.agent as headway
from headway.agent.data import as_loader
from headway.agent.stream import NEAR, Reader
from headway.protocol.environment import YIELDED

if TYPE_CHECKING:
    from conftest import Stage

pytestmark = pytest.mark.usefixtures("at_every_step")

Maker = Callable[..., "Stage"]
SAMPLES, EPOCHS = 97, 4


class Stream(IterableDataset[tuple[torch.Tensor, int]]):
    """Rows of a file, say; another order each epoch."""

    def __init__(self, samples: int = SAMPLES) -> None:
        self.epoch, self.position, self.seeks = 0, 0, 0
        self._samples = samples

    def __len__(self) -> int:
        return self._samples

    def seek(self, epoch: int, position: int) -> None:
        self.epoch, self.position = epoch, position
        self.seeks += 1

    def __iter__(self) -> Iterator[tuple[torch.Tensor, int]]:
        shift = 5 * self.epoch
        for number in range(self.position, self._samples):
            index = (number + shift) % self._samples
            generator = torch.Generator().manual_seed(index)
            yield torch.randn(6, generator=generator), index


def train(
    tick: Callable[[], None], folder: Any, source: Callable[[], Any], batch_size: int | None = 32
) -> None:
    torch.manual_seed(0)
    with headway.attach(checkpoint_every_s=3600) as job:
        model = job.model(nn.Linear(6, 2))
        optimizer = job.optimizer(torch.optim.SGD(model.parameters(), lr=0.1), lr_rule="hold")
        loader = job.loader(source(), batch_size=batch_size, seed=5)
        for epoch in job.epochs(EPOCHS):
            for inputs, indices in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs), indices % 2).backward()
                optimizer.step()
                job.step()
                with (folder / f"seen-{job.worker}").open("a") as file:
                    file.write(json.dumps([epoch, indices.tolist()]) + "\n")
                tick()
    torch.save(model.state_dict(), folder / "weights.pt")


def seen(folder: Any) -> dict[int, Counter[int]]:
    read: dict[int, Counter[int]] = {epoch: Counter() for epoch in range(EPOCHS)}
    for file in folder.glob("seen-*"):
        for line in file.read_text().splitlines():
            epoch, indices = json.loads(line)
            read[epoch].update(indices)
    return read


@pytest.mark.parametrize("processes", [0, 2])
def test_a_stream_is_read_once_an_epoch_whatever_the_sizes(stage: Maker, processes: int) -> None:
    """97 samples in steps of 32, in the last of which all workers but one are idle."""

    def source() -> Any:
        return DataLoader(Stream(), batch_size=32, num_workers=processes)

    whole, cut = stage("whole"), stage("cut", per_gpu=8)
    assert whole.run(lambda tick: train(tick, whole.folder, source, None)).codes == [0]
    script = lambda tick: train(tick, cut.folder, source, None)  # noqa: E731
    for workers, yield_at in ((2, 3), (3, 5), (1, 7)):
        assert cut.run(script, workers, yield_at=yield_at).codes == [YIELDED] * workers
    assert cut.run(script, 2).codes == [0, 0]
    lines = (cut.folder / "checkpoints" / "epochs.jsonl").read_text().splitlines()
    assert [list(json.loads(line).values()) for line in lines] == [
        [epoch, SAMPLES, 1, 1] for epoch in range(EPOCHS)
    ]
    for name, value in whole.model().items():
        torch.testing.assert_close(cut.model()[name], value, rtol=0, atol=1e-4)
    for read in seen(whole.folder).values():
        assert read == Counter(range(SAMPLES))


def test_without_a_scheduler_each_epoch_is_read_whole(tmp_path: Any) -> None:
    train(lambda: None, tmp_path, Stream)
    assert all(read == Counter(range(SAMPLES)) for read in seen(tmp_path).values())
    first = (tmp_path / "seen-0").read_text().splitlines()
    assert json.loads(first[0])[1][0] == 0
    assert json.loads(first[4]) == [1, [(5 + n) % SAMPLES for n in range(32)]]


@given(slices=st.lists(st.tuples(st.integers(0, 500), st.integers(1, 40)), min_size=1, max_size=12))
def test_a_reader_reads_any_slices(slices: list[tuple[int, int]]) -> None:
    stream = Stream(400)
    reader = Reader(stream, epoch=0)
    for start, count in slices:
        read = [index for _, index in reader.read(start, count)]
        assert read == list(range(start, min(start + count, 400)))


def test_what_is_near_is_passed_over_without_a_seek() -> None:
    stream = Stream(400)
    reader = Reader(stream, epoch=0)
    for start in range(0, 380, 10):
        reader.read(start, 5)
    assert stream.seeks == 1
    reader.read(380 - 4 * NEAR, 5)
    assert stream.seeks == 2


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
def test_torchdatas_stateful_loader_over_an_indexed_data_set(stage: Maker) -> None:
    """Its own samplers are torch's but for their state, which is not needed here."""
    stateful = pytest.importorskip(
        "torchdata.stateful_dataloader", reason="needs the package torchdata"
    )
    rows = TensorDataset(torch.randn(SAMPLES, 6), torch.arange(SAMPLES))
    for shuffle in (True, False):
        made = stateful.StatefulDataLoader(rows, batch_size=32, shuffle=shuffle)
        assert as_loader(made, None) is made
    cut = stage()
    script = lambda tick: train(tick, cut.folder, lambda: made, None)  # noqa: E731
    assert cut.run(script, 2, yield_at=5).codes == [YIELDED] * 2
    assert cut.run(script, 1).codes == [0]
    assert len((cut.folder / "checkpoints" / "epochs.jsonl").read_text().splitlines()) == EPOCHS
