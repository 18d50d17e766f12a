"""The engine that runs nothing keeps the promises of those that do."""

import pytest

from headway.core.control.commands import RunJob, ScaleCluster, StopJob, StopReason
from headway.core.control.events import JobFailed, JobFinished, NodeJoined, NodeLost
from headway.core.ids import NodeId
from headway.core.types import Allocation, JobSpec, Node
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


def test_nodes_come_and_go_once_for_each_command() -> None:
    engine = MemoryEngine(NODES)
    for _ in range(2):
        engine.scale(ScaleCluster(nodes=4, leaving=(NodeId("n1"),), generation=1))
    assert len(engine.nodes()) == 4
    *joined, lost = engine.observe(now_s=3.0)
    assert lost == NodeLost(at_s=3.0, node_id=NodeId("n1"))
    assert joined == [NodeJoined(at_s=3.0, node=node) for node in engine.nodes()[1:]]
    assert len({node.node_id for node in engine.nodes()}) == 4


def test_a_node_leaves_when_the_last_job_on_it_has_gone() -> None:
    """The job is told to move, and cannot yet: another one still holds where it is to go."""
    engine = MemoryEngine(NODES)
    first, second = a_job("a"), a_job("b")

    def command(job: JobSpec, node: str, generation: int) -> RunJob:
        there = Allocation.of({NodeId(node): 4})
        return RunJob(job=job, allocation=there, generation=generation, adapts=False)

    engine.apply(command(first, "n0", 1))
    engine.apply(command(second, "n1", 1))
    engine.apply(command(second, "n0", 2))
    engine.scale(ScaleCluster(nodes=1, leaving=(NodeId("n1"),), generation=1))
    assert len(engine.nodes()) == 2
    assert not any(isinstance(event, NodeLost) for event in engine.observe(now_s=1.0))
    engine.apply(StopJob(job_id=first.job_id, generation=2, why=StopReason.YIELD))
    assert [node.node_id for node in engine.nodes()] == ["n0"]
    assert NodeLost(at_s=2.0, node_id=NodeId("n1")) in engine.observe(now_s=2.0)


def test_a_job_that_waited_for_a_node_starts_when_it_is_there() -> None:
    engine = MemoryEngine(NODES[:1])
    engine.apply(run(engine, a_job("a"), 4, 1))
    engine.scale(ScaleCluster(nodes=2, leaving=(), generation=1))
    new = engine.nodes()[1].node_id
    command = type(run(engine, a_job("b"), 1, 1))(
        job=a_job("b"), allocation=Allocation.of({new: 4}), generation=1, adapts=False
    )
    engine.apply(command)
    assert engine.holds() == {"a": (0, 1, 2, 3), "b": (4, 5, 6, 7)}
