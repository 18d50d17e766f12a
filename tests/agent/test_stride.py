"""Plain steps in a row: none is lost, none is plain that somebody wants to see."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from headway.agent.meter import Meter
from headway.agent.optimizer import UNSCALED, ScaledOptimizer
from headway.agent.plan import Pass, Split
from headway.agent.stride import ONE_HEARD_OF, Stride
from headway.core.model.lr import LearningRateScale


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Quiet:
    """A meter that lets so many steps pass."""

    left: int
    told: list[tuple[int, list[float]]] = field(default_factory=list)

    def plain_ahead(self) -> int:
        return self.left

    def begin_plain(self) -> None:
        pass

    def passed(self, step_size: int, laps_s: list[float]) -> None:
        self.told.append((step_size, laps_s))


@dataclass
class Steering:
    until: int = 1 << 30
    steps_since_turn: int = 0
    course: object = field(default_factory=lambda: SimpleNamespace(split=Split(32, 1, 32)))
    factor: LearningRateScale = UNSCALED

    def unasked_ahead(self, samples: int, most: int) -> int:
        return min(self.until, most)

    def worth(self, samples: int) -> float:
        return float(samples)

    def scale(self, samples: int) -> LearningRateScale:
        return self.factor


def a_step(start: int, size: int = 32, passes: int = 1) -> Pass:
    return Pass(start, size, 0, passes, start, start + size)


def made(left: int, until: int = 1 << 30) -> tuple[Stride, Quiet, Steering, Clock]:
    meter, steering, clock = Quiet(left), Steering(until), Clock()
    stride = Stride(clock, meter, steering, [])
    stride.look_ahead(0, 100)
    return stride, meter, steering, clock


def test_steps_are_counted_and_timed_and_told_when_the_row_ends() -> None:
    stride, meter, steering, clock = made(left=3)
    goes_on, heard = [], 0
    for index in range(3):
        assert stride.begin(a_step(32 * index))
        clock.now_s += 2.0
        heard += stride.heard()
        goes_on.append(stride.end())
    clock.now_s += 50.0  # no step's
    assert goes_on == [True, True, False]
    assert heard == 1
    assert stride.settle() == (96, 3)
    assert meter.told == [(32, [2.0] * 3)]
    assert steering.steps_since_turn == 3
    assert stride.settle() == (0, 0)
    assert not stride.begin(a_step(96))


@pytest.mark.parametrize("other", [a_step(32, size=7), a_step(32, passes=2)])
def test_another_kind_of_step_ends_the_row_for_good(other: Pass) -> None:
    """What follows it is plain again once somebody has looked ahead, not before."""
    stride, *_ = made(left=9)
    assert stride.begin(a_step(0))
    stride.heard()
    stride.end()
    assert not stride.begin(other)
    assert stride.settle() == (32, 1)
    assert not stride.begin(a_step(64))
    stride.look_ahead(64, 100)
    assert stride.begin(a_step(64))


def test_a_step_that_the_script_has_made_but_not_left_is_read_but_not_ended() -> None:
    stride, _, _, _ = made(left=9)
    stride.begin(a_step(0))
    stride.heard()
    assert stride.settle() == (32, 0)


def test_what_happens_between_two_rows_or_after_a_loop_was_left_is_no_steps_time() -> None:
    stride, meter, _, clock = made(left=9)
    stride.begin(a_step(0))
    clock.now_s += 2.0
    stride.end()
    stride.settle()  # an epoch ends
    clock.now_s += 50.0
    stride.begin(a_step(32))
    clock.now_s += 50.0  # the script leaves the loop over batches, and comes back
    stride.begin(a_step(32))
    clock.now_s += 3.0
    stride.end()
    stride.settle()
    assert meter.told == [(32, [2.0]), (32, [3.0])]


def test_the_row_ends_where_somebody_must_be_asked() -> None:
    stride, _, _, _ = made(left=50, until=2)
    plain = 0
    while stride.begin(a_step(32 * plain)):
        plain += 1
        stride.end()
    assert plain == 2


def test_one_loss_in_so_many_is_heard() -> None:
    stride, _, _, _ = made(left=100)
    assert sum(stride.heard() for _ in range(10 * ONE_HEARD_OF)) == 10


@dataclass
class Asked:
    """What an optimizer asks of the loop, and how often."""

    factor: LearningRateScale
    times: int = 0
    last_pass: bool = True

    def scale(self) -> LearningRateScale:
        self.times += 1
        return self.factor


@pytest.mark.parametrize("factor", [UNSCALED, LearningRateScale(rate=3.0)])
def test_in_a_row_of_unscaled_steps_an_optimizer_asks_nobody(factor: LearningRateScale) -> None:
    """And after it as ever; where steps are scaled each of them is."""
    weight, asked = nn.Parameter(torch.zeros(1)), Asked(factor)
    optimizer = ScaledOptimizer(torch.optim.SGD([weight], lr=1.0), asked)
    stride = Stride(Clock(), Quiet(4), Steering(factor=factor), [optimizer])  # type: ignore[arg-type]
    stride.look_ahead(0, 100)
    for index in range(6):
        stride.begin(a_step(32 * index))
        optimizer.zero_grad()
        weight.grad = torch.ones(1)
        optimizer.step()
        stride.end()
    assert weight.item() == -6 * factor.rate
    assert asked.times == (2 if factor is UNSCALED else 6)


def test_another_generation_begins_with_optimizers_that_ask() -> None:
    weight, asked = nn.Parameter(torch.zeros(1)), Asked(LearningRateScale(rate=3.0))
    optimizer = ScaledOptimizer(torch.optim.SGD([weight], lr=1.0), asked)
    optimizer.let_step(unasked=True)
    Stride(Clock(), Quiet(4), Steering(), [optimizer])  # type: ignore[arg-type]
    weight.grad = torch.ones(1)
    optimizer.step()
    assert weight.item() == -3.0


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("every", [2, 4, 64])
def test_no_measured_step_is_passed_over(every: int, halves: bool) -> None:
    """Differences are taken of two steps in a row, the first of them one in so many. A halved one
    stands alone: the next used to be no plain one for nothing."""
    meter = Meter(workers=1, nodes=1, initial_batch_size=32, halves=halves)
    measured = {0} if halves else {0, 1}
    meter.every = every
    for _ in range(3):  # warming up
        one = a_step(0)
        meter.begin_pass(one)
        meter.end_pass(one)
    for steps in range(3, 3 * every):
        meter.steps = steps
        passed = {step % every for step in range(steps, steps + meter.plain_ahead())}
        assert passed == set(range(steps % every, every)) - measured or steps % every in measured
        assert not passed & measured
    meter.restart()  # another shape: its first steps are not representative
    assert meter.plain_ahead() == 0


def test_several_workers_have_no_plain_steps() -> None:
    assert Meter(workers=2, nodes=1, initial_batch_size=32, halves=False).plain_ahead() == 0
