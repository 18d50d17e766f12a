"""The contract of mst, and its rule on instances with known answers."""

from dataclasses import replace

import pytest

from headway.core.policy.mst import Mst
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import decide, job, nodes, numbers_of, of_seconds, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Mst:
        return Mst()


def test_whole_shares_while_there_are_gpus_and_a_part_for_the_last() -> None:
    jobs = [job(name, requested_gpus=2, submitted_s=at) for at, name in enumerate("abc")]
    decision = decide(Mst(), snapshot(nodes(3), *jobs))
    shares = [numbers_of(decision, name)["share"] for name in "abc"]
    assert shares == pytest.approx([1.0, 0.5, 0.0])


def test_in_steps_per_second_the_fastest_wins() -> None:
    slow, fast = of_seconds("slow", 1_000.0), of_seconds("fast", 1_000.0, submitted_s=1.0)
    assert fast.report is not None
    theta = replace(fast.report.throughput, alpha_grad_s=0.0, beta_grad_s=1e-5)
    fast = replace(fast, report=replace(fast.report, throughput=theta))
    seen = snapshot(nodes(1), slow, fast)
    assert numbers_of(decide(Mst(normalised=False), seen), "fast")["share"] == 1.0
    assert numbers_of(decide(Mst(), seen), "slow")["share"] == 1.0
