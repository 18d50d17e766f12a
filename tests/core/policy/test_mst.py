"""The contract of mst, and its rule on instances with known answers."""

from dataclasses import replace

import pytest

from headway.core.policy.mst import Mst
from headway.core.types import Decision, JobView
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import decide, job, nodes, report, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Mst:
        return Mst()


STEP_S = 0.018 + 0.0007 * 128


def of_seconds(
    name: str, left_s: float, *, done_s: float = 0.0, gpus: int = 1, submitted_s: float = 0.0
) -> JobView:
    """A job that runs so long alone if it has one GPU."""
    view = job(name, requested_gpus=gpus, submitted_s=submitted_s)
    spec = replace(view.spec, work_samples=(done_s + left_s) / STEP_S * 128)
    return replace(view, spec=spec, report=replace(report(), samples=round(done_s / STEP_S * 128)))


def numbers(decision: Decision, name: str) -> dict[str, float]:
    return dict(next(reason.numbers for reason in decision.reasons if reason.job_id == name))


def test_whole_shares_while_there_are_gpus_and_a_part_for_the_last() -> None:
    jobs = [job(name, requested_gpus=2, submitted_s=at) for at, name in enumerate("abc")]
    decision = decide(Mst(), snapshot(nodes(3), *jobs))
    shares = [numbers(decision, name)["share"] for name in "abc"]
    assert shares == pytest.approx([1.0, 0.5, 0.0])


def test_in_steps_per_second_the_fastest_wins() -> None:
    slow, fast = of_seconds("slow", 1_000.0), of_seconds("fast", 1_000.0, submitted_s=1.0)
    assert fast.report is not None
    theta = replace(fast.report.throughput, alpha_grad_s=0.0, beta_grad_s=1e-5)
    fast = replace(fast, report=replace(fast.report, throughput=theta))
    seen = snapshot(nodes(1), slow, fast)
    assert numbers(decide(Mst(normalised=False), seen), "fast")["share"] == 1.0
    assert numbers(decide(Mst(), seen), "slow")["share"] == 1.0
