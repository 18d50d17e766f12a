"""Learning-rate rules: their identities, and what they do to Adam."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.model.lr import LearningRateScale, LrRule, scale_lr

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
