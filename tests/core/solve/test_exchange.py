"""Room shared out among a few items, against enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.solve.exchange import share_out


@given(seed=st.integers(0, 10_000), room=st.integers(0, 15))
def test_nothing_is_better(seed: int, room: int) -> None:
    rng = np.random.default_rng(seed)
    value = rng.integers(-5, 20, (3, 4)).astype(np.float64)
    value[:, 1:][rng.random((3, 3)) < 0.2] = -np.inf
    width = rng.integers(1, 4, 3)
    counts = share_out(value, width, room)
    assert width @ counts <= room
    best = max(
        sum(value[item, count] for item, count in enumerate(each))
        for each in product(range(4), repeat=3)
        if width @ np.array(each) <= room
    )
    assert value[np.arange(3), counts].sum() == pytest.approx(best)


def test_a_count_that_is_forbidden_is_not_taken() -> None:
    value = np.array([[-np.inf, -np.inf, 0.0], [0.0, 1.0, 2.0]])
    assert share_out(value, np.array([1, 1]), 3).tolist() == [2, 1]
