"""Least attained service."""

import pytest

from headway.core.ids import JobId
from headway.core.policy.las import Las
from headway.core.types import ReasonCode
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import code_of, decide, job, nodes, running, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Las:
        return Las()


class TestContractWithoutQuantum(PolicyContract):
    @pytest.fixture
    def policy(self) -> Las:
        return Las(quantum_gpu_s=0.0)


def test_who_had_least_runs() -> None:
    served = running(job("served", requested_gpus=4), {"n0": 4}, attained_gpu_s=9_000.0)
    decision = decide(
        Las(), snapshot(nodes(4), served, job("new", submitted_s=9, requested_gpus=4))
    )
    assert code_of(decision, "served") is ReasonCode.STOPPED
    assert code_of(decision, "new") is ReasonCode.STARTED


def test_within_a_quantum_who_runs_goes_on() -> None:
    served = running(job("served", requested_gpus=4), {"n0": 4}, attained_gpu_s=3_599.0)
    new = job("new", submitted_s=9, requested_gpus=4)
    assert code_of(decide(Las(), snapshot(nodes(4), served, new)), "served") is ReasonCode.KEPT
    strict = decide(Las(quantum_gpu_s=0.0), snapshot(nodes(4), served, new))
    assert code_of(strict, "served") is ReasonCode.STOPPED


def test_who_stays_is_not_moved_and_the_rest_fills_what_is_free() -> None:
    stays = running(job("stays", requested_gpus=2), {"n0": 1, "n1": 1}, attained_gpu_s=10.0)
    goes = running(job("goes", requested_gpus=3), {"n0": 3}, attained_gpu_s=99_000.0)
    small = job("small", submitted_s=5.0, requested_gpus=3)
    large = job("large", submitted_s=4.0, requested_gpus=4)
    decision = decide(Las(), snapshot(nodes(4, 4), stays, goes, small, large))
    assert decision.of(JobId("stays")) == stays.allocation
    assert decision.of(JobId("large")).gpus == 4
    assert code_of(decision, "goes") is ReasonCode.STOPPED
    assert code_of(decision, "small") is ReasonCode.BEHIND
    assert decision.of(JobId("small")).gpus == 0


def test_a_smaller_job_fills_what_a_larger_one_leaves() -> None:
    jobs = [job(str(gpus), submitted_s=-gpus, requested_gpus=gpus) for gpus in (3, 2, 1)]
    decision = decide(Las(), snapshot(nodes(4), *jobs))
    held = {name: allocation.gpus for name, allocation in decision.allocations.items()}
    assert held == {"3": 3, "1": 1}
