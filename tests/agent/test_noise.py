"""The noise scale: recovers what is planted, and knows when it knows nothing."""

from math import inf, isfinite, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.agent.noise import TRUSTED_GROWTH, NoiseScale, Pair


def planted(
    phi: float, *, pairs: int, small: int, big: int, seed: int = 0, parameters: int = 2000
) -> NoiseScale:
    """Gradients with |G| = 1 and tr Sigma = phi, seen in batches."""
    rng = np.random.default_rng(seed)
    true = np.full(parameters, parameters**-0.5)
    noise = NoiseScale(horizon_examples=1e6)
    for _ in range(pairs):
        parts = rng.normal(true, np.sqrt(phi / parameters / small), size=(big // small, parameters))
        small_squared = float((parts**2).sum(1).mean())
        big_squared = float((parts.mean(0) ** 2).sum())
        noise.add(
            Pair(
                small_squared=small_squared, small_size=small, big_squared=big_squared, big_size=big
            ),
            big,
        )
    return noise


@pytest.mark.parametrize("phi", [5.0, 50.0, 500.0])
def test_it_recovers_a_planted_noise_scale(phi: float) -> None:
    noise = planted(phi, pairs=200, small=16, big=64)
    estimate, error = noise.estimate(), noise.error()
    assert estimate is not None
    assert error is not None
    assert abs(estimate - phi) < 4 * error
    assert error < 0.2 * phi


def test_the_error_is_about_the_spread_of_repeated_estimates() -> None:
    repeated = [planted(50.0, pairs=40, small=16, big=64, seed=seed) for seed in range(30)]
    spread = np.std([noise.estimate() for noise in repeated])
    stated = np.median([noise.error() for noise in repeated])
    assert 0.5 * spread < stated < 2 * spread


def test_few_pairs_give_too_little_rather_than_too_much_but_not_half() -> None:
    """|G|^2 was taken a whole standard error above its average. That kept a small network's phi at
    two thirds of what it was, counted out from every sample; no margin gives 1.1 of it here, and at
    worst all that the cap lets through."""
    few = [planted(100.0, pairs=16, small=16, big=32, seed=s, parameters=20) for s in range(200)]
    estimates = [phi for phi in (noise.estimate() for noise in few) if phi]
    assert len(estimates) == len(few)
    assert 80 < np.exp(np.mean(np.log(estimates))) < 100
    assert max(estimates) < 1000


def test_a_few_pairs_are_no_estimate() -> None:
    assert planted(50.0, pairs=7, small=16, big=64).estimate() is None
    assert planted(50.0, pairs=7, small=16, big=64).error() is None
    assert planted(50.0, pairs=9, small=16, big=64).estimate() is not None


@pytest.mark.parametrize("broken", [nan, inf, -inf])
def test_a_step_that_overflowed_is_skipped(broken: float) -> None:
    noise = planted(50.0, pairs=20, small=16, big=64)
    before = noise.state_dict()
    noise.add(Pair(small_squared=broken, small_size=16, big_squared=1.0, big_size=64), 64)
    noise.add(Pair(small_squared=1.0, small_size=16, big_squared=broken, big_size=64), 64)
    noise.add(Pair(small_squared=1.0, small_size=64, big_squared=1.0, big_size=64), 64)
    assert noise.state_dict() == before


@given(
    st.lists(
        st.tuples(st.floats(0, 1e30), st.floats(0, 1e30), st.integers(1, 512)),
        min_size=1,
        max_size=40,
    )
)
def test_whatever_the_norms_the_estimate_is_a_bounded_number(
    norms: list[tuple[float, float, int]],
) -> None:
    """Live training has |G|^2 estimates below zero and single ratios up to 1e18."""
    noise = NoiseScale(horizon_examples=1000.0)
    for small_squared, big_squared, size in norms:
        noise.add(
            Pair(
                small_squared=small_squared,
                small_size=size,
                big_squared=big_squared,
                big_size=2 * size,
            ),
            size,
        )
    estimate, error = noise.estimate(), noise.error()
    if estimate is not None:
        assert 0 <= estimate <= TRUSTED_GROWTH * 1024 * (1 + 1e-9)
    assert error is None or isfinite(error)


def test_large_batches_that_are_rarely_measured_still_give_an_estimate() -> None:
    """A pair that stood for most of the horizon once made the rest vanish: no estimate for ever."""
    noise = NoiseScale(horizon_examples=1000.0)
    for _ in range(40):
        noise.add(Pair(small_squared=2.0, small_size=16, big_squared=1.0, big_size=64), 10_000)
    assert noise.estimate() == pytest.approx(32.0)


def test_pairs_far_apart_are_not_outvoted_by_many_of_long_ago() -> None:
    """Thirty pairs of the first two epochs counted as much each as those 128 steps apart that came
    after them: phi was that of the start until the end of a short training."""
    noise = NoiseScale(horizon_examples=128.0)
    for phi, pairs, examples in ((10.0, 30, 4), (100.0, 10, 128)):
        for _ in range(pairs):
            noise.add(
                Pair(
                    small_squared=1.0 + phi / 16,
                    small_size=16,
                    big_squared=1.0 + phi / 32,
                    big_size=32,
                ),
                examples,
            )
    estimate = noise.estimate()
    assert estimate is not None
    assert 60 < estimate < 100


def test_it_goes_on_from_its_saved_state() -> None:
    noise = planted(50.0, pairs=20, small=16, big=64)
    restored = NoiseScale.restored(noise.state_dict())
    pair = Pair(small_squared=3.0, small_size=16, big_squared=1.5, big_size=64)
    noise.add(pair, 64)
    restored.add(pair, 64)
    assert restored.estimate() == noise.estimate()


def test_what_is_older_counts_less_by_examples_not_by_steps() -> None:
    early = Pair(small_squared=8.0, small_size=16, big_squared=2.0, big_size=64)
    late = Pair(small_squared=2.0, small_size=16, big_squared=1.0, big_size=64)
    short, long = NoiseScale(horizon_examples=10_240), NoiseScale(horizon_examples=10_240)
    for _ in range(20):
        short.add(early, 64)
        long.add(early, 64)
    for _ in range(100):
        short.add(late, 64)
        long.add(late, 640)  # the same pairs, each standing for ten times the examples
    late_phi = late.variance() / late.gradient_squared()
    assert long.estimate() == pytest.approx(late_phi, rel=0.01)
    assert short.estimate() is not None
    assert short.estimate() != pytest.approx(late_phi, rel=0.1)
