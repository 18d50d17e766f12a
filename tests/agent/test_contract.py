"""The batch contract in real training: schedules, rules, the guard, bounds, and a log replayed."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from math import nan
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau
from torch.utils.data import TensorDataset

import headway.agent as headway
from headway.agent.job import MisuseError
from headway.core.types import (
    BatchChange,
    BatchMode,
    BatchRule,
    RuleName,
    ScheduledBatch,
)
from headway.protocol.environment import YIELDED

if TYPE_CHECKING:
    from conftest import Stage

pytestmark = pytest.mark.usefixtures("at_every_step", "steady")

Maker = Callable[..., "Stage"]
Told = Callable[[Tensor, int], Tensor | float]


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step takes as long as any other, whatever else the machine does: a larger batch is
    free, and so comes. Of real times of a quarter of a millisecond a busy machine made nothing."""
    looks = count()
    monkeypatch.setattr(time, "perf_counter", lambda: 1e-4 * next(looks))


def data(samples: int, signal: float) -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(samples, 6, generator=generator)
    labels = signal * inputs[:, 0] + torch.randn(samples, generator=generator) > 0
    return TensorDataset(inputs, labels.long())


def train(
    tick: Callable[[], None],
    *,
    epochs: int = 20,
    samples: int = 1000,
    rate: float = 0.05,
    plain: bool = True,
    rule: str = "adascale",
    seed: int = 5,
    signal: float = 1.0,
    told: Told = lambda loss, _: loss,
) -> None:
    """``plain``: without what depends on how a batch is cut up."""
    torch.manual_seed(0)
    with headway.attach(checkpoint_every_s=3600) as job:
        last = nn.Linear(16, 2) if plain else nn.Sequential(nn.Dropout(0.2), nn.Linear(16, 2))
        middle = nn.Tanh() if plain else nn.BatchNorm1d(16)
        model = job.model(nn.Sequential(nn.Linear(6, 16), middle, last))
        inner = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
        optimizer = job.optimizer(inner, lr_rule=rule)
        loader = job.loader(data(samples, signal), batch_size=32, seed=seed)
        scheduler = job.lr_scheduler(LambdaLR(optimizer, lambda step: 1 / (1 + 1e-3 * step)))
        passes = 0  # of more than 64 samples
        for _ in job.epochs(epochs):
            for inputs, labels in loader:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(inputs), labels)
                loss.backward()
                optimizer.step()
                passes += len(inputs) > 64
                job.step(loss=told(loss, passes))
                scheduler.step()
                tick()


def saved(stage: "Stage") -> dict[str, Any]:
    path = max((stage.folder / "checkpoints").glob("*.pt"))
    state: dict[str, Any] = torch.load(path, weights_only=True)
    return state


def log_of(stage: "Stage") -> list[BatchChange]:
    text = (stage.folder / "checkpoints" / "decisions.jsonl").read_bytes()
    return [msgspec.json.decode(line, type=BatchChange) for line in text.splitlines()]


def sizes(log: list[BatchChange]) -> list[tuple[int, int, str]]:
    """(samples, batch size, code) of what changed the size."""
    return [
        (one.samples, one.new_batch_size, str(one.code))
        for one in log
        if one.new_batch_size != one.old_batch_size
    ]


RAMP = (ScheduledBatch(0, 16), ScheduledBatch(500, 32), ScheduledBatch(1400, 80))


def scheduled(stage: "Stage") -> "Stage":
    stage.batch = replace(
        stage.batch, mode=BatchMode.SCHEDULE, schedule=RAMP, max_batch_size=80, max_batch_per_gpu=40
    )
    return stage


def test_a_schedule_is_followed_by_samples_across_resizes(stage: Maker) -> None:
    """Three sizes of job and one: the same steps, so the same weights but for rounding."""
    whole, cut = scheduled(stage("whole")), scheduled(stage("cut"))
    script = lambda tick: train(tick, epochs=3, rule="linear")  # noqa: E731
    assert whole.run(script).codes == [0]
    assert cut.run(script, 3, yield_at=20).codes == [YIELDED] * 3
    assert cut.run(script, 1, yield_at=25).codes == [YIELDED]
    assert cut.run(script, 2).codes == [0] * 2
    # 16 a step reach 500 at 512; 512 + 15 x 32 and the 8 that are left end the first epoch
    expected = [(512, 32, "Scheduled"), (1416, 80, "Scheduled")]
    for job in (whole, cut):
        assert sizes(log_of(job)) == expected
        assert saved(job)["cursor"]["samples"] == 3000
        assert saved(job)["cursor"]["progress_examples"] == 3000.0
    for name, value in saved(whole)["parts"]["model"].items():
        torch.testing.assert_close(saved(cut)["parts"]["model"][name], value)


