"""Mixed precision: a GradScaler under accumulation, on several workers, through overflows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.utils.data import TensorDataset

import headway.agent as headway
from headway.agent import loop
from headway.agent.plan import Pass
from headway.agent.probe import GradientProbe
from headway.agent.scaler import PassScaler
from headway.core.model.lr import LearningRateScale
from headway.core.types import BatchChange, BatchMode, BatchRule, RuleName
from headway.protocol.environment import YIELDED

if TYPE_CHECKING:
    from conftest import Stage

pytestmark = pytest.mark.usefixtures("at_every_step")

Maker = Callable[..., "Stage"]
SAMPLES = 97


@dataclass
class Turn:
    last_pass: bool = True

    def scale(self) -> LearningRateScale:
        return LearningRateScale()


HUGE = 2.0**127  # overflows until it has been halved a few times


def data(samples: int) -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(samples, 6, generator=generator)
    labels = (inputs[:, 0] + 0.5 * torch.randn(samples, generator=generator) > 0).long()
    return TensorDataset(inputs, labels)


def train(
    tick: Callable[[], None] = lambda: None,
    *,
    scaler: GradScaler | None = None,
    half: torch.dtype | None = None,
    samples: int = SAMPLES,
    epochs: int = 6,
    rate: float = 0.05,
    zero_last: bool = False,
    loss_of: Callable[[Tensor, int], Tensor] = lambda loss, _: loss,
) -> nn.Module:
    """The script of the manual of torch.amp, with clipping."""
    torch.manual_seed(0)
    scaler = scaler or GradScaler("cpu", enabled=False)
    with headway.attach(checkpoint_every_s=3600) as job:
        model = job.model(nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2)))
        inner = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
        optimizer = job.optimizer(inner, lr_rule="adascale")
        scaler = job.scaler(scaler)
        loader = job.loader(data(samples), batch_size=32, seed=5)
        for _ in job.epochs(epochs):
            for inputs, labels in loader:
                if not zero_last:
                    optimizer.zero_grad()
                with torch.autocast("cpu", dtype=half, enabled=half is not None):
                    loss = nn.functional.cross_entropy(model(inputs), labels)
                loss = loss_of(loss, len(inputs))
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)
                if job.last_pass:
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                if zero_last:
                    optimizer.zero_grad()
                job.step(loss=loss)
                tick()
    return model


def saved(stage: "Stage") -> dict[str, Any]:
    path = max((stage.folder / "checkpoints").glob("*.pt"))
    state: dict[str, Any] = torch.load(path, weights_only=True)
    return state


def growing(scale: float = 2.0**10) -> GradScaler:
    return GradScaler("cpu", init_scale=scale, growth_interval=3)


def assert_close(one: "Stage", other: "Stage", *, atol: float = 0.0) -> None:
    first, second = saved(one)["parts"]["model"], saved(other)["parts"]["model"]
    for name, value in first.items():
        torch.testing.assert_close(second[name], value, rtol=0, atol=atol, msg=name)


@pytest.mark.parametrize(("workers", "per_gpu"), [(1, 32), (1, 11), (2, 4)])
def test_a_scaler_changes_nothing_whatever_the_passes(
    stage: Maker, workers: int, per_gpu: int
) -> None:
    """It once divided the gradients of the first passes before the later ones were added."""
    plain, scaled = stage("plain"), stage("scaled", per_gpu=per_gpu)
    assert plain.run(train).codes == [0]
    assert scaled.run(lambda tick: train(tick, scaler=growing()), workers).codes == [0] * workers
    assert_close(plain, scaled, atol=1e-4)
    steps = 6 * 4  # and after every third of them the scale is doubled
    assert saved(scaled)["parts"]["scaler"]["scale"] == 2.0 ** (10 + steps // 3)


def test_alone_it_trains_bit_for_bit_as_without_a_scheduler(stage: Maker) -> None:
    for name, half in (("single", None), ("bfloat", torch.bfloat16), ("half", torch.float16)):
        job = stage(name)
        script = lambda tick, half=half: train(tick, scaler=growing(HUGE), half=half)  # noqa: E731
        assert job.run(script).codes == [0]
        for key, value in train(scaler=growing(HUGE), half=half).state_dict().items():
            assert torch.equal(saved(job)["parts"]["model"][key], value), (name, key)


def test_its_scale_goes_on_from_the_checkpoint(stage: Maker) -> None:
    whole, cut = stage("whole"), stage("cut")
    script = lambda tick: train(tick, scaler=growing(HUGE))  # noqa: E731
    assert whole.run(script).codes == [0]
    assert cut.run(script, yield_at=5).codes == [YIELDED]
    assert cut.run(script, yield_at=8).codes == [YIELDED]
    assert cut.run(script).codes == [0]
    assert_close(whole, cut)
    assert saved(cut)["parts"]["scaler"] == saved(whole)["parts"]["scaler"]


@pytest.mark.parametrize("passes", [1, 2])
def test_the_scale_is_not_taken_for_gradient(passes: int) -> None:
    """It is a power of two, so what is measured is the same but for the last digit, even where
    the scale moves between the two steps of a pair."""
    found = []
    for scaler in (GradScaler("cpu", enabled=False), growing()):
        torch.manual_seed(0)
        model = nn.Linear(6, 2)
        inputs, labels = data(64).tensors
        probe = GradientProbe(workers=1)
        probe.watch(model.parameters())
        probe.scaled_by(PassScaler(scaler, Turn(), lambda: None).factor)
        for step in range(8):
            model.zero_grad()
            for index in range(passes):
                start, size = 8 * step, 8 // passes
                rows = slice(start + index * size, start + (index + 1) * size)
                one = Pass(start, 8, index, passes, rows.start, rows.stop)
                probe.begin_pass(one, measured=True, chained=True, examples=8.0)
                loss = nn.functional.cross_entropy(model(inputs[rows]), labels[rows])
                scaler.scale(loss).backward()
            scaler.unscale_(sgd := torch.optim.SGD(model.parameters(), lr=0.0))
            scaler.step(sgd)
            scaler.update()
            probe.end_step()
        found.append([(float(one.small), float(one.big)) for one in probe.take()])
    assert len(found[0]) == (7 if passes == 1 else 8)
    for one, other in zip(*found, strict=True):
        assert other == pytest.approx(one, rel=1e-5)


@pytest.mark.parametrize("zero_last", [False, True])
def test_an_overflow_leaves_no_trace(stage: Maker, zero_last: bool) -> None:
    """A script that zeroes its gradients after the step kept infinite ones for ever, once."""
    job = stage(per_gpu=11)
    restless = GradScaler("cpu", init_scale=2.0**22, growth_interval=3)

    def script(tick: Callable[[], None]) -> None:
        train(tick, scaler=restless, half=torch.float16, zero_last=zero_last, epochs=60)

    assert job.run(script, 2).codes == [0, 0]
    state = saved(job)
    assert state["parts"]["scaler"]["scale"] < 2.0**22  # 240 steps would have doubled it 80 times
    assert state["cursor"]["samples"] == 60 * SAMPLES
    assert all(value.isfinite().all() for value in state["parts"]["model"].values())
    reports = job.outcomes[0].reports
    losses = [report.loss for report in reports if report.loss is not None]
    assert losses[-1] < 0.6
    assert reports[-1].noise_scale is not None


@pytest.mark.parametrize("scaled", [True, False])
def test_the_guard_does_not_hear_the_loss_of_an_overflow(stage: Maker, scaled: bool) -> None:
    """What the forward pass overflowed to is no news of the model: its step is not made."""
    large = 0  # batches beyond the initial one

    def spoilt(loss: Tensor, samples: int) -> Tensor:
        nonlocal large
        large += samples > 64
        return loss * inf if large in {30, 40} else loss

    job = stage()  # a net that hardly moves is calm, so the rule has it take large batches
    rule = BatchRule(name=RuleName.ACCORDION, every_epochs=2, eta=0.9)
    job.batch = replace(
        job.batch,
        mode=BatchMode.SCHEDULE,
        rule=rule,
        max_batch_size=128,
        max_batch_per_gpu=128,
    )
    scaler = GradScaler("cpu", init_scale=2.0**10, enabled=scaled)
    script = lambda tick: train(  # noqa: E731
        tick, scaler=scaler, samples=1000, epochs=16, rate=1e-5, loss_of=spoilt
    )
    assert job.run(script).codes == [0]
    text = (job.folder / "checkpoints" / "decisions.jsonl").read_bytes()
    log = [msgspec.json.decode(line, type=BatchChange) for line in text.splitlines()]
    assert max(one.new_batch_size for one in log) > 64
    assert any(one.code == "LossNotANumber" for one in log) is not scaled


@pytest.mark.parametrize("every", [1, 7])
def test_overflows_among_plain_steps_are_not_heard_unless_there_is_no_end_of_them(
    stage: Maker, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    """In a row of such steps one loss in a few is heard; each overflow counts."""
    monkeypatch.setattr(loop, "EVERY_S", 10.0)
    steps = 0

    def spoilt(loss: Tensor, _: int) -> Tensor:
        nonlocal steps
        steps += 1
        return loss * (1e36 if steps % every == 0 else 1.0)

    job = stage()
    job.report_every_s = 3600.0
    scaler = GradScaler("cpu", init_scale=2.0**20, backoff_factor=0.999)
    script = lambda tick: train(  # noqa: E731
        tick, scaler=scaler, samples=24 * 32, epochs=1, loss_of=spoilt
    )
    assert job.run(script).codes == [0]
    (report,) = job.outcomes[0].reports
    assert report.loss is not None
    assert report.loss > 1e30 if every == 1 else report.loss < 10


def test_an_unknown_scaler_is_refused_at_its_first_step(
    stage: Maker, capfd: pytest.CaptureFixture[str]
) -> None:
    def script(tick: Callable[[], None]) -> None:
        job = headway.attach()
        model = job.model(nn.Linear(6, 2))
        optimizer = job.optimizer(torch.optim.SGD(model.parameters(), lr=0.1))
        loader = job.loader(data(SAMPLES), batch_size=32)
        scaler = GradScaler("cpu")
        for _ in job.epochs(1):
            for inputs, labels in loader:
                scaler.scale(nn.functional.cross_entropy(model(inputs), labels)).backward()
                scaler.step(optimizer)
                job.step()

    assert stage().run(script).codes == [1]
    assert "scaler = job.scaler(GradScaler(...))" in capfd.readouterr().err
