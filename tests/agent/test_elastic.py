"""Several workers that come and go: nothing lost, nothing repeated, the same model at the end."""

import json
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import TensorDataset

import headway.agent as headway
from headway.core.types import BatchChange, ChangeCode
from headway.protocol.environment import YIELDED

if TYPE_CHECKING:
    from conftest import Stage

pytestmark = pytest.mark.usefixtures("at_every_step")

Maker = Callable[..., "Stage"]
SAMPLES = 97  # steps of 32, 32, 32 and 1: in the last one all workers but the first are idle


def data(samples: int = SAMPLES) -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(samples, 6, generator=generator)
    labels = (inputs[:, 0] + 0.5 * torch.randn(samples, generator=generator) > 0).long()
    return TensorDataset(inputs, labels)


def train(
    tick: Callable[[], None],
    *,
    epochs: int = 6,
    rate: float = 0.05,
    samples: int = SAMPLES,
    every_s: float = 3600.0,
) -> None:
    torch.manual_seed(0)
    with headway.attach(checkpoint_every_s=every_s) as job:
        model = job.model(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2)))
        inner = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
        optimizer = job.optimizer(inner, lr_rule="adascale")
        loader = job.loader(data(samples), batch_size=32, seed=5)
        for _ in job.epochs(epochs):
            for inputs, labels in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(inputs), labels)
                loss.backward()
                optimizer.step()
                job.step(loss=loss)
                tick()


def epochs_of(stage: "Stage") -> list[tuple[int, int, int, int]]:
    lines = (stage.folder / "checkpoints" / "epochs.jsonl").read_text().splitlines()
    return [tuple(json.loads(line).values()) for line in lines]


def test_one_three_two_workers_end_where_one_does(stage: Maker) -> None:
    whole, resized = stage("whole"), stage("resized")
    assert whole.run(train).codes == [0]
    # in the middle of epochs 0 and 2; the last generation ends by itself
    assert resized.run(train, 1, yield_at=2).codes == [YIELDED]
    assert resized.run(train, 3, yield_at=8).codes == [YIELDED] * 3
    assert resized.run(train, 2).codes == [0, 0]
    for name, value in whole.model().items():
        torch.testing.assert_close(resized.model()[name], value, rtol=0, atol=1e-4)
    assert epochs_of(resized) == [(epoch, SAMPLES, 1, 1) for epoch in range(6)]
    told = [epoch.epoch for out in resized.outcomes for news in out.news for epoch in news.epochs]
    assert told == list(range(6))
    changes = [change for out in resized.outcomes for news in out.news for change in news.changes]
    assert [(c.gpus, c.batch_per_gpu, c.new_batch_size) for c in changes] == [
        (3, 11, 32),
        (2, 16, 32),
    ]
    assert [change.samples for change in changes] == [64, 64 + 33 + SAMPLES + 64]


def test_what_a_script_does_after_an_epoch_has_seen_a_batch_of_it(stage: Maker) -> None:
    """Workers that took over between the last step and that came to it with no loss to print."""

    def script(tick: Callable[[], None]) -> None:
        with headway.attach(checkpoint_every_s=0.0) as job:
            model = job.model(nn.Linear(6, 2))
            optimizer = job.optimizer(torch.optim.SGD(model.parameters(), 0.1), lr_rule="hold")
            loader = job.loader(data(64), batch_size=32)
            for _ in job.epochs(4):
                steps = 0
                for inputs, labels in loader:
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(model(inputs), labels).backward()
                    optimizer.step()
                    job.step()
                    steps += 1
                    tick()
                assert steps, "an epoch without a batch"

    job = stage()
    assert job.run(script, 1, yield_at=2).codes == [YIELDED]
    assert job.run(script, 2, yield_at=2).codes == [YIELDED] * 2
    assert job.run(script, 1, yield_at=4).codes == [0], "it is complete, not stopped"
    assert epochs_of(job) == [(epoch, 64, 1, 1) for epoch in range(4)]


def test_more_passes_than_one_on_several_workers(stage: Maker) -> None:
    whole, split = stage("whole"), stage("split", per_gpu=4)
    assert whole.run(train).codes == [0]
    assert split.run(train, 3).codes == [0, 0, 0]
    for name, value in whole.model().items():
        torch.testing.assert_close(split.model()[name], value, rtol=0, atol=1e-4)
    assert split.outcomes[0].reports[-1].accum_steps == 2


