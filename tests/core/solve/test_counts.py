"""Counts by price against every choice of counts."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.solve.counts import best_counts
from headway.testing.windows import random_window


@settings(max_examples=60)
@given(seed=st.integers(0, 100_000))
def test_between_the_best_counts_and_the_bound_nothing_is_lost(seed: int) -> None:
    """The bound is never below the optimum of the counts, and the counts never above it."""
    window = random_window(seed, items=4, rounds=3)
    best = max(
        window.objective(np.array(each))
        for each in product(range(4), repeat=4)
        if window.width @ np.array(each) <= window.room
    )
    found = best_counts(window)
    assert window.width @ found.rounds <= window.room
    assert window.objective(found.rounds) <= best + 1e-9
    assert found.bound >= best - 1e-9


def test_counts_of_few_items_are_nearly_always_optimal() -> None:
    """All of them are shared out anew, for the best share and the best threshold."""
    lost = []
    for seed in range(100):
        window = random_window(seed, items=4, rounds=3)
        best = max(
            window.objective(np.array(each))
            for each in product(range(4), repeat=4)
            if window.width @ np.array(each) <= window.room
        )
        found = window.objective(best_counts(window).rounds)
        lost.append((best - found) / max(abs(best), 1.0))
    assert sum(share > 1e-6 for share in lost) <= 5
    assert max(lost) < 0.05


@pytest.mark.parametrize("seed", range(5))
def test_with_many_items_the_proven_gap_vanishes(seed: int) -> None:
    window = random_window(seed, items=400, rounds=20)
    found = best_counts(window)
    assert found.bound - window.objective(found.rounds) <= 1e-3 * abs(found.bound)
    assert found.evaluations < 400
