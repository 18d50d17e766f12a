"""Shockwave: laws of the window and of what becomes of its plan."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.policy import make
from headway.core.policy.shockwave import Planned, Shockwave
from headway.core.types import Decision, ReasonCode, Snapshot
from headway.testing.policies import SEEDS, PolicyContract
from headway.testing.snapshots import (
    code_of,
    decide,
    episode,
    job,
    nodes,
    numbers_of,
    of_seconds,
    running,
    snapshot,
)


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Shockwave:
        return Shockwave()


class TestContractAsPublished(PolicyContract):
    @pytest.fixture
    def policy(self) -> Shockwave:
        return Shockwave(lam=1e-3, finish=0.0, tail=1.0, window_rounds=5)


def following(policy: Shockwave, seen: Snapshot, memory: Planned) -> tuple[Decision, Planned]:
    return policy.decide(seen, memory, np.random.default_rng(0))


def test_who_is_late_goes_first() -> None:
    late = of_seconds("late", 900.0)
    fresh = replace(
        of_seconds("fresh", 900.0), spec=replace(of_seconds("fresh", 900.0).spec, submitted_s=3_590)
    )
    decision = decide(Shockwave(), snapshot(nodes(1), late, fresh))
    assert set(decision.allocations) == {"late"}
    assert numbers_of(decision, "late")["budget"] > numbers_of(decision, "fresh")["budget"]


def test_the_owner_s_weight_is_a_budget() -> None:
    one, two = of_seconds("one", 5_000.0), of_seconds("two", 5_000.0)
    heavy = replace(two, spec=replace(two.spec, weight=4.0))
    rounds = {
        name: numbers_of(decide(Shockwave(lam=0.0), snapshot(nodes(1), one, heavy)), name)[
            "planned_rounds"
        ]
        for name in ("one", "two")
    }
    assert rounds["two"] > rounds["one"]


def test_who_is_nearly_done_does_not_wait_with_seconds_to_go() -> None:
    """A logarithm of progress alone prefers who has done least."""
    nearly = of_seconds("nearly", 50.0, done_s=4_000.0)
    new = of_seconds("new", 4_000.0)
    seen = snapshot(nodes(1), nearly, new)
    assert set(decide(Shockwave(lam=0.0), seen).allocations) == {"nearly"}
    paper = decide(Shockwave(lam=0.0, finish=0.0), seen)
    assert set(paper.allocations) == {"new"}


def test_a_long_job_runs_before_it_is_too_late() -> None:
    """With a price on the makespan the longest runs in all rounds, without one in few."""
    jobs = [of_seconds(f"short{index}", 2_000.0, done_s=3_000.0) for index in range(4)]
    long = of_seconds("long", 40_000.0, done_s=20_000.0)
    seen = snapshot(nodes(1), long, *jobs)
    assert numbers_of(decide(Shockwave(lam=10.0, tail=3.0), seen), "long")["planned_rounds"] == 20
    assert numbers_of(decide(Shockwave(lam=0.0), seen), "long")["planned_rounds"] < 10


def test_a_plan_lasts_until_there_is_news() -> None:
    policy = Shockwave(resolve_rounds=3)
    one, two = of_seconds("one", 9_000.0), of_seconds("two", 9_000.0)
    seen = snapshot(nodes(1), one, two)
    _, memory = following(policy, seen, policy.start())
    rounds = memory.rounds
    for used in (2, 3):
        _, memory = following(policy, seen, memory)
        assert (memory.used, memory.rounds) == (used, rounds)
    _, memory = following(policy, seen, memory)
    assert memory.used == 1
    _, memory = following(policy, replace(seen, changes=1), memory)
    assert memory.used == 1


def test_what_idles_is_given_to_who_fits() -> None:
    """A job that came after the plan was made, without a new plan, gets what is left."""
    policy = Shockwave()
    seen = snapshot(nodes(2), of_seconds("one", 9_000.0))
    _, memory = following(policy, seen, policy.start())
    decision, _ = following(policy, replace(seen, jobs=(*seen.jobs, job("new"))), memory)
    assert set(decision.allocations) == {"one", "new"}


def test_a_gap_is_told_and_small() -> None:
    jobs = [of_seconds(f"j{index:02}", 500.0 + 400 * index, gpus=1) for index in range(30)]
    decision = decide(Shockwave(), snapshot(nodes(4, 4), *jobs))
    assert decision.gap is not None
    assert 0.0 <= decision.gap < 0.01
    assert decision.objective is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_work_conserving(seed: int) -> None:
    """Nobody waits whom the GPUs left over would serve."""
    for seen, decision, _ in episode(Shockwave(), seed):
        left = {node.node_id: node.gpus for node in seen.nodes}
        for allocation in decision.allocations.values():
            for node_id, gpus in allocation.per_node:
                left[node_id] -= gpus
        free: dict[str, int] = {}
        for node in seen.nodes:
            free[node.gpu_type] = free.get(node.gpu_type, 0) + left[node.node_id]
        for view in seen.jobs:
            if not decision.of(view.spec.job_id):
                assert view.spec.requested_gpus > max(free.values())


def test_who_runs_is_not_stopped_for_an_equal() -> None:
    one, two = of_seconds("one", 3_000.0), running(of_seconds("two", 3_000.0), {"n0": 1})
    decision = decide(Shockwave(), snapshot(nodes(1), one, two))
    assert code_of(decision, "two") is ReasonCode.KEPT
    assert decision.of(JobId("one")).gpus == 0


@pytest.mark.parametrize("setting", [{"lam": "-1"}, {"window_rounds": "0"}, {"tail": "0"}])
def test_settings_beyond_sense_are_refused(setting: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=r"shockwave\.\w+ must be"):
        make("shockwave", setting)