def test_an_adaptive_batch_ends_by_progress_and_reads_each_epoch_once(stage: Maker) -> None:
    def script(tick: Callable[[], None]) -> None:
        train(tick, epochs=100, samples=1000)

    job = stage(most=256)
    assert job.run(script, 2, yield_at=150).codes == [YIELDED] * 2
    assert job.run(script, 1, yield_at=60).codes == [YIELDED]
    assert job.run(script, 3).codes == [0] * 3
    epochs = epochs_of(job)
    assert epochs == [(epoch, 1000, 1, 1) for epoch in range(len(epochs))]
    last = job.outcomes[-1].reports[-1]
    assert last.total_examples == 100_000
    assert last.progress_examples >= 100_000 * (1 - 1e-9)
    assert last.samples == 1000 * len(epochs)
    changes = [change for out in job.outcomes for news in out.news for change in news.changes]
    assert any(change.new_batch_size > change.old_batch_size for change in changes)
    for change in changes:
        assert 32 <= change.new_batch_size <= 256
        assert 1 <= change.lr_factor <= change.new_batch_size / 32
    lines = (job.folder / "checkpoints" / "decisions.jsonl").read_text().splitlines()
    log = [json.loads(line) for line in lines]
    assert log[0]["code"] == "Began"
    news = [one["samples"] for one in log if one["code"] not in {"Began", "MeasuringOften"}]
    assert news == [change.samples for change in changes]


def test_an_epoch_that_a_yield_cuts_after_all_progress_is_made_is_read_to_its_end(
    stage: Maker,
) -> None:
    """It was not, once: enough progress ended the job at its restart, in the middle of an epoch."""

    def script(tick: Callable[[], None]) -> None:
        with headway.attach() as job:
            loader = job.loader(data(), batch_size=32)
            for _ in job.epochs(3):
                for _ in loader:
                    job.step()
                    job._loop.cursor.progress_examples = 3.0 * SAMPLES
                    tick()

    job = stage(most=64)
    assert job.run(script, yield_at=2).codes == [YIELDED]
    assert job.run(script).codes == [0]
    assert epochs_of(job) == [(0, SAMPLES, 1, 1)]


