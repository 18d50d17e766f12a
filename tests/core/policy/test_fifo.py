"""First come, first served."""

import pytest

from headway.core.ids import JobId
from headway.core.policy.fifo import Fifo
from headway.core.types import ReasonCode
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import code_of, decide, job, nodes, running, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Fifo:
        return Fifo()


class TestContractWithBackfilling(PolicyContract):
    @pytest.fixture
    def policy(self) -> Fifo:
        return Fifo(backfill=True)


QUEUE = (
    job("first", submitted_s=0, requested_gpus=3),
    job("second", submitted_s=1, requested_gpus=2),
    job("third", submitted_s=2, requested_gpus=1),
)


def test_nobody_overtakes() -> None:
    decision = decide(Fifo(), snapshot(nodes(4), *QUEUE))
    assert {name: held.gpus for name, held in decision.allocations.items()} == {"first": 3}
    assert code_of(decision, "second") is ReasonCode.WAITING
    assert code_of(decision, "third") is ReasonCode.BEHIND


def test_back_filling_lets_the_small_one_by() -> None:
    decision = decide(Fifo(backfill=True), snapshot(nodes(4), *QUEUE))
    held = {name: allocation.gpus for name, allocation in decision.allocations.items()}
    assert held == {"first": 3, "third": 1}


def test_a_job_that_can_never_run_holds_up_nobody() -> None:
    large = job("large", submitted_s=-1, requested_gpus=5)
    decision = decide(Fifo(), snapshot(nodes(4), large, *QUEUE))
    assert code_of(decision, "large") is ReasonCode.TOO_LARGE
    assert code_of(decision, "first") is ReasonCode.STARTED


def test_who_runs_is_not_moved_though_another_place_is_better() -> None:
    spread = running(job("old", requested_gpus=2), {"n0": 1, "n1": 1})
    decision = decide(Fifo(), snapshot(nodes(4, 4), spread, job("new", requested_gpus=4)))
    assert decision.of(JobId("old")) == spread.allocation
    assert decision.of(JobId("new")).placement.nodes == 2
