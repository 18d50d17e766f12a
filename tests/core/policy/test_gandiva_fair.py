"""The contract of gandiva_fair, and its rule on instances with known answers."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.ids import JobId
from headway.core.policy.gandiva_fair import GandivaFair
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import job, nodes, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> GandivaFair:
        return GandivaFair()


class TestContractWithTheDelay(PolicyContract):
    @pytest.fixture
    def policy(self) -> GandivaFair:
        return GandivaFair(reset_s=150.0)


def test_gpu_time_is_in_proportion_to_tickets() -> None:
    heavy = replace(job("heavy"), spec=replace(job("heavy").spec, weight=3.0))
    views, ran = {"heavy": heavy, "light": job("light")}, {"heavy": 0, "light": 0}
    policy, rng = GandivaFair(), np.random.default_rng(0)
    memory = policy.start()
    for index in range(40):
        seen = snapshot(nodes(1), *views.values(), now_s=60.0 * index)
        decision, memory = policy.decide(seen, memory, rng)
        for name, view in views.items():
            ran[name] += decision.of(JobId(name)).gpus
            views[name] = replace(view, allocation=decision.of(JobId(name)))
    assert ran == {"heavy": 30, "light": 10}


def test_a_newcomer_is_owed_nothing_for_the_time_before() -> None:
    policy, rng = GandivaFair(), np.random.default_rng(0)
    memory, old = policy.start(), job("old")
    for index in range(5):
        _, memory = policy.decide(snapshot(nodes(1), old, now_s=60.0 * index), memory, rng)
    seen = snapshot(nodes(1), old, job("new", submitted_s=300.0), now_s=300.0)
    _, memory = policy.decide(seen, memory, rng)
    assert sorted(memory.of.values()) == pytest.approx([300.0, 360.0])
