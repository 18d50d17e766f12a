"""Learning-rate rules: their identities, and what they do to Adam."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.model.lr import (
    LearningRateScale,
    LrRule,
    scale_lr,
    steps_at_initial,
    with_longer_warmup,
)

noise_scales = st.none() | st.floats(0, 1e9) | st.just(inf)


@pytest.mark.parametrize("rule", LrRule)
@given(noise=noise_scales, initial=st.integers(1, 10_000))
def test_no_rule_changes_anything_at_the_initial_batch(
    rule: LrRule, noise: float | None, initial: int
) -> None:
    scale = scale_lr(rule, initial_batch_size=initial, batch_size=initial, noise_scale=noise)
    assert scale == LearningRateScale()


@given(noise=noise_scales, initial=st.integers(1, 10_000), growth=st.floats(1, 100))
def test_adascale_lies_between_hold_and_linear(
    noise: float | None, initial: int, growth: float
) -> None:
    """AdaScale's r: 1 where the gradient has no noise, M / M0 where it is all noise."""
    rates = [
        scale_lr(rule, initial_batch_size=initial, batch_size=initial * growth, noise_scale=noise)
        for rule in (LrRule.HOLD, LrRule.ADASCALE, LrRule.LINEAR)
    ]
    assert rates[0].rate * (1 - 1e-9) <= rates[1].rate <= rates[2].rate * (1 + 1e-9)


@pytest.mark.parametrize(
    ("rule", "rate", "warmup"),
    [
        (LrRule.ADASCALE, (300 / 100 + 1) / (300 / 400 + 1), 1.0),
        (LrRule.ADAM_SCALE, ((300 / 100 + 1) / (300 / 400 + 1)) ** 0.5, 1.0),
        (LrRule.SQRT, 2.0, 1.0),
        (LrRule.LINEAR, 4.0, 1.0),
        (LrRule.LEGW, 2.0, 4.0),
        (LrRule.HOLD, 1.0, 1.0),
    ],
)
def test_rules_by_hand(rule: LrRule, rate: float, warmup: float) -> None:
    """By hand, for four times the batch and phi = 3 M0."""
    scale = scale_lr(rule, initial_batch_size=100, batch_size=400, noise_scale=300.0)
    assert scale.rate == pytest.approx(rate)
    assert scale.warmup == pytest.approx(warmup)


def test_without_a_noise_scale_adascale_holds() -> None:
    for rule in (LrRule.ADASCALE, LrRule.ADAM_SCALE):
        scale = scale_lr(rule, initial_batch_size=100, batch_size=800)
        assert scale.rate == pytest.approx(1)


def test_square_root_scaling_of_adam() -> None:
    """Malladi et al. 2022: 1 - beta grows with the batch, epsilon falls with its root."""
    scale = scale_lr(LrRule.SQRT, initial_batch_size=32, batch_size=128)
    assert scale.beta(0.9) == pytest.approx(0.6)
    assert scale.beta(0.999) == pytest.approx(0.996)
    assert scale.epsilon == pytest.approx(0.5)


@given(beta=st.floats(0, 0.9999), growth=st.floats(1 / 64, 64))
def test_a_scaled_beta_is_still_a_beta(beta: float, growth: float) -> None:
    """1 - 0.9 times 16 is 1.6: unbounded, Adam's beta would be negative."""
    scale = scale_lr(LrRule.SQRT, initial_batch_size=1000, batch_size=1000 * growth)
    assert 0 <= scale.beta(beta) < 1
    if growth >= 1:
        assert scale.beta(beta) <= beta + 1e-12
    assert LearningRateScale().beta(beta) == beta


@given(st.integers(1, 100), st.integers(1, 40), st.integers(0, 5))
def test_at_m0_a_schedule_makes_one_step_a_step(samples: int, size: int, epochs: int) -> None:
    """Whole epochs with a short last step each: the schedule is where the steps are."""
    steps, read = 0, 0
    for _ in range(epochs):
        for start in range(0, samples, size):
            steps, read = steps + 1, read + min(size, samples - start)
            found = steps_at_initial(read, epoch_samples=samples, initial_batch_size=size)
            assert found == steps


def test_a_schedule_goes_by_samples_whatever_the_batch() -> None:
    at = [steps_at_initial(read, epoch_samples=1000, initial_batch_size=32) for read in (128, 1000)]
    assert at == [4, 32]


@given(st.integers(0, 1000), st.integers(0, 100), st.floats(1, 32))
def test_legw_stretches_the_warmup_and_nothing_else(
    steps: int, warmup_steps: int, warmup: float
) -> None:
    found = with_longer_warmup(steps, warmup_steps=warmup_steps, warmup=warmup)
    if steps >= warmup_steps * warmup:
        assert found == steps
    else:
        assert found == int(steps / warmup) < warmup_steps


@given(st.sampled_from(LrRule), st.integers(32, 4096), st.floats(0, 1e6), st.floats(1, 8))
def test_no_rule_goes_beyond_the_owners_bound(
    rule: LrRule, size: int, phi: float, most: float
) -> None:
    free = scale_lr(rule, initial_batch_size=32, batch_size=size, noise_scale=phi)
    bound = scale_lr(rule, initial_batch_size=32, batch_size=size, noise_scale=phi, most=most)
    assert bound.rate == min(free.rate, most)
    assert (bound.warmup, bound.forgetting, bound.epsilon) == (
        free.warmup,
        free.forgetting,
        free.epsilon,
    )
