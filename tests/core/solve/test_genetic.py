"""The population search against the rules of a placement and the exact program's bound."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.solve.genetic import Found, search
from headway.core.solve.pinned import solve
from headway.core.solve.problem import Problem
from headway.testing.placements import is_a_placement, random_problem


def problem(seed: int) -> Problem:
    return random_problem(
        np.random.default_rng(seed),
        nodes=(1, 8),
        room=(1, 8),
        jobs=(1, 14),
        kinds=1 + seed % 2,
        racks=seed // 2 % 2 * 2,
        share_spanning=seed % 5 == 0,
    )


def found(of: Problem, *, generations: int = 10, start: Found | None = None) -> Found:
    before = np.zeros((0, *of.held.shape), dtype=np.int64) if start is None else start.plans
    rng = np.random.default_rng(1)
    return search(of, before, rng, population=20, generations=generations)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_found_is_a_placement_and_never_better_than_the_bound(seed: int) -> None:
    instance = problem(seed)
    answer = found(instance)
    if answer.alloc is None:
        assert answer.objective == np.inf
        return
    assert is_a_placement(instance, answer.alloc)
    assert answer.objective == pytest.approx(instance.cost(answer.alloc).sum())
    assert answer.objective >= solve(instance).bound - 1e-6 * abs(answer.objective)
    assert answer.gap == np.inf  # it proves nothing


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_more_generations_and_a_warm_start_are_never_worse(seed: int) -> None:
    instance = problem(seed)
    stay = np.where(instance.keepable()[:, None], instance.held, 0)
    none, some = found(instance, generations=0), found(instance)
    assert none.objective >= some.objective >= found(instance, start=some).objective
    if instance.feasible(stay):
        assert none.objective <= instance.cost(stay).sum() + 1e-9


def test_every_plan_of_the_population_keeps_the_rules() -> None:
    for seed in range(20):
        instance = problem(seed)
        answer = found(instance)
        for plan in answer.plans:
            assert (plan.sum(axis=0) <= instance.capacity).all()
            finite = np.isfinite(instance.cost(plan)).all()
            assert bool(finite) == is_a_placement(instance, plan)


def test_who_may_only_stay_stays() -> None:
    for seed in range(20):
        instance = problem(seed)
        pinned = instance.keepable() & (np.arange(len(instance.held)) % 2 == 0)
        for table in (instance.cost_none, instance.cost_local, instance.cost_several):
            table[pinned] = np.inf
        answer = found(instance)
        assert (answer.plans[:, pinned] == instance.held[pinned]).all()


def test_the_same_dice_give_the_same_answer() -> None:
    first, second = found(problem(5)), found(problem(5))
    assert first.plans.tobytes() == second.plans.tobytes()
    assert first.counts() == {"generations": 10, "plans": len(first.plans)}


def test_it_comes_near_the_optimum_of_a_small_cluster() -> None:
    """Eight jobs that all wait, on four nodes of four: 0.9 of the bound within 100 generations."""
    size = np.arange(17)
    speed = size ** np.linspace(0.5, 0.95, 8)[:, None]
    instance = Problem(
        capacity=np.full(4, 4),
        held=np.zeros((8, 4), dtype=np.int64),
        cost_none=np.full(8, 1e3),
        cost_local=1 / (speed[:, None, :5] + 1e-3),
        cost_several=1 / (0.8 * speed[:, None] + 1e-3),
        cost_keep=np.full(8, np.inf),
    )
    answer = search(instance, np.zeros((0, 8, 4), dtype=np.int64), np.random.default_rng(0))
    assert solve(instance).bound / answer.objective >= 0.9
    shared = replace(instance, share_spanning=True)
    assert found(shared).alloc is not None
