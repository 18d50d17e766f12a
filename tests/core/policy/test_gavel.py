"""The contract of gavel, and its rule on instances with known answers."""

from dataclasses import replace

import pytest

from headway.core.policy.gavel import Gavel
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import decide, job, nodes, numbers_of, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Gavel:
        return Gavel()


def test_everybody_has_the_same_gpu_time_and_weights_count() -> None:
    wide, narrow = job("wide", requested_gpus=2), job("narrow", requested_gpus=1)
    decision = decide(Gavel(), snapshot(nodes(2), wide, narrow))
    assert numbers_of(decision, "wide")["share"] == pytest.approx(0.5, abs=1e-6)
    assert numbers_of(decision, "narrow")["share"] == pytest.approx(1.0, abs=1e-6)
    heavy = replace(job("b"), spec=replace(job("b").spec, weight=3.0))
    decision = decide(Gavel(), snapshot(nodes(1), job("a"), heavy))
    assert numbers_of(decision, "b")["share"] == pytest.approx(0.75, abs=1e-6)
