"""The relaxed window: a bound at every share and threshold, and its tangents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.solve.envelope import concave_steps
from headway.core.solve.prices import Prices
from headway.core.solve.window import Window
from headway.testing.windows import random_window


def prices(window: Window, share: float) -> Prices:
    fall = concave_steps(-window.left)
    floor = window.left[:, :1] - np.cumsum(np.pad(fall, ((0, 0), (1, 0))), axis=1)
    return Prices.of(window, share, fall, floor)


@given(seed=st.integers(0, 10_000), share=st.floats(0, 1))
def test_no_counts_that_fit_are_above_f_at_their_own_threshold(seed: int, share: float) -> None:
    window, rng = random_window(seed), np.random.default_rng(seed)
    counts = rng.integers(0, window.rounds + 1, len(window.width))
    while window.width @ counts > window.room:
        counts = np.maximum(counts - 1, 0)
    longest = float(window.left[np.arange(len(counts)), counts].max())
    for whole in (False, True):
        value = prices(window, share).point(longest, whole=whole).value
        assert value >= window.objective(counts) - 1e-7


@given(seed=st.integers(0, 10_000), share=st.floats(0, 1), at=st.lists(st.floats(0, 1), min_size=4))
def test_f_lies_below_its_tangents(seed: int, share: float, at: list[float]) -> None:
    relaxed = prices(random_window(seed), share)
    highest = float(relaxed.window.left[:, 0].max())
    points = [relaxed.point(highest * part) for part in at]
    feasible = [point for point in points if np.isfinite(point.value)]
    for one in feasible:
        for other in feasible:
            assert one.at(other.threshold) >= other.value - 1e-6


@given(seed=st.integers(0, 10_000), part=st.floats(0, 1))
def test_whole_counts_fit_and_come_down_to_the_threshold(seed: int, part: float) -> None:
    relaxed = prices(random_window(seed), 0.0)
    window = relaxed.window
    threshold = part * float(window.left[:, 0].max())
    point = relaxed.point(threshold, whole=True)
    if not np.isfinite(point.value):
        return
    for counts in (relaxed.counts(point), relaxed.exchanged(point, relaxed.counts(point))):
        assert window.width @ counts <= window.room
        assert np.all(window.left[np.arange(len(counts)), counts] <= threshold)


def test_what_cannot_come_down_is_infeasible() -> None:
    window = random_window(1)
    point = prices(window, 0.0).point(float(window.left[:, -1].max()) - 1e-3)
    assert point.value == -np.inf


def test_near_the_stop_a_late_jump_is_taken_whole_or_not_at_all() -> None:
    """Two rounds: the second of the first item is worth 5, its first nothing."""
    window = Window(
        value=np.array([[0.0, 0.0, 5.0], [0.0, 2.0, 4.0]]),
        left=np.zeros((2, 3)),
        width=np.array([1, 1]),
        capacity=1,
        price=0.0,
    )
    relaxed = prices(window, 0.0)
    point = relaxed.point(0.0)
    assert point.value == pytest.approx(5.0)
    assert relaxed.counts(point).tolist() == [2, 0]
