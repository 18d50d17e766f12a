"""The contract of allox, and its rule on instances with known answers."""

import numpy as np
import pytest

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.policy.allox import AlloX, places_from_last
from headway.core.types import ReasonCode
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import code_of, decide, nodes, of_seconds, running, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> AlloX:
        return AlloX()


class TestContractWithTheDelay(PolicyContract):
    @pytest.fixture
    def policy(self) -> AlloX:
        return AlloX(reset_s=150.0)


def test_nobody_who_runs_is_stopped_and_the_shortest_starts() -> None:
    long = running(of_seconds("long", 9_000.0), {"n0": 1})
    short, brief = of_seconds("short", 500.0), of_seconds("brief", 100.0, submitted_s=9.0)
    decision = decide(AlloX(), snapshot(nodes(2), long, short, brief))
    assert code_of(decision, "long") is ReasonCode.KEPT
    assert decision.of(JobId("brief")).gpus == 1
    assert decision.of(JobId("short")).gpus == 0


def test_with_a_small_alpha_the_oldest_starts() -> None:
    short, brief = of_seconds("short", 500.0), of_seconds("brief", 100.0, submitted_s=9.0)
    decision = decide(AlloX(alpha=0.5), snapshot(nodes(1), short, brief))
    assert set(decision.allocations) == {"short"}


def test_the_assignment_is_the_cheapest() -> None:
    """Three jobs on one GPU: the shortest delays all three."""
    places = places_from_last(np.array([30.0, 10.0, 20.0]), np.array([0.0, 5.0, 9.0]), 1)
    assert places.tolist() == [1.0, 3.0, 2.0]


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_a_fraction_that_is_none_is_refused(alpha: float) -> None:
    with pytest.raises(InvalidInputError, match=r"allox\.alpha must be"):
        AlloX(alpha=alpha)
