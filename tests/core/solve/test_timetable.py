"""Counts into rounds: nothing is lost that need not be."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.core.solve.timetable import arranged, fitting
from headway.core.solve.window import Window
from headway.core.types import IntArray
from headway.testing.windows import random_window


def fitting_counts(window: Window, rng: np.random.Generator) -> IntArray:
    counts = rng.integers(0, window.rounds + 1, len(window.width))
    while window.width @ counts > window.room:
        counts[rng.integers(len(counts))] = 0
    return counts


@given(seed=st.integers(0, 100_000))
def test_with_unit_widths_nothing_is_lost_whatever_the_ranks(seed: int) -> None:
    """The lemma at the head of the module."""
    rng = np.random.default_rng(seed)
    window = random_window(seed, items=8, wide=False)
    counts = fitting_counts(window, rng)
    runs = arranged(window, counts, rng.random(8) < 0.5, rng.random(8))
    assert np.all(runs.sum(axis=1) >= counts)
    assert np.all(window.width @ runs <= window.capacity)


@given(seed=st.integers(0, 100_000))
def test_no_round_is_overfull_and_nothing_idles_that_would_gain(seed: int) -> None:
    rng = np.random.default_rng(seed)
    window = random_window(seed, items=7)
    runs = arranged(window, fitting_counts(window, rng), rng.random(7) < 0.5, rng.random(7))
    load = window.width @ runs
    assert np.all(load <= window.capacity)
    counts = runs.sum(axis=1)
    for item in range(7):
        more = min(int(counts[item]) + 1, window.rounds)
        if window.value[item, more] > window.value[item, counts[item]]:
            room = window.capacity - load[~runs[item]]
            assert np.all(room < window.width[item])


def alone(count: int, rounds: int) -> Window:
    return Window(
        value=np.zeros((count, rounds + 1)),
        left=np.zeros((count, rounds + 1)),
        width=np.ones(count, dtype=np.int64),
        capacity=1,
        price=0.0,
    )


def test_the_highest_rank_comes_first_and_of_equals_who_runs() -> None:
    nobody, last = np.zeros(3, dtype=np.bool_), np.array([False, False, True])
    counts = np.array([1, 1, 2])
    runs = arranged(alone(3, 4), counts, nobody, np.array([1.0, 2.0, 1.0]))
    assert np.argmax(runs, axis=0).tolist() == [1, 0, 2, 2]
    runs = arranged(alone(3, 4), counts, last, np.ones(3))
    assert np.argmax(runs, axis=0).tolist() == [2, 2, 0, 1]


def test_wide_items_that_the_order_shut_out_are_set_level() -> None:
    """Three of width 2, twice each, in a capacity of 3 and 6 rounds: one at a time, all fit."""
    window = Window(
        value=np.tile(np.arange(7.0), (4, 1)),
        left=np.zeros((4, 7)),
        width=np.array([2, 2, 2, 1]),
        capacity=3,
        price=0.0,
    )
    runs = arranged(window, np.array([2, 2, 2, 6]), np.zeros(4, dtype=np.bool_), np.arange(4.0))
    assert runs.sum(axis=1).tolist() == [2, 2, 2, 6]


def test_a_narrower_one_takes_what_a_wider_one_leaves() -> None:
    width = np.array([3, 2, 2, 1])
    assert fitting(np.array([0, 1, 2, 3]), width, 4).tolist() == [0, 3]
    assert fitting(np.array([1, 0, 2]), width, 4).tolist() == [1, 2]
