"""The guard: it lets a healthy training alone, and notices one that is not."""

from dataclasses import asdict
from math import inf, nan

import numpy as np
import pytest

from headway.core.model.guard import IN_A_ROW, LEAST_LOOKS, Guard
from headway.core.types import ChangeCode


def listened(
    losses: list[float], guard: Guard | None = None, *, examples: float = 320.0
) -> tuple[Guard, list[ChangeCode]]:
    guard, said = guard or Guard(), []
    for loss in losses:
        guard = guard.heard(loss, examples, 32)
        code = guard.departed(loss)
        if code is not None:
            said.append(code)
    return guard, said


def falling(count: int, seed: int = 0, noise: float = 0.1) -> list[float]:
    """A loss as it is: falls like a power, with noise that is now and then three times as large."""
    rng = np.random.default_rng(seed)
    return (2 * (1 + np.arange(count)) ** -0.3 + noise * rng.standard_t(4, count)).tolist()


@pytest.mark.parametrize("examples", [320.0, 25_600.0])
@pytest.mark.parametrize("seed", range(20))
def test_a_healthy_training_is_left_alone(seed: int, examples: float) -> None:
    """Also one of steps so short that many are made between two looks: the forecast was the last
    look alone, and what usually lies between two was one difference."""
    assert listened(falling(2000, seed), examples=examples)[1] == []


def test_a_single_spike_passes() -> None:
    losses = falling(100)
    losses[60] = 50.0
    assert listened(losses)[1] == []


@pytest.mark.parametrize("broken", [nan, inf])
def test_no_number_is_a_departure_at_once(broken: float) -> None:
    assert listened([broken])[1] == [ChangeCode.NOT_A_NUMBER]


def test_a_training_that_diverges_is_noticed_within_few_looks() -> None:
    guard, _ = listened(falling(200))
    rising = [guard.loss * 1.3**look for look in range(12)]
    after, said = listened(rising, guard)
    assert said
    assert set(said) == {ChangeCode.LOSS_LEFT}
    assert after.loss < guard.limit  # what departs is not learned from


@pytest.mark.parametrize("examples", [320.0, 25_600.0])
def test_a_rise_that_begins_slowly_is_noticed_before_it_is_large(examples: float) -> None:
    """It was learned from wherever looks are of many steps, to the end of numbers."""
    guard, _ = listened([2.0] * 300, examples=examples)
    rising = (2.0 * np.cumprod(1.01 ** np.arange(1, 13))).tolist()
    assert listened(rising, guard, examples=examples)[1]


def test_it_needs_a_forecast_before_it_judges() -> None:
    assert listened([1.0] * (LEAST_LOOKS - 1) + [100.0] * IN_A_ROW)[1] == []
    assert listened([1.0] * LEAST_LOOKS + [100.0] * IN_A_ROW)[1] == [ChangeCode.LOSS_LEFT]


def test_a_loss_near_zero_may_move_by_many_times_itself() -> None:
    """digits-cnn at a loss of 0.0002 fell back to the base batch for one of 0.002."""
    guard, _ = listened(falling(100, noise=0.01))
    guard, _ = listened([0.0002] * 5000, guard)
    assert listened([0.002] * 20, guard)[1] == []
    assert listened([0.3] * 20, guard)[1] != []


def test_what_a_loss_has_come_down_is_known_after_a_fall() -> None:
    guard, _ = listened([2.0] * LEAST_LOOKS)
    guard = guard.fallen(1000, 32)
    guard, _ = listened([0.0002] * LEAST_LOOKS, guard)
    assert listened([0.002] * IN_A_ROW, guard)[1] == []


@pytest.mark.parametrize("falls", [False, True])
def test_a_spike_is_not_what_a_loss_has_come_down_from(falls: bool) -> None:
    """Neither at the very first step nor while the weights mend after a fall: a hundredth of 1e6
    would hide any departure that follows."""
    guard, _ = listened([2.0] * LEAST_LOOKS if falls else [])
    guard = guard.fallen(1000, 32) if falls else guard
    guard, _ = listened([1e6, 1e5, 1e4, 1e3, *[2.0] * 1000], guard)
    assert listened([20.0] * IN_A_ROW, guard)[1] == [ChangeCode.LOSS_LEFT]


def test_a_guard_that_was_kept_without_it_goes_on() -> None:
    """Checkpoints had no such field."""
    kept = asdict(listened(falling(100))[0])
    del kept["most"]
    guard, said = listened(falling(2000)[100:], Guard(**kept))
    assert said == []
    assert listened([20.0] * IN_A_ROW, guard)[1] == [ChangeCode.LOSS_LEFT]


def test_a_loss_below_zero_has_a_forecast_like_any_other() -> None:
    guard, _ = listened([-5.0 - 0.01 * look for look in range(100)])
    assert listened([-3.0] * IN_A_ROW, guard)[1] == [ChangeCode.LOSS_LEFT]


def test_after_a_fall_the_batch_is_held_longer_each_time() -> None:
    guard = Guard().fallen(1000, 32)
    assert (guard.falls, guard.looks, guard.held_until_samples) == (1, 0, 1000 + 512 * 32)
    assert guard.fallen(50_000, 32).held_until_samples == 50_000 + 2 * 512 * 32
