"""The engine that runs nothing keeps the promises of those that do."""

import pytest

from headway.core.control.events import JobFailed, JobFinished
from headway.core.ids import NodeId
from headway.core.types import Allocation, Node
from headway.engines.memory import MemoryEngine
from headway.protocol.messages import AgentPhase, AgentReport
from headway.testing.engines import EngineContract, a_job, run

NODES = tuple(Node(node_id=NodeId(name), gpus=4) for name in ("n0", "n1"))


class TestMemoryEngine(EngineContract):
    @pytest.fixture
    def engine(self) -> MemoryEngine:
        return MemoryEngine(NODES)


def test_slots_are_counted_through_all_nodes() -> None:
    engine = MemoryEngine(NODES)
    command = run(engine, a_job("a"), 1, 1)
    both = Allocation.of({NodeId("n0"): 1, NodeId("n1"): 2})
    engine.apply(command)
    engine.apply(type(command)(job=a_job("b"), allocation=both, generation=1, adapts=False))
    assert engine.holds() == {"a": (0,), "b": (1, 4, 5)}


@pytest.mark.parametrize(
    ("phase", "event"),
    [
        (AgentPhase.FINISHED, JobFinished(at_s=7.0, job_id=a_job("a").job_id)),
        (AgentPhase.FAILED, JobFailed(at_s=7.0, job_id=a_job("a").job_id, message="why")),
    ],
)
def test_an_agent_that_a_test_plays_can_end_its_job(
    phase: AgentPhase, event: JobFinished | JobFailed
) -> None:
    engine = MemoryEngine(NODES)
    engine.apply(run(engine, a_job("a"), 2, 1))
    engine.observe(now_s=1.0)
    running = AgentReport(job_id="a", phase=AgentPhase.RUNNING, generation=1)
    assert engine.hear(running).slots == (0, 1)
    answer = engine.hear(AgentReport(job_id="a", phase=phase, generation=1, message="why"))
    assert answer.cancel
    assert engine.observe(now_s=7.0) == (event,)
    assert engine.holds() == {}
