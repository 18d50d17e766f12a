"""At any prices the bound is below the best of all schedules, and near it at good ones."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.priced import FINE, Ask, Grid, Prices, least_sum_s

SLOTS = 12


def best_sum_s(asks: list[Ask], gpus: int) -> float:
    """Of all schedules whose sizes change at whole seconds; parts in order, all of it by search."""

    def ran(left: tuple[int, ...], per_s: list[int]) -> tuple[tuple[int, ...], float]:
        """What is left after a second, and when within it the job ended (1 if it did not)."""
        at_s = 0.0
        rest = list(left)
        for part, pace in enumerate(per_s):
            if rest[part] == 0:
                continue
            if pace == 0 or rest[part] / pace > 1 - at_s:
                rest[part] -= int(pace * (1 - at_s))  # rounded against the schedule
                return tuple(rest), 1.0
            at_s += rest[part] / pace
            rest[part] = 0
        return tuple(rest), at_s

    @cache
    def rest_s(now: int, left: tuple[tuple[int, ...], ...]) -> float:
        if not any(map(any, left)):
            return 0.0
        if now == SLOTS:
            return np.inf
        found = np.inf
        for sizes in product(range(gpus + 1), repeat=len(asks)):
            if sum(sizes) > gpus:
                continue
            cost, after = 0.0, list(left)
            for job, size in enumerate(sizes):
                if any(left[job]) and asks[job].begins_s <= now and size:
                    per_s = asks[job].per_s[:, size].astype(int).tolist()
                    after[job], ended_s = ran(left[job], per_s)
                    cost += 0.0 if any(after[job]) else now + ended_s
            found = min(found, cost + rest_s(now + 1, tuple(after)))
        return found

    return rest_s(0, tuple(tuple(ask.work.astype(int).tolist()) for ask in asks))


@st.composite
def asks_of(draw: st.DrawFn, gpus: int) -> list[Ask]:
    found = []
    for _ in range(draw(st.integers(1, 2))):
        parts = draw(st.integers(1, 2))
        steps = draw(
            st.lists(
                st.lists(st.integers(0, 2), min_size=gpus, max_size=gpus),
                min_size=parts,
                max_size=parts,
            )
        )
        per_s = np.cumsum([[0, 1 + row[0], *row[1:]] for row in steps], axis=1)
        work = draw(st.lists(st.integers(1, 4), min_size=parts, max_size=parts))
        begins_s = float(draw(st.integers(0, 2)))
        found.append(Ask(begins_s, np.array(work, dtype=float), per_s.astype(float)))
    return found


@settings(max_examples=60)
@given(st.data(), st.integers(1, 3))
def test_at_any_prices_no_schedule_is_below(data: st.DataObject, gpus: int) -> None:
    asks = data.draw(asks_of(gpus))
    best_s = best_sum_s(asks, gpus)
    edges_s = np.array([0.0, 1.5, 3.0, 5.0, float(SLOTS)])
    price = st.floats(0.0, 5.0)
    prices = np.array(data.draw(st.lists(price, min_size=4, max_size=4)))
    bound_s, _ = Prices.of(asks, gpus, edges_s, Grid.of(6, 4)).bound(prices)
    assert bound_s <= best_s + 1e-9


@settings(max_examples=10)
@given(st.data())
def test_the_prices_that_it_finds_are_valid_and_no_worse_than_none(data: st.DataObject) -> None:
    asks = data.draw(asks_of(2))
    found_s = least_sum_s(asks, 2, 4.0)
    alone_s = sum(ask.begins_s + (ask.work / ask.per_s.max(axis=1)).sum() for ask in asks)
    if alone_s <= 4.0:  # else the horizon may be short of it
        assert found_s >= alone_s * (1 - 1e-9)
    assert found_s <= best_sum_s(asks, 2) + 1e-9


def test_alone_it_is_exact() -> None:
    ask = Ask(7.0, np.array([30.0, 100.0]), np.array([[0.0, 1.0, 1.0], [0.0, 4.0, 5.0]]))
    prices = Prices.of([ask], 2, np.array([0.0, 50.0, 200.0]), FINE)
    bound_s, asked = prices.bound(np.zeros(2))
    assert bound_s == pytest.approx(7 + 30 + 20)
    assert 0 < asked[0] < 1
    assert prices.bound(np.full(2, 1e6))[0] < 0, "what nobody buys is lost"


def test_jobs_in_line_bound_each_other() -> None:
    """Ten jobs of 10 s on one GPU: 10, 20, ... 100 s at best, where a second costs who waits."""
    asks = [Ask(0.0, np.array([10.0]), np.array([[0.0, 1.0]])) for _ in range(10)]
    edges_s = np.linspace(0.0, 100.0, 101)
    waiting = (100.0 - (edges_s[1:] + edges_s[:-1]) / 2) / 10
    bound_s, _ = Prices.of(asks, 1, edges_s, FINE).bound(0.9 * waiting)
    assert 500 < bound_s <= 550


def test_a_wide_job_pays_for_what_it_takes() -> None:
    """Two jobs that gain little beyond one GPU: on both GPUs each, they cannot both be at once."""
    asks = [Ask(0.0, np.array([12.0]), np.array([[0.0, 1.0, 1.2]])) for _ in range(2)]
    # alone 10 s each; at best 12 s each, side by side
    assert 23.5 <= least_sum_s(asks, 2, 12.0) <= 24.0 + 1e-9
