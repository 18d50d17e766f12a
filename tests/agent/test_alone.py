"""Without a scheduler: the same script, the same result, bit for bit."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

import headway.agent as headway
from headway.agent.job import MisuseError
from headway.agent.plan import epoch_order


def data() -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(100, 6, generator=generator)
    return TensorDataset(inputs, torch.randint(0, 3, (100,), generator=generator))


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.2), nn.ReLU(), nn.Linear(8, 3))


def plain(loader: Callable[[int], DataLoader[list[torch.Tensor]]]) -> nn.Module:
    torch.manual_seed(0)
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    done = 0
    cosine = LambdaLR(optimizer, lambda _: 0.5 * (1 + math.cos(math.pi * done / 300)))
    for epoch in range(3):
        for inputs, labels in loader(epoch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            done += len(labels)
            cosine.step()
    return model


def attached(source: TensorDataset | DataLoader[list[torch.Tensor]], size: int | None) -> nn.Module:
    torch.manual_seed(0)
    job = headway.attach()
    model = job.model(net())
    inner = torch.optim.Adam(model.parameters(), lr=1e-2)
    optimizer = job.optimizer(inner, lr_rule="adam_scale")
    assert optimizer is inner
    loader = job.loader(source, batch_size=size, seed=5)
    cosine = LambdaLR(optimizer, lambda _: 0.5 * (1 + math.cos(math.pi * job.progress_share)))
    assert job.state("scheduler", cosine) is cosine
    for _ in job.epochs(3):
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            assert job.last_pass
            optimizer.step()
            job.step(loss=loss)
            cosine.step()
        job.metric(1.0)
    job.finish()
    assert job.progress_share == 1.0
    assert (job.worker, job.workers) == (0, 1)
    return model


def assert_equal(one: nn.Module, other: nn.Module) -> None:
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_a_given_loader_comes_back_and_nothing_changes() -> None:
    def loader() -> DataLoader[list[torch.Tensor]]:
        return DataLoader(data(), batch_size=32, shuffle=True)

    source = loader()
    assert headway.attach().loader(source) is source
    same = loader()
    assert_equal(attached(loader(), None), plain(lambda _: same))


def test_a_data_set_is_read_in_the_order_it_has_under_the_scheduler() -> None:
    def loader(epoch: int) -> DataLoader[list[torch.Tensor]]:
        order = epoch_order(100, epoch=epoch, seed=5, shuffled=True).tolist()
        return DataLoader(data(), batch_size=32, sampler=order, generator=torch.Generator())

    assert_equal(attached(data(), 32), plain(loader))


def test_as_a_context_it_lets_errors_through() -> None:
    with pytest.raises(RuntimeError, match="the script's own"), headway.attach():
        raise RuntimeError("the script's own")


@pytest.mark.parametrize(
    "count",
    ["3", -1, 2.5, float("nan"), True, None, 1 << 99_999],
    ids=lambda one: type(one).__name__,
)
def test_a_count_of_epochs_that_is_none_is_refused(count: object) -> None:
    """The text of a variable times the length of a data set was a length without an end."""
    with pytest.raises(MisuseError, match="count must be a whole number from 0 on, not "):
        list(headway.attach().epochs(count))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", ["3", -1, 2.5, None])
def test_a_seed_that_is_none_is_refused(seed: object) -> None:
    """It ended in NumPy, at the first batch."""
    with pytest.raises(MisuseError, match="seed must be a whole number from 0 on, not "):
        headway.attach().loader(data(), batch_size=4, seed=seed)  # type: ignore[arg-type]


def test_a_second_call_of_epochs_goes_on_where_the_first_ended() -> None:
    """As under the scheduler, where ``count`` is of the whole training; alone it began anew."""
    job = headway.attach()
    assert list(job.epochs(2)) == [0, 1]
    assert list(job.epochs(5)) == [2, 3, 4]
    assert list(job.epochs(3)) == list(job.epochs(0)) == []
