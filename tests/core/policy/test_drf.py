"""The contract of drf, and its rule on instances with known answers."""

from dataclasses import replace

import pytest

from headway.core.policy.drf import Drf
from headway.core.types import JobView, ReasonCode
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import code_of, decide, job, nodes, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Drf:
        return Drf()


def of_tenant(name: str, tenant: str, gpus: int = 1, weight: float = 1.0) -> JobView:
    view = job(name, requested_gpus=gpus)
    return replace(view, spec=replace(view.spec, tenant=tenant, weight=weight))


def test_tenants_have_equal_shares_however_many_jobs_they_have() -> None:
    many = [of_tenant(f"a{index}", "many") for index in range(6)]
    few = [of_tenant(f"z{index}", "few") for index in range(2)]
    decision = decide(Drf(), snapshot(nodes(4), *many, *few))
    assert set(decision.allocations) == {"a0", "a1", "z0", "z1"}


def test_a_share_counts_by_weight() -> None:
    light = [of_tenant(f"a{index}", "light") for index in range(4)]
    heavy = [of_tenant(f"b{index}", "heavy", weight=3.0) for index in range(4)]
    decision = decide(Drf(), snapshot(nodes(4), *light, *heavy))
    assert sum(name.startswith("b") for name in decision.allocations) == 3


def test_what_does_not_fit_is_passed_over() -> None:
    decision = decide(Drf(), snapshot(nodes(2), of_tenant("wide", "a", 4), of_tenant("small", "b")))
    assert set(decision.allocations) == {"small"}
    assert code_of(decision, "wide") is ReasonCode.TOO_LARGE