def test_several_passes_are_synchronised_once(stage: Maker) -> None:
    def script(tick: Callable[[], None]) -> None:
        reductions = 0

        def count(_: object, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
            nonlocal reductions
            reductions += 1
            future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
            return future.then(lambda done: done.value()[0])

        with headway.attach() as job:
            model = job.model(nn.Linear(6, 2))
            model.register_comm_hook(None, count)
            optimizer = job.optimizer(torch.optim.SGD(model.parameters(), lr=0.1))
            loader = job.loader(data(64), batch_size=32)
            passes = 0
            for _ in job.epochs(2):
                for inputs, labels in loader:
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(model(inputs), labels).backward()
                    optimizer.step()
                    job.step()
                    passes += 1
            assert (passes, reductions) == (16, 4)

    assert stage(per_gpu=4).run(script, 2).codes == [0, 0]


def test_a_kill_loses_little_and_repeats_nothing(stage: Maker) -> None:
    def killed(tick: Callable[[], None]) -> None:
        ticks = 0

        def die() -> None:
            nonlocal ticks
            ticks += 1
            if ticks == 15:
                os.kill(os.getpid(), signal.SIGKILL)

        train(die, every_s=0.0)

    whole, job = stage("whole"), stage("killed")
    assert whole.run(train).codes == [0]
    assert job.run(killed).codes == [-signal.SIGKILL]
    assert job.run(train, 2).codes == [0, 0]
    assert epochs_of(job) == [(epoch, SAMPLES, 1, 1) for epoch in range(6)]
    for name, value in whole.model().items():
        torch.testing.assert_close(job.model()[name], value, rtol=0, atol=1e-4)


def test_what_a_kill_has_cost_is_told(stage: Maker) -> None:
    """Only a batch that had changed meanwhile gave it away, once."""

    def killed(tick: Callable[[], None]) -> None:
        ticks = iter(range(1, 10))

        def die() -> None:
            if next(ticks) == 9:
                os.kill(os.getpid(), signal.SIGKILL)

        train(die)

    job = stage()
    assert job.run(train, 2, yield_at=3).codes == [YIELDED] * 2
    assert job.run(killed).codes == [-signal.SIGKILL]
    assert [change.code for change in told(job)] == [ChangeCode.ALLOCATION]
    assert job.run(train).codes == [0]
    (back,) = told(job)
    lost = 1 + 2 * SAMPLES  # nine steps, from the last one of an epoch to that of another
    assert (back.code, back.samples) == (ChangeCode.CHECKPOINT, SAMPLES - 1)
    at_most = int(back.why.split("up to ")[1].split()[0])
    assert lost <= at_most <= lost + 32
    assert epochs_of(job) == [(epoch, SAMPLES, 1, 1) for epoch in range(6)]


def told(job: "Stage") -> list[BatchChange]:
    """What the last generation told of its batch."""
    return [change for news in job.outcomes[-1].news for change in news.changes]


def true_noise_scale(model: nn.Module) -> float:
    """tr(Sigma) / |G|^2 from the gradient of every sample."""
    inputs, labels = data(2000).tensors
    gradients = []
    for one in range(2000):
        model.zero_grad()
        nn.functional.cross_entropy(model(inputs[one : one + 1]), labels[one : one + 1]).backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    every = torch.stack(gradients)
    mean = every.mean(0)
    return float(((every - mean) ** 2).sum(1).mean() / (mean**2).sum())


@pytest.mark.usefixtures("measured_often")
def test_replicas_passes_and_differences_measure_the_same_noise_scale(stage: Maker) -> None:
    """At a rate of 0, where the truth can be counted out.

    With as many steps measured as a busy machine had time for the error that they tell of
    themselves was once four times too small.
    """

    def script(tick: Callable[[], None]) -> None:
        train(tick, epochs=4, samples=2000, rate=0.0)

    torch.manual_seed(0)
    truth = true_noise_scale(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2)))
    ways = {"replicas": (2, 32), "passes": (1, 16), "differences": (1, 32)}
    for way, (workers, per_gpu) in ways.items():
        job = stage(way, per_gpu=per_gpu)
        assert job.run(script, workers).codes == [0] * workers
        report = job.outcomes[0].reports[-1]
        assert report.noise_scale is not None
        assert report.noise_scale_error is not None
        off = abs(report.noise_scale - truth)
        assert off < 4 * report.noise_scale_error, way
        assert off < 0.5 * truth, way


def test_parameters_that_take_no_part_on_two_workers(stage: Maker) -> None:
    def script(tick: Callable[[], None]) -> None:
        with headway.attach() as job:
            net = nn.ModuleDict({"used": nn.Linear(6, 2), "unused": nn.Linear(6, 2)})
            net.forward = net["used"].forward
            model = job.model(net, find_unused_parameters=True)
            optimizer = job.optimizer(torch.optim.SGD(net.parameters(), lr=0.1))
            loader = job.loader(data(), batch_size=32)
            for _ in job.epochs(2):
                for inputs, labels in loader:
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(model(inputs), labels).backward()
                    optimizer.step()
                    job.step()

    assert stage().run(script, 2).codes == [0, 0]


def test_fewer_samples_than_workers(stage: Maker) -> None:
    """AdaptDL's sampler raised IndexError for tiny data."""

    def script(tick: Callable[[], None]) -> None:
        train(tick, samples=2)

    whole, spread = stage("whole"), stage("spread")
    assert whole.run(script).codes == [0]
    assert spread.run(script, 3).codes == [0] * 3
    assert epochs_of(spread) == [(epoch, 2, 1, 1) for epoch in range(6)]
    for name, value in whole.model().items():
        torch.testing.assert_close(spread.model()[name], value, rtol=0, atol=1e-4)


def test_a_batch_of_more_than_half_of_the_data_has_a_noise_scale_too(stage: Maker) -> None:
    """No two steps in a row are of one size (96 and 1), so there were no differences to take; with
    no estimate a large batch was taken to be worth M0, and a training of 30 epochs took 670."""
    job = stage(most=96)
    job.adapts, job.requested = False, 96
    outcome = job.run(lambda tick: train(tick, epochs=40))
    assert outcome.codes == [0]
    assert outcome.reports[-1].batch_size == 96
    assert outcome.reports[-1].noise_scale is not None
