"""A learning-rate scheduler by samples: as often as at M0, with a longer warm-up for LEGW."""

from dataclasses import dataclass

import pytest
import torch
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR

from headway.agent.optimizer import UNSCALED
from headway.agent.paced import PacedScheduler
from headway.core.model.lr import LearningRateScale


@dataclass
class Pace:
    steps: int = 0
    factor: LearningRateScale = UNSCALED

    def schedule_steps(self) -> int:
        return self.steps

    def scale(self) -> LearningRateScale:
        return self.factor


def optimizer() -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)


def rates(pace: Pace, scheduler: PacedScheduler, at: list[int]) -> list[float]:
    found = []
    for steps in at:
        pace.steps = steps
        scheduler.inner.optimizer.step()  # or torch would warn
        scheduler.step()
        found.append(float(scheduler.get_last_lr()[0]))
    return found


def test_it_makes_up_for_steps_that_were_larger_and_waits_for_smaller_ones() -> None:
    pace = Pace()
    scheduler = PacedScheduler(LambdaLR(optimizer(), lambda step: 1.0 + step), pace)
    assert rates(pace, scheduler, [1, 1, 5, 5, 6]) == [2, 2, 6, 6, 7]


def test_a_cycle_of_fixed_length_ends_with_the_training() -> None:
    """Stepped once a step, OneCycleLR raises where there are more steps than it was told."""
    pace, sgd = Pace(), optimizer()
    scheduler = PacedScheduler(OneCycleLR(sgd, 0.1, total_steps=101), pace)
    found = rates(pace, scheduler, [4 * step for step in range(26)])
    assert max(found) == pytest.approx(0.1, rel=0.01)
    assert found[-1] == pytest.approx(0.1 / 25 / 1e4)


def test_legw_stretches_the_warmup_in_samples() -> None:
    """You et al. 2019: k times the batch, k times the epochs of warm-up; what follows is kept."""
    pace = Pace(factor=LearningRateScale(rate=2.0, warmup=4.0))
    warm = LambdaLR(optimizer(), lambda step: min(step / 10, 1.0) * (1 - step / 100))
    scheduler = PacedScheduler(warm, pace, warmup_steps=10)
    found = rates(pace, scheduler, [0, 20, 36, 40, 60])
    assert found == pytest.approx([0.0, 0.5 * 0.95, 0.9 * 0.91, 0.6, 0.4])


def test_it_never_goes_back() -> None:
    pace = Pace()
    scheduler = PacedScheduler(
        LambdaLR(optimizer(), lambda step: 1.0 + step), pace, warmup_steps=10
    )
    rates(pace, scheduler, [8])
    pace.factor = LearningRateScale(warmup=4.0)
    assert rates(pace, scheduler, [9, 36]) == [9, 10]


def test_its_state_goes_on() -> None:
    pace = Pace()
    first = PacedScheduler(LambdaLR(optimizer(), lambda step: 1.0 + step), pace)
    rates(pace, first, [7])
    again = PacedScheduler(LambdaLR(optimizer(), lambda step: 1.0 + step), pace)
    again.load_state_dict(first.state_dict())
    assert rates(pace, again, [7, 8]) == [8, 9]