def test_a_schedule_says_the_rate_that_its_rule_gives(stage: Maker) -> None:
    job = scheduled(stage())
    job.batch = replace(job.batch, max_lr_factor=2.0)
    assert job.run(lambda tick: train(tick, epochs=3, rule="linear")).codes == [0]
    # 16, 32 and 80 in place of 32; the owner allows at most twice the rate
    assert [one.lr_factor for one in log_of(job)] == [0.5, 1.0, 2.0]
    assert log_of(job)[0].lr == pytest.approx(0.025)


def test_a_paced_scheduler_ends_where_it_would_at_m0(stage: Maker) -> None:
    """Three epochs of 1,000 are 96 steps of 32, in however many steps they are made."""
    for name, most in (("fixed", None), ("free", 256)):
        job = stage(name, most=most)
        assert job.run(lambda tick: train(tick, epochs=60), yield_at=100).codes == [YIELDED]
        assert job.run(lambda tick: train(tick, epochs=60)).codes == [0]
        made = saved(job)["parts"]["lr_scheduler"]["made"]
        if most is None:
            assert made == 60 * 32
        else:  # ends by progress, in the middle of what would be a step at M0
            assert 60 * 32 <= made <= 60 * 32 * 1.1
            assert len(sizes(log_of(job))) > 0


@pytest.mark.usefixtures("measured_often")
@pytest.mark.parametrize("name", RuleName)
def test_a_rule_is_followed_after_epochs(stage: Maker, name: RuleName) -> None:
    """A net that hardly moves has gradients that stay as they are; one that has learnt all that
    there is to learn, for there is no signal, has gradients that are all noise."""
    job = stage()
    signal, rate = (3.0, 1e-5) if name is RuleName.ACCORDION else (0.0, 0.05)
    rule = BatchRule(name=name, every_epochs=2, eta=0.9)
    job.batch = replace(job.batch, mode=BatchMode.SCHEDULE, rule=rule, max_batch_size=128)
    script = lambda tick: train(tick, epochs=12, rate=rate, signal=signal)  # noqa: E731
    assert job.run(script, 2, yield_at=100).codes == [YIELDED] * 2
    assert job.run(script, 1).codes == [0]
    found = sizes(log_of(job))
    assert saved(job)["cursor"]["samples"] == 12_000
    if name is RuleName.ACCORDION:  # two looks make a change
        assert found[0] == (4000, 128, "CalmRegime")
    else:
        ends = [samples for samples, _, _ in found]
        code = "NoiseAboveBatch"
        assert found == [(at, size, code) for at, size in zip(ends, (64, 128), strict=True)]
        assert all(samples % 2000 == 0 for samples in ends)


def replayed(job: "Stage", fresh: "Stage") -> "Stage":
    fresh.batch = replace(job.batch, replay=tuple(log_of(job)))
    return fresh


@pytest.mark.parametrize("mode", [BatchMode.ADAPTIVE, BatchMode.SCHEDULE])
def test_a_replayed_log_gives_the_same_weights_bit_for_bit(stage: Maker, mode: BatchMode) -> None:
    """Dropout and batch statistics feel every change of (m, s); the rate follows every phi."""
    job = stage("job", most=256, per_gpu=48)
    expected = {"Began", "BetterGoodput"}
    if mode is BatchMode.SCHEDULE:
        job.batch = replace(job.batch, mode=mode, schedule=RAMP)
        expected = {"Began", "Scheduled", "NoiseScaleMoved"}
    script = lambda tick: train(tick, epochs=60, plain=False)  # noqa: E731
    assert job.run(script, yield_at=400).codes == [YIELDED]
    assert job.run(script).codes == [0]
    log = log_of(job)
    assert {str(one.code) for one in log} >= expected
    again = replayed(job, stage("again"))
    assert again.run(script).codes == [0]
    first, second = saved(job), saved(again)
    assert first["cursor"] == second["cursor"]
    for name, value in first["parts"]["model"].items():
        assert torch.equal(value, second["parts"]["model"][name]), name
    kept = {(one.samples, one.new_batch_size, one.lr_factor) for one in log_of(again)[1:]}
    assert kept <= {(one.samples, one.new_batch_size, one.lr_factor) for one in log}


