"""What a volatile Fisher market promises (Shockwave, section 4), on small windows, enumerated."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.solve.planning import plan
from headway.core.solve.window import Window
from headway.core.types import BoolArray, IntArray

LEAST = 1e-6  # utility at which the logarithm is cut off


def market(share: list[list[float]], budget: list[float], gpus: int, done: float = 0.05) -> Window:
    """Jobs of one GPU; of each the part of its work that a first, a second, ... round does."""
    steps = np.array(share)
    utility = done + np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
    value = np.array(budget)[:, None] * np.log(np.maximum(utility, LEAST))
    return Window(
        value=value,
        left=np.zeros_like(value),
        width=np.ones(len(steps), dtype=np.int64),
        capacity=gpus,
        price=0.0,
    )


def runs_of(window: Window) -> BoolArray:
    jobs = len(window.width)
    return plan(window, np.zeros(jobs, dtype=np.bool_), np.zeros(jobs)).runs


def feasible(window: Window) -> IntArray:
    """All counts that fit; of one GPU each, these are those whose sum fits."""
    every = np.array(list(product(range(window.rounds + 1), repeat=len(window.width))))
    return every[every @ window.width <= window.room]


@st.composite
def markets(draw: st.DrawFn) -> Window:
    jobs, rounds = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    # utilities change over time, as speeds do; a job does not speed up late
    share = [
        sorted((draw(st.floats(0.001, 0.2)) for _ in range(rounds)), reverse=True)
        for _ in range(jobs)
    ]
    budget = [draw(st.floats(0.2, 5.0)) for _ in range(jobs)]
    return market(share, budget, draw(st.integers(1, jobs)))


@settings(max_examples=60)
@given(markets())
def test_nobody_could_have_more_without_another_having_less(window: Window) -> None:
    """Pareto optimality over time: what all rounds of the window together are worth to each."""
    counts = runs_of(window).sum(axis=1)
    rows = np.arange(len(counts))
    ours = window.value[rows, counts]
    theirs = window.value[rows, feasible(window)]
    better = (theirs >= ours - 1e-12).all(axis=1) & (theirs > ours + 1e-9).any(axis=1)
    assert not better.any()


@settings(max_examples=60)
@given(markets())
def test_no_other_plan_has_more_welfare(window: Window) -> None:
    best = max(window.objective(counts) for counts in feasible(window))
    assert window.objective(runs_of(window).sum(axis=1)) == pytest.approx(best, rel=1e-6, abs=1e-9)


@given(
    jobs=st.integers(1, 9), gpus=st.integers(1, 4), rounds=st.integers(1, 8), seed=st.integers(0, 9)
)
def test_equal_budgets_and_steady_jobs_each_get_their_share(
    jobs: int, gpus: int, rounds: int, seed: int
) -> None:
    """Proportionality, so rho is at most 1: 1/N of all GPU-rounds, rounded down, or every round.

    However long jobs are: a logarithm does not see by what they are multiplied.
    """
    length = np.random.default_rng(seed).uniform(20.0, 1_000.0, jobs)
    share = [[1.0 / one] * rounds for one in length]
    window = market(share, [1.0] * jobs, gpus, done=0.0)
    counts = runs_of(window).sum(axis=1)
    assert (counts >= min(gpus * rounds // jobs, rounds)).all()


@given(markets(), st.randoms(use_true_random=False))
def test_the_order_of_jobs_is_of_no_matter(window: Window, random: object) -> None:
    order = np.arange(len(window.width))
    random.shuffle(order)
    turned = Window(
        value=window.value[order],
        left=window.left[order],
        width=window.width[order],
        capacity=window.capacity,
        price=window.price,
    )
    one, two = (each.objective(runs_of(each).sum(axis=1)) for each in (window, turned))
    assert one == pytest.approx(two, rel=1e-9, abs=1e-12)


@given(markets())
def test_no_gpu_idles_while_a_job_would_gain(window: Window) -> None:
    runs = runs_of(window)
    idle = window.capacity - window.width @ runs
    for column in np.flatnonzero(idle > 0):
        assert runs[:, column].all()
