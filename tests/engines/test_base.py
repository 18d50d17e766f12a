"""Commands go to whom they are for, and a size to nobody where nobody can change it."""

import pytest

from headway.core.control.commands import ScaleCluster
from headway.core.errors import UnavailableError
from headway.core.ids import NodeId
from headway.core.types import Node
from headway.engines.base import carry
from headway.engines.memory import MemoryEngine
from headway.testing.engines import a_job, run

SCALE = ScaleCluster(nodes=2, leaving=(), generation=1)


@pytest.fixture
def engine() -> MemoryEngine:
    return MemoryEngine((Node(node_id=NodeId("n0"), gpus=4),))


def test_a_job_is_the_engine_s_and_a_size_the_provider_s(engine: MemoryEngine) -> None:
    cloud = MemoryEngine(engine.nodes())
    carry(run(engine, a_job("a"), 2, 1), engine, cloud)
    carry(SCALE, engine, cloud)
    assert (engine.holds(), cloud.holds()) == ({"a": (0, 1)}, {})
    assert (len(engine.nodes()), len(cloud.nodes())) == (1, 2)


def test_an_engine_without_a_provider_says_that_it_cannot_scale(engine: MemoryEngine) -> None:
    with pytest.raises(UnavailableError, match="can neither add nor remove nodes"):
        carry(SCALE, engine, None)
    assert len(engine.nodes()) == 1