def test_the_log_of_several_workers_can_be_replayed_by_one(stage: Maker) -> None:
    job = stage("job", most=128)
    script = lambda tick: train(tick, epochs=20)  # noqa: E731
    assert job.run(script, 2, yield_at=150).codes == [YIELDED] * 2
    assert job.run(script, 1).codes == [0]
    again = replayed(job, stage("again"))
    assert again.run(script, 1).codes == [0]
    assert saved(again)["cursor"]["samples"] == saved(job)["cursor"]["samples"]
    for name, value in saved(job)["parts"]["model"].items():
        torch.testing.assert_close(
            saved(again)["parts"]["model"][name], value, rtol=1e-3, atol=1e-4
        )


@pytest.mark.parametrize("changed", [{"rule": "linear"}, {"seed": 6}])
def test_a_log_is_replayed_by_its_own_script_alone(
    stage: Maker, changed: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    job = stage("job")
    assert job.run(lambda tick: train(tick, epochs=1)).codes == [0]
    again = replayed(job, stage("again"))
    assert again.run(lambda tick: train(tick, epochs=1, **changed)).codes == [1]
    assert "make them equal" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "code"),
    [(lambda _: nan, "LossNotANumber"), (lambda loss: loss + 50, "LossLeftForecast")],
)
def test_the_guard_brings_the_base_batch_back(
    stage: Maker, wrong: Callable[[Tensor], Any], code: str
) -> None:
    job = stage(most=256)

    def told(loss: Tensor, passes: int) -> Any:
        return wrong(loss) if 41 <= passes < 49 else loss  # late enough to have a forecast

    assert job.run(lambda tick: train(tick, epochs=60, told=told)).codes == [0]
    log = log_of(job)
    fall = next(one for one in log if str(one.code) == code)
    assert fall.new_batch_size == 32 < fall.old_batch_size
    assert "loss" in fall.why
    after = [one for one in log if one.samples > fall.samples and one.new_batch_size > 32]
    assert all(one.samples >= fall.samples + 512 * 32 for one in after)


def test_a_frozen_batch_stays_before_and_after(stage: Maker) -> None:
    job = stage(most=256)
    job.batch = replace(job.batch, freeze_before_samples=20_000, freeze_after_samples=80_000)
    assert job.run(lambda tick: train(tick, epochs=120)).codes == [0]
    changes = sizes(log_of(job))
    assert changes
    assert all(20_000 <= samples < 80_000 for samples, _, _ in changes)


def test_training_that_goes_on_from_a_checkpoint_says_what_it_takes_back(stage: Maker) -> None:
    """The log has records that the checkpoint, which is older, knows nothing of."""
    job = stage(most=256)

    def dies(tick: Callable[[], None]) -> None:
        train(tick, epochs=60, told=_killed_after(5))

    assert job.run(lambda tick: train(tick, epochs=60), yield_at=5).codes == [YIELDED]
    assert job.run(dies).codes == [1]
    assert job.run(lambda tick: train(tick, epochs=60)).codes == [0]
    log = log_of(job)
    back = next(index for index, one in enumerate(log) if str(one.code) == "BackToCheckpoint")
    assert 5 * 32 >= log[back].samples < log[back - 1].samples
    again = replayed(job, stage("again"))
    assert again.run(lambda tick: train(tick, epochs=60)).codes == [0]
    for name, value in saved(job)["parts"]["model"].items():
        assert torch.equal(value, saved(again)["parts"]["model"][name]), name


def _killed_after(passes: int) -> Told:
    def told(loss: Tensor, made: int) -> Tensor:
        if made == passes:
            raise SystemExit(1)
        return loss

    return told


def test_a_scheduler_that_goes_by_a_metric_is_refused(stage: Maker) -> None:
    def script(_: Callable[[], None]) -> None:
        job = headway.attach()
        optimizer = job.optimizer(torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0))
        with pytest.raises(MisuseError, match="ReduceLROnPlateau goes by a metric"):
            job.lr_scheduler(ReduceLROnPlateau(optimizer))  # type: ignore[arg-type]

    assert stage().run(script).codes == [0]


def test_without_a_scheduler_the_scripts_own_is_left_alone() -> None:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    own = LambdaLR(optimizer, lambda step: 1 / (1 + step))
    assert headway.attach().lr_scheduler(own) is own
