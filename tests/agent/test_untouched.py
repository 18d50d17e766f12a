"""The demo's networks come out bit for bit as from a script that has never heard of Headway."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

import headway.agent as headway
from headway.agent.demos import charlm, digits_cnn, kit
from headway.agent.plan import epoch_order

if TYPE_CHECKING:
    from conftest import Stage

EPOCHS = 3


@dataclass
class Task:
    """A network, how it learns, and from what."""

    network: Callable[[], nn.Module]
    optimizer: Callable[[nn.Module], Optimizer]
    loss: Callable[[nn.Module, list[Tensor]], Tensor]
    data: Callable[[], TensorDataset]
    batch: int


def digits() -> TensorDataset:
    images, labels = load_digits(return_X_y=True)
    inputs, targets = kit.split(images.reshape(-1, 1, 8, 8) / 16, labels, test=360).train.tensors
    return TensorDataset(inputs[:300], targets[:300])


def text() -> TensorDataset:
    return TensorDataset(charlm.windows()[0].tensors[0][:72])


TASKS = {
    "digits-cnn": Task(
        digits_cnn.network,
        lambda net: torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9),
        lambda model, batch: nn.functional.cross_entropy(model(batch[0]), batch[1]),
        digits,
        32,
    ),
    "charlm, adam": Task(
        lambda: charlm.CharTransformer(charlm.windows()[2]),
        lambda net: torch.optim.Adam(net.parameters(), lr=1e-3),
        lambda model, batch: charlm.loss_of(model, batch[0]),
        text,
        16,
    ),
}


def plain(task: Task) -> dict[str, Tensor]:
    torch.manual_seed(0)
    net = task.network()
    optimizer, data = task.optimizer(net), task.data()
    done = 0
    scheduler = LambdaLR(
        optimizer, lambda _: 0.5 * (1 + math.cos(math.pi * done / (EPOCHS * len(data))))
    )
    for epoch in range(EPOCHS):
        order = epoch_order(len(data), epoch=epoch, seed=0, shuffled=True).tolist()
        own = torch.Generator()
        for batch in DataLoader(data, batch_size=task.batch, sampler=order, generator=own):
            optimizer.zero_grad()
            task.loss(net, batch).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            done += len(batch[0])
            scheduler.step()
    return net.state_dict()


def wrapped(task: Task) -> dict[str, Tensor]:
    torch.manual_seed(0)
    with headway.attach() as job:
        net = task.network()
        model = job.model(net)
        optimizer = job.optimizer(task.optimizer(net), lr_rule="adascale")
        loader = job.loader(task.data(), batch_size=task.batch)
        scheduler = kit.cosine(job, optimizer)
        for _ in job.epochs(EPOCHS):
            for batch in loader:
                optimizer.zero_grad()
                loss = task.loss(model, batch)
                loss.backward()
                if job.last_pass:
                    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                job.step(loss=loss)
                scheduler.step()
    return net.state_dict()


def assert_equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


@pytest.mark.parametrize("name", TASKS)
def test_without_a_scheduler(name: str) -> None:
    assert_equal(wrapped(TASKS[name]), plain(TASKS[name]))


@pytest.mark.parametrize("name", TASKS)
def test_under_the_scheduler_with_a_fixed_batch(stage: Callable[..., "Stage"], name: str) -> None:
    """Steps that are measured among them: measuring changes nothing."""
    job = stage(initial=TASKS[name].batch)
    assert job.run(lambda tick: wrapped(TASKS[name])).codes == [0]
    path = max((job.folder / "checkpoints").glob("*.pt"))
    assert_equal(torch.load(path, weights_only=True)["parts"]["model"], plain(TASKS[name]))
