"""The contract of ossp, and its rule on instances with known answers."""

from dataclasses import replace

import pytest

from headway.core.policy.ossp import Ossp
from headway.core.types import Decision, JobView
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import decide, job, nodes, report, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Ossp:
        return Ossp()


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


def test_all_end_at_the_horizon() -> None:
    """1,000 s and 3,000 s on one GPU: a horizon of 4,000 s; on two of 3,000 s, and time left."""
    jobs = [of_seconds("short", 1_000.0), of_seconds("long", 3_000.0)]
    one, two = (decide(Ossp(), snapshot(nodes(gpus), *jobs)) for gpus in (1, 2))
    assert numbers(one, "short")["share"] == pytest.approx(0.25, abs=1e-3)
    assert numbers(one, "long")["share"] == pytest.approx(0.75, abs=1e-3)
    assert numbers(two, "short")["share"] == pytest.approx(1.0)
    assert numbers(two, "long")["share"] == pytest.approx(1.0)
