"""One worker under the scheduler: the script's own result, the news, what must not be touched."""

import json
import signal
from collections.abc import Callable
from math import nan
from typing import TYPE_CHECKING

import pytest
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

import headway.agent as headway
from headway.protocol.environment import YIELDED

if TYPE_CHECKING:
    from conftest import Stage

Maker = Callable[..., "Stage"]


def data(samples: int = 100) -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(samples, 6, generator=generator)
    return TensorDataset(inputs, torch.randint(0, 3, (samples,), generator=generator))


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 3))


def train(
    tick: Callable[[], None] = lambda: None,
    *,
    epochs: int = 4,
    adam: bool = True,
    loss_of: Callable[[Tensor, Tensor], Tensor] = nn.functional.cross_entropy,
    source: TensorDataset | None = None,
) -> nn.Module:
    """The same script with and without a scheduler."""
    torch.manual_seed(0)
    job = headway.attach(checkpoint_every_s=3600)
    model = net()
    model = job.model(model)
    rate, kind = (1e-2, torch.optim.Adam) if adam else (0.1, torch.optim.SGD)
    optimizer = job.optimizer(kind(model.parameters(), lr=rate), lr_rule="sqrt")
    loader = job.loader(source or data(), batch_size=32, seed=5)
    scheduler = job.state("scheduler", StepLR(optimizer, 1, gamma=0.7))
    for epoch in job.epochs(epochs):
        for inputs, labels in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model(inputs), labels)
            loss.backward()
            optimizer.step()
            job.step(loss=loss)
            tick()
        scheduler.step()
        job.metric(epoch / 2)
    job.finish()
    return model


def saved(stage: "Stage") -> dict[str, Tensor]:
    path = max((stage.folder / "checkpoints").glob("*.pt"))
    state: dict[str, Tensor] = torch.load(path, weights_only=True)["parts"]["model"]
    return state


def assert_equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


def test_alone_on_a_gpu_a_fixed_batch_trains_as_without_a_scheduler(stage: Maker) -> None:
    job = stage()
    assert job.run(train).codes == [0]
    assert_equal(saved(job), train().state_dict())


def test_yields_and_resumes_change_nothing_bit_for_bit(stage: Maker) -> None:
    """Adam's moments and step counts, dropout's random numbers, batch norm, StepLR, the position:
    AdaptDL could not resume at all (torch.load refused its pickles)."""
    whole, cut = stage("whole"), stage("cut")
    assert whole.run(train).codes == [0]
    for yield_at in (3, 2, 4):  # in the first epoch, in the second, at an epoch's last step
        assert cut.run(train, yield_at=yield_at).codes == [YIELDED]
    assert cut.run(train).codes == [0]
    assert_equal(saved(cut), saved(whole))
    lines = (cut.folder / "checkpoints" / "epochs.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"epoch": epoch, "samples": 100, "read_least": 1, "read_most": 1} for epoch in range(4)
    ]
    told = [epoch.epoch for out in cut.outcomes for news in out.news for epoch in news.epochs]
    assert told == [0, 1, 2, 3]


def test_the_news_of_a_run(stage: Maker) -> None:
    job = stage()
    first = job.run(lambda tick: train(tick, epochs=200), yield_at=600)
    assert first.codes == [YIELDED]
    assert first.news[0].stepped
    assert first.reports[0].fit_error is not None
    last = job.run(lambda tick: train(tick, epochs=200)).reports[-1]
    assert last.restart_s is None  # for the agent to measure, by one clock
    assert (last.samples, last.progress_examples) == (20_000, 20_000.0)
    assert (last.batch_size, last.batch_per_gpu, last.accum_steps) == (32, 32, 0)
    assert last.metric == 199 / 2
    assert last.loss is not None
    assert last.throughput.alpha_grad_s > 0


def test_a_loss_that_is_not_a_number_is_reported_as_none(stage: Maker) -> None:
    def script(tick: Callable[[], None]) -> None:
        train(tick, epochs=60, loss_of=lambda outputs, _: outputs.sum() * nan)

    outcome = stage().run(script)
    assert outcome.codes == [0]
    assert outcome.reports
    assert all(report.loss is None and report.noise_scale is None for report in outcome.reports)


