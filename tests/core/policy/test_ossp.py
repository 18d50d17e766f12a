"""The contract of ossp, and its rule on instances with known answers."""

import pytest

from headway.core.policy.ossp import Ossp
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import decide, nodes, numbers_of, of_seconds, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Ossp:
        return Ossp()


def test_all_end_at_the_horizon() -> None:
    """1,000 s and 3,000 s on one GPU: a horizon of 4,000 s; on two of 3,000 s, and time left."""
    jobs = [of_seconds("short", 1_000.0), of_seconds("long", 3_000.0)]
    one, two = (decide(Ossp(), snapshot(nodes(gpus), *jobs)) for gpus in (1, 2))
    assert numbers_of(one, "short")["share"] == pytest.approx(0.25, abs=1e-3)
    assert numbers_of(one, "long")["share"] == pytest.approx(0.75, abs=1e-3)
    assert numbers_of(two, "short")["share"] == pytest.approx(1.0)
    assert numbers_of(two, "long")["share"] == pytest.approx(1.0)
