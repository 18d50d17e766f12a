"""Two queues by attained GPU time."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.ids import JobId
from headway.core.policy.tiresias import Tiresias, Turns
from headway.core.types import NOTHING, Decision, JobView, ReasonCode
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import code_of, decide, job, nodes, running, snapshot

FOUR = nodes(4)


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Tiresias:
        return Tiresias()


class TestContractWithPromotion(PolicyContract):
    @pytest.fixture
    def policy(self) -> Tiresias:
        return Tiresias(threshold_gpu_s=200.0, starvation=0.5)


def old(name: str, attained_gpu_s: float, submitted_s: float = 0.0) -> JobView:
    view = job(name, submitted_s=submitted_s, requested_gpus=4)
    return running(view, {"n0": 4}, attained_gpu_s=attained_gpu_s)


def next_round(
    policy: Tiresias, at_s: float, memory: Turns, *jobs: JobView
) -> tuple[Decision, Turns]:
    return policy.decide(snapshot(FOUR, *jobs, now_s=at_s), memory, np.random.default_rng(0))


def test_at_the_threshold_a_job_yields_to_the_first_queue() -> None:
    new = job("new", submitted_s=9, requested_gpus=4)
    before = decide(Tiresias(), snapshot(FOUR, old("old", 57_599.0), new))
    assert code_of(before, "old") is ReasonCode.KEPT
    after = decide(Tiresias(), snapshot(FOUR, old("old", 57_600.0), new))
    assert code_of(after, "old") is ReasonCode.STOPPED
    assert code_of(after, "new") is ReasonCode.STARTED


def test_within_a_queue_service_does_not_count() -> None:
    """What tells it from plain least attained service, where the second would run."""
    for served_gpu_s in (57_000.0, 500_000.0):
        first = old("first", served_gpu_s)
        second = replace(
            job("second", submitted_s=9, requested_gpus=4), attained_gpu_s=served_gpu_s - 400.0
        )
        assert code_of(decide(Tiresias(), snapshot(FOUR, first, second)), "first") is (
            ReasonCode.KEPT
        )


def test_within_a_queue_an_earlier_job_stops_a_later_one() -> None:
    late, early = old("late", 0.0, submitted_s=9.0), job("early", requested_gpus=1)
    decision = decide(Tiresias(), snapshot(FOUR, late, early))
    assert code_of(decision, "late") is ReasonCode.STOPPED
    assert decision.of(JobId("early")).gpus == 1


@pytest.mark.parametrize(("starvation", "runs"), [(0.0, "short"), (2.0, "long")])
def test_who_waited_long_after_a_run_is_promoted(starvation: float, runs: str) -> None:
    """Demoted after 300 s, it waits 2 x 300 s behind a job of the first queue that came later."""
    policy = Tiresias(threshold_gpu_s=1_200.0, starvation=starvation)
    long, short = job("long", requested_gpus=4), job("short", submitted_s=9.0, requested_gpus=4)
    decision, memory = next_round(policy, 0.0, policy.start(), long)
    assert code_of(decision, "long") is ReasonCode.STARTED
    decision, memory = next_round(policy, 300.0, memory, old("long", 1_200.0), short)
    assert code_of(decision, "long") is ReasonCode.STOPPED
    long = replace(old("long", 1_200.0), allocation=NOTHING)
    short = running(short, {"n0": 4}, attained_gpu_s=0.0)
    decision, memory = next_round(policy, 899.0, memory, long, short)
    assert set(decision.allocations) == {"short"}
    decision, memory = next_round(policy, 900.0, memory, long, short)
    assert set(decision.allocations) == {runs}
    assert memory.of[JobId("long")].second == (runs == "short")


def test_who_was_promoted_is_served_to_the_threshold_again() -> None:
    policy = Tiresias(threshold_gpu_s=1_200.0, starvation=1.0)
    long = old("long", 1_200.0)
    _, memory = next_round(policy, 0.0, policy.start(), job("long", requested_gpus=4))
    other = job("other", submitted_s=9.0, requested_gpus=4)
    _, memory = next_round(policy, 300.0, memory, long, other)
    waits = replace(long, allocation=NOTHING)
    _, memory = next_round(policy, 600.0, memory, waits, running(other, {"n0": 4}))
    _, memory = next_round(policy, 899.0, memory, old("long", 2_399.0), other)
    assert not memory.of[JobId("long")].second
    decision, _ = next_round(policy, 900.0, memory, old("long", 2_400.0), other)
    assert set(decision.allocations) == {"other"}
