"""Max-min shares by linear programs against the closed form of water-filling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.solve.maxmin import max_min_shares


@settings(max_examples=50)
@given(seed=st.integers(0, 10_000))
def test_it_is_water_filling(seed: int) -> None:
    """With one capacity all who are not full stand at one level; bisection finds it."""
    rng = np.random.default_rng(seed)
    gain, width = rng.uniform(0.2, 5.0, 6), rng.integers(1, 5, 6).astype(np.float64)
    capacity = float(rng.uniform(1.0, width.sum() * 1.2))
    low, high = 0.0, float(gain.max())
    for _ in range(60):
        level = (low + high) / 2
        low, high = (
            (level, high) if width @ np.minimum(level / gain, 1) <= capacity else (low, level)
        )
    shares = max_min_shares(gain, width, capacity)
    assert shares == pytest.approx(np.minimum(low / gain, 1.0), abs=1e-5)


def test_who_is_full_leaves_the_rest_to_the_others() -> None:
    assert max_min_shares(np.array([1.0, 1.0]), np.array([1.0, 4.0]), 3.0).tolist() == (
        pytest.approx([0.6, 0.6])
    )
    assert max_min_shares(np.array([4.0, 1.0]), np.array([1.0, 1.0]), 1.5).tolist() == (
        pytest.approx([0.5, 1.0])
    )
    assert max_min_shares(np.array([1.0, 1.0]), np.array([1.0, 1.0]), 5.0).tolist() == [1.0, 1.0]
