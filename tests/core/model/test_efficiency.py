"""Laws of statistical efficiency and of AdaScale's gain."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.model.efficiency import (
    DOUBLED_STEPS,
    assumed_noise_scale,
    efficiency,
    efficiency_error,
    followable,
    gain,
)

noise_scales = st.floats(0, 1e12) | st.just(inf)
initials = st.integers(1, 100_000)
growths = st.floats(1, 1000)


@given(noise=noise_scales, initial=initials, growth=growths)
def test_efficiency_is_a_share_that_falls_with_the_batch(
    noise: float, initial: int, growth: float
) -> None:
    share = efficiency(noise, initial, initial * np.array([1, growth, 2 * growth]))
    assert share[0] == 1
    assert np.all(share > 0)
    assert np.all(np.diff(share) <= 0)


@given(noise=st.floats(0, 1e6), initial=initials, growth=growths)
def test_efficiency_is_pollux_eqn_6(noise: float, initial: int, growth: float) -> None:
    batch = initial * growth
    assert efficiency(noise, initial, batch) == pytest.approx((noise + initial) / (noise + batch))


@given(initial=initials, growth=growths)
def test_no_noise_makes_larger_batches_useless_and_endless_noise_makes_them_free(
    initial: int, growth: float
) -> None:
    assert efficiency(0.0, initial, initial * growth) == pytest.approx(1 / growth)
    assert efficiency(inf, initial, initial * growth) == 1


@given(noise=st.floats(0, 1e6), initial=initials, growth=growths)
def test_a_small_error_of_the_noise_scale_moves_efficiency_by_so_much(
    noise: float, initial: int, growth: float
) -> None:
    batch, off = initial * growth, 1e-6 * (noise + initial)
    moved = float(efficiency(noise + off, initial, batch) / efficiency(noise, initial, batch)) - 1
    expected = pytest.approx(moved, rel=1e-4, abs=1e-9)
    assert efficiency_error(noise, off, initial, batch) == expected


@given(noise=noise_scales, error=st.floats(0, 1e300), initial=initials)
def test_the_worth_of_the_initial_batch_size_is_certain(
    noise: float, error: float, initial: int
) -> None:
    assert efficiency_error(noise, error, initial, initial) == 0.0


@given(error=st.floats(0, 1e300), initial=initials, growth=growths)
def test_endless_noise_makes_every_batch_certain(error: float, initial: int, growth: float) -> None:
    assert efficiency_error(inf, error, initial, initial * growth) == 0.0


def test_no_estimate_counts_as_no_noise() -> None:
    assert assumed_noise_scale(None) == 0
    assert assumed_noise_scale(-3.0) == 0  # an unbiased estimator may go below zero
    assert assumed_noise_scale(7.5) == 7.5
    assert assumed_noise_scale(inf) == inf


@given(noise=st.floats(0, 1e6), initial=initials, growth=growths)
def test_gain_is_adascale(noise: float, initial: int, growth: float) -> None:
    """Johnson et al. (AdaScale SGD, 2020), in phi: r = (phi/M0 + 1) / (phi/M + 1)."""
    batch = initial * growth
    expected = (noise / initial + 1) / (noise / batch + 1)
    assert gain(noise, initial, batch) == pytest.approx(expected)


@given(noise=noise_scales, initial=initials, growth=growths)
def test_gain_lies_between_one_and_the_growth_of_the_batch(
    noise: float, initial: int, growth: float
) -> None:
    worth = float(gain(noise, initial, initial * growth))
    assert 1 - 1e-12 <= worth <= growth * (1 + 1e-12)
    assert gain(noise, initial, initial) == 1
    assert gain(inf, initial, initial * growth) == pytest.approx(growth)
    assert gain(0.0, initial, initial * growth) == pytest.approx(1)


@given(
    noise=noise_scales,
    held=st.none() | st.floats(0, 1e9),
    initial=initials,
    growth=growths,
    steps=st.integers(0, 1000),
)
def test_a_gain_rises_as_fast_as_a_training_can_follow(
    noise: float, held: float | None, initial: int, growth: float, steps: int
) -> None:
    batch = initial * growth
    found = followable(noise, held, initial, batch, steps)
    assert found is not None
    assert 0 <= found <= noise * (1 + 1e-9) + 1e-9
    before = float(gain(assumed_noise_scale(held), initial, batch))
    after, wanted = float(gain(found, initial, batch)), float(gain(noise, initial, batch))
    most = before * 2 ** min(steps / DOUBLED_STEPS, 1)
    assert after == pytest.approx(min(wanted, most), rel=1e-6)


def test_a_gain_falls_at_once_and_is_reached_in_the_end() -> None:
    assert followable(5.0, 400.0, 32, 1024, 0) == 5.0
    assert followable(None, 400.0, 32, 1024, 50) is None
    held, changes = None, 0
    while held != 400.0:
        held, changes = followable(400.0, held, 32, 1024, DOUBLED_STEPS), changes + 1
    assert changes == 4  # 1, 2, 4, 8 and 9.7 times the rate


def test_where_the_held_one_leaves_all_room_a_noise_scale_is_as_it_is() -> None:
    """Rounding makes the gain of a huge one M / M0, and what is left for more no number."""
    assert followable(1e300, 1e300, 32, 1024, 0) == 1e300
