"""The fluid egalitarian cluster on cases that can be done by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.types import BatchMode
from headway.sim.cluster import parse_cluster
from headway.sim.egalitarian import _concave, references

CLUSTER = parse_cluster("2x4")


def times(kit: Any, *jobs: Any, profile: Any = None) -> dict[str, tuple[float, float]]:
    found = references(kit.workload(*jobs, profile=profile), CLUSTER)
    return {each.job_id: (each.egalitarian_s, each.exclusive_s) for each in found}


def test_a_job_alone_has_its_exclusive_time(kit: Any) -> None:
    """12,000 examples on four GPUs of 100 a second; the other four are of no use to it."""
    assert times(kit, kit.job("a", gpus=4)) == {"a": pytest.approx((30.0, 30.0))}


def test_two_that_want_everything_take_twice_as_long(kit: Any) -> None:
    found = times(kit, kit.job("a", gpus=8), kit.job("b", gpus=8))
    assert found == {"a": pytest.approx((30.0, 15.0)), "b": pytest.approx((30.0, 15.0))}


def test_shares_follow_the_jobs_that_are_active_in_the_fluid_world_itself(kit: Any) -> None:
    """a and b at half speed until c comes at 10 s; then a third each: 8,000 left at 266.7 a second
    take until 40 s; c has done as much and does its last 4,000 alone in 5 s."""
    jobs = kit.job("a", gpus=8), kit.job("b", gpus=8), kit.job("c", gpus=8, submitted_s=10.0)
    found = times(kit, *jobs)
    assert {name: round(t[0], 6) for name, t in found.items()} == {"a": 40.0, "b": 40.0, "c": 35.0}


def test_a_rigid_job_within_its_share_is_not_slowed(kit: Any) -> None:
    """Three jobs on eight GPUs: the share is 2.67, more than one and less than four."""
    found = times(kit, *(kit.job(name, gpus=w) for name, w in (("a", 1), ("b", 1), ("c", 4))))
    assert found["a"][0] == pytest.approx(120.0)
    assert found["c"][0] == pytest.approx(30.0 * 4 / (8 / 3))


def test_an_elastic_job_takes_no_more_than_helps_it(kit: Any) -> None:
    """A batch of 32 that takes 0.32 s on one GPU and at least 0.32 s to synchronise."""
    job = kit.job("a", rigid=False)
    assert times(kit, job, profile=kit.toy(sync_s=0.32))["a"][0] == pytest.approx(120.0)


def test_an_adaptive_job_may_use_the_best_batch_of_each_size(kit: Any) -> None:
    """With endless noise a batch of 512 on eight GPUs is worth 512 examples: 0.64 s of passes,
    0.1 s of synchronisation; with 1,024, two passes of 64 and one synchronisation are better."""
    job = kit.job("a", rigid=False, mode=BatchMode.ADAPTIVE)
    profile = kit.toy(sync_s=0.1, noise=1e12)
    best_per_s = 1024 / (2 * 0.64 + 0.1)
    assert times(kit, job, profile=profile)["a"][0] == pytest.approx(12_000 / best_per_s)


def test_idle_time_between_jobs_counts_for_nobody(kit: Any) -> None:
    found = times(kit, kit.job("a", gpus=4), kit.job("b", gpus=4, submitted_s=1000.0))
    assert {name: round(t[0], 6) for name, t in found.items()} == {"a": 30.0, "b": 30.0}


@given(rates=st.lists(st.floats(0, 1e3), min_size=2, max_size=20))
def test_the_envelope_is_concave_and_the_least_above(rates: list[float]) -> None:
    above = _concave(np.array([0.0, *rates]))
    assert (above >= np.array([0.0, *rates]) - 1e-9).all()
    rises = np.diff(above)
    assert (np.diff(rises) <= 1e-6).all()
    assert (rises >= -1e-9).all()
    assert above[-1] == pytest.approx(max(rates))
