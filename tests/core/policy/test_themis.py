"""The contract of themis, and its rule on instances with known answers."""

import numpy as np
import pytest

from headway.core.errors import InvalidInputError
from headway.core.policy.themis import Themis
from headway.core.types import ReasonCode
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import code_of, decide, nodes, of_seconds, running, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Themis:
        return Themis()


class TestContractWithTheDelay(PolicyContract):
    @pytest.fixture
    def policy(self) -> Themis:
        return Themis(reset_s=150.0)


def test_only_the_worst_off_bid_and_of_them_the_shortest_runs() -> None:
    """With a small f the latest job runs, with all bidding the shortest."""
    late = of_seconds("late", 4_000.0)
    brief = of_seconds("brief", 500.0, submitted_s=3_590.0)
    seen = snapshot(nodes(1), late, brief)
    assert set(decide(Themis(f=0.5), seen).allocations) == {"late"}
    assert set(decide(Themis(f=1.0), seen).allocations) == {"brief"}


def test_a_lease_keeps_its_gpus() -> None:
    policy, long = Themis(f=1.0, lease_s=100.0), of_seconds("long", 4_000.0)
    rng = np.random.default_rng(0)
    seen = snapshot(nodes(1), long, now_s=0.0)
    _, memory = policy.decide(seen, policy.start(), rng)
    both = (running(long, {"n0": 1}), of_seconds("brief", 100.0))
    decision, memory = policy.decide(snapshot(nodes(1), *both, now_s=60.0), memory, rng)
    assert code_of(decision, "long") is ReasonCode.KEPT
    decision, _ = policy.decide(snapshot(nodes(1), *both, now_s=120.0), memory, rng)
    assert set(decision.allocations) == {"brief"}


@pytest.mark.parametrize("f", [0.0, 1.1])
def test_a_fraction_that_is_none_is_refused(f: float) -> None:
    with pytest.raises(InvalidInputError, match=r"themis\.f must be"):
        Themis(f=f)


def test_with_a_delay_shares_make_all_rhos_equal() -> None:
    """Two jobs of 1,000 s on one GPU, one of them 500 s old: 500 + 1000 / x = 1000 / (1 - x)."""
    old = of_seconds("old", 1_000.0, submitted_s=3_100.0)
    new = of_seconds("new", 1_000.0, submitted_s=3_600.0)
    decision = decide(Themis(reset_s=1_000.0), snapshot(nodes(1), old, new, now_s=3_600.0))
    share = {reason.job_id: dict(reason.numbers)["share"] for reason in decision.reasons}
    assert share["old"] + share["new"] == pytest.approx(1.0)
    assert 500.0 + 1_000.0 / share["old"] == pytest.approx(1_000.0 / share["new"], rel=1e-3)
