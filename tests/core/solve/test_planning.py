"""Whole plans of a window against the direct program (HiGHS), and their certificate."""

import numpy as np
import pytest

from headway.core.solve.planning import plan
from headway.core.solve.window import Window
from headway.testing.windows import direct_optimum, random_window


def planned(window: Window) -> tuple[float, float]:
    items = len(window.width)
    found = plan(window, np.zeros(items, dtype=np.bool_), np.zeros(items))
    counts = found.runs.sum(axis=1)
    assert np.all(window.width @ found.runs <= window.capacity)
    assert found.objective == pytest.approx(window.objective(counts))
    return found.objective, found.bound


@pytest.mark.parametrize("seed", range(40))
def test_the_optimum_lies_between_plan_and_bound(seed: int) -> None:
    window = random_window(seed, items=6, rounds=4)
    objective, bound = planned(window)
    best = direct_optimum(window)
    assert objective <= best + 1e-6
    assert bound >= best - 1e-6


def test_of_unit_widths_hardly_anything_is_lost() -> None:
    """Packing is lossless then; what is lost comes from rounding few items."""
    lost = []
    for seed in range(30):
        window = random_window(seed, items=6, rounds=4, wide=False)
        best = direct_optimum(window)
        lost.append((best - planned(window)[0]) / max(abs(best), 1.0))
    assert sum(share > 1e-6 for share in lost) <= 3
    assert max(lost) < 0.02


@pytest.mark.parametrize(("items", "most"), [(100, 2e-4), (500, 1e-4), (2_000, 1e-4)])
def test_the_certified_gap_of_large_windows(items: int, most: float) -> None:
    """0.02 % at 100 items and 0.01 % above are allowed; log utility, widths 1 to 8."""
    rng = np.random.default_rng(7)
    left = rng.lognormal(4.0, 1.0, (items, 1))
    ran = np.minimum(np.arange(21.0), left)
    done = rng.uniform(0.0, 100.0, (items, 1))
    weight = rng.uniform(0.5, 2.0, (items, 1)) ** 5
    window = Window(
        value=weight * np.log(np.maximum((done + ran) / (done + left), 1e-6)) / items,
        left=left - ran,
        width=rng.choice([1, 2, 4, 8], size=items, p=[0.6, 0.3, 0.09, 0.01]),
        capacity=items // 3,
        price=1e-3 / float(left.max()),
    )
    nobody = np.zeros(items, dtype=np.bool_)
    assert plan(window, nobody, np.zeros(items)).gap <= most


def test_without_items_there_is_nothing_to_plan() -> None:
    none = Window(
        value=np.zeros((0, 5)),
        left=np.zeros((0, 5)),
        width=np.zeros(0, dtype=np.int64),
        capacity=4,
        price=1.0,
    )
    found = plan(none, np.zeros(0, dtype=np.bool_), np.zeros(0))
    assert (found.runs.shape, found.gap) == ((0, 4), 0.0)


@pytest.mark.parametrize("seed", range(40))
def test_with_other_needs_the_optimum_lies_between_plan_and_bound(seed: int) -> None:
    window = random_window(seed, items=6, rounds=4, others=1 + seed % 2)
    found = plan(window, np.zeros(6, dtype=np.bool_), np.zeros(6))
    assert np.all(window.needs().T @ found.runs <= window.room_of_round()[:, None])
    best = direct_optimum(window)
    assert found.objective <= best + 1e-6
    assert found.bound >= best - 1e-6


def test_with_other_needs_little_is_lost() -> None:
    """The published window has one resource; what a mixture of several costs is told here."""
    lost = []
    for seed in range(30):
        window = random_window(seed, items=6, rounds=4, others=2)
        found = plan(window, np.zeros(6, dtype=np.bool_), np.zeros(6))
        best = direct_optimum(window)
        lost.append((best - found.objective) / max(abs(best), best - found.idle, 1e-9))
    assert np.median(lost) < 0.02