def test_accumulation_makes_the_same_update(stage: Maker) -> None:
    """32 in one pass or in 11, 11, 10: a model without batch norm ends at the same place."""

    def script(tick: Callable[[], None]) -> None:
        torch.manual_seed(0)
        job = headway.attach()
        model = job.model(nn.Linear(6, 3))
        optimizer = job.optimizer(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
        loader = job.loader(data(), batch_size=32)
        for _ in job.epochs(5):
            for inputs, labels in loader:
                loss = nn.functional.cross_entropy(model(inputs), labels)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                job.step(loss=loss)
                assert len(labels) <= job_size
        job.finish()

    job_size = 32
    whole, split = stage("whole"), stage("split", per_gpu=11)
    assert whole.run(script).codes == [0]
    job_size = 11
    assert split.run(script).codes == [0]
    for name, value in saved(split).items():
        torch.testing.assert_close(value, saved(whole)[name])


def test_fine_tuning_with_frozen_layers(stage: Maker) -> None:
    def script(tick: Callable[[], None]) -> None:
        torch.manual_seed(0)
        job = headway.attach()
        model = nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 3))
        model[0].requires_grad_(False)
        model = job.model(model)
        optimizer = job.optimizer(torch.optim.AdamW(model[1].parameters(), lr=0.1))
        loader = job.loader(data(), batch_size=32)
        before = model[0].weight.clone(), model[1].weight.clone()
        for _ in job.epochs(10):
            for inputs, labels in loader:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(inputs), labels).backward()
                optimizer.step()
                job.step()
        assert torch.equal(model[0].weight, before[0])
        assert not torch.equal(model[1].weight, before[1])
        job.finish()

    assert stage().run(script).codes == [0]


def test_signal_handlers_stay_the_users(stage: Maker) -> None:
    """AdaptDL replaced SIGTERM's and SIGINT's at import."""

    def script(tick: Callable[[], None]) -> None:
        before = {one: signal.getsignal(one) for one in signal.valid_signals()}
        train(tick)
        assert {one: signal.getsignal(one) for one in signal.valid_signals()} == before

    assert stage().run(script).codes == [0]


def test_a_batch_size_that_is_not_the_jobs_is_refused(
    stage: Maker, capfd: pytest.CaptureFixture[str]
) -> None:
    assert stage(initial=64).run(train).codes == [1]
    assert "batches of 32, but initial_batch_size of the job is 64" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("no step", "job.step(loss=...) is missing"),
        ("two steps", "call it once for each batch"),
        ("no loader", "call job.loader before"),
        ("two loaders", "one training loader"),
        ("no epochs", "inside `for epoch in job.epochs(n)`"),
        ("rule", "'fancy' is none of adascale"),
        ("unfrozen", "unfrozen after job.model"),
        ("one name", "two parts of the job are called 'model'"),
        ("seed", "seed must be a whole number from 0 on, not -1"),
    ],
)
def test_misuse_is_told_in_words(
    stage: Maker, capfd: pytest.CaptureFixture[str], what: str, said: str
) -> None:
    def script(tick: Callable[[], None]) -> None:
        job = headway.attach()
        model = job.model(nn.Linear(6, 3).requires_grad_(what != "unfrozen"))
        if what == "one name":
            job.model(nn.Linear(6, 3))
        rule = "fancy" if what == "rule" else "hold"
        job.optimizer(torch.optim.SGD(model.parameters(), lr=0.1), lr_rule=rule)
        if what == "no loader":
            list(job.epochs(1))
        loader = job.loader(data(), batch_size=32, seed=-1 if what == "seed" else 0)
        if what == "two loaders":
            job.loader(data(), batch_size=32)
        if what == "no epochs":
            list(loader)
        for _ in job.epochs(2):
            for _ in loader:
                if what == "unfrozen":
                    model.requires_grad_(True)
                for _ in range({"no step": 0, "two steps": 2}.get(what, 1)):
                    job.step()

    assert stage().run(script).codes == [1]
    assert said in capfd.readouterr().err


def test_a_given_data_loader_keeps_its_order(stage: Maker) -> None:
    def script(tick: Callable[[], None]) -> None:
        job = headway.attach()
        loader = job.loader(DataLoader(data(), batch_size=32, shuffle=False))
        for _ in job.epochs(2):
            read = []
            for inputs, _ in loader:
                read.append(inputs)
                job.step()
            assert torch.equal(torch.cat(read), data().tensors[0])
        job.finish()

    assert stage().run(script).codes == [0]
