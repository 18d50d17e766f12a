"""rho-hat and budgets by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.ids import JobId
from headway.core.policy.fairness import Crowd, budgets
from headway.core.policy.remaining import Ahead
from headway.testing.snapshots import job, nodes, snapshot


def ahead_of(done_s: float, left_s: float) -> Ahead:
    share = left_s / (done_s + left_s)
    return Ahead(
        done_s=np.array([done_s]), regime_s=np.array([[left_s]]), share=np.array([[share]])
    )


def test_contention_counts_widths_and_is_at_least_one() -> None:
    wide, narrow = job("wide", requested_gpus=6), job("narrow", requested_gpus=1)
    assert Crowd().grown(snapshot(nodes(4), wide, narrow), [wide, narrow]).now == 7 / 4
    assert Crowd().grown(snapshot(nodes(4), narrow), [narrow]).now == 1.0


def test_rho_hat_of_an_equal_share_is_one() -> None:
    """Four jobs on two GPUs: after 100 s one has half of that behind it and goes on so."""
    jobs = [job(name) for name in "abcd"]
    crowd = Crowd().grown(snapshot(nodes(2), *jobs, now_s=0.0), jobs)
    crowd = crowd.grown(snapshot(nodes(2), *jobs, now_s=100.0), jobs)
    assert crowd.rho_hat(jobs[:1], ahead_of(50.0, 200.0)) == pytest.approx([1.0])
    assert crowd.rho_hat(jobs[:1], ahead_of(0.0, 250.0)) == pytest.approx([1.2])
    assert crowd.rho_hat(jobs[:1], ahead_of(100.0, 150.0)) == pytest.approx([0.8])


def test_contention_is_that_of_a_job_s_own_life() -> None:
    early, late = job("early"), job("late", submitted_s=100.0)
    crowd = Crowd().grown(snapshot(nodes(1), early, now_s=0.0), [early])
    both = [early, late]
    crowd = crowd.grown(snapshot(nodes(1), *both, now_s=100.0), both)
    crowd = crowd.grown(snapshot(nodes(1), *both, now_s=200.0), both)
    assert crowd.contention_s - crowd.since[JobId("early")] == pytest.approx(100 + 200)
    assert crowd.contention_s - crowd.since[JobId("late")] == pytest.approx(200)
    gone = crowd.grown(snapshot(nodes(1), late, now_s=260.0), [late])
    assert set(gone.since) == {"late"}


@given(rho=st.floats(1e-3, 1e6), power=st.floats(0, 100))
def test_a_budget_is_bounded_whatever_the_power(rho: float, power: float) -> None:
    """The published code reached 4.6e21 on 32 GPUs and 2e91 on 128."""
    made = budgets(np.array([rho]), power=power, least=1.0, most=1e3, weight=np.ones(1))
    assert 1.0 - 1e-9 <= made[0] <= 1e3 + 1e-6


def test_a_budget_is_the_power_times_the_weight() -> None:
    made = budgets(
        np.array([2.0, 0.5]), power=5.0, least=1.0, most=1e3, weight=np.array([1.0, 3.0])
    )
    assert made.tolist() == pytest.approx([32.0, 3.0])


def test_a_job_that_was_submitted_before_it_was_seen_counts_from_then() -> None:
    view = job("a", submitted_s=40.0)
    crowd = Crowd().grown(snapshot(nodes(1), view, now_s=100.0), [view])
    assert crowd.contention_s - crowd.since[JobId("a")] == pytest.approx(60.0)
    assert replace(crowd, since={}).now == 1.0
