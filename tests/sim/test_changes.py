"""Nodes that come or go in a simulated run."""

import pytest

from headway.core.control.events import Event, JobFinished, JobSubmitted, NodeJoined, NodeLost
from headway.core.ids import NodeId
from headway.core.policy import make
from headway.core.types import Node
from headway.sim.cluster import Cluster
from headway.sim.driver import Setup, opening, simulate
from headway.sim.executor import MAX_IDLE_ROUNDS
from headway.traces.base import adaptive_job, workload
from headway.traces.catalogue import CATALOGUE


def run(cluster: Cluster) -> list[Event]:
    """The log of one job that needs one GPU."""
    job = adaptive_job(
        "a", CATALOGUE["ncf"], submitted_s=0.0, requested_gpus=1, requested_batch_size=256
    )
    setup = Setup(workload=workload("one", [(job, "ncf")], CATALOGUE), cluster=cluster)
    log: list[Event] = []
    simulate(setup, make("fifo", {}), opening(setup, "fifo", {}), (), log.append)
    return log


@pytest.mark.parametrize("lost_s", [(0.0,), (0.0, 0.0), (0.0, 90.0)])
def test_jobs_run_after_nodes_are_lost(lost_s: tuple[float, ...]) -> None:
    """A change at time 0 once counted as yet to come for ever, and no round was ever held."""
    names = [NodeId(f"node-{number}") for number in range(3)]
    cluster = Cluster(
        name="shrinking",
        nodes=tuple(Node(node_id=name, gpus=1) for name in names),
        changes=tuple(
            NodeLost(at_s=at_s, node_id=name) for at_s, name in zip(lost_s, names, strict=False)
        ),
    )
    log = run(cluster)
    assert sum(isinstance(event, NodeLost) for event in log) == len(lost_s)
    assert sum(isinstance(event, JobSubmitted) for event in log) == 1
    assert sum(isinstance(event, JobFinished) for event in log) == 1


def test_a_job_runs_when_its_node_comes_back_after_many_rounds_without_any() -> None:
    """Rounds end when nothing will change; a node that joined later did not begin them again."""
    node = Node(node_id=NodeId("node-0"), gpus=1)
    back_s = 60.0 * (MAX_IDLE_ROUNDS + 50)
    changes = (NodeLost(at_s=90.0, node_id=node.node_id), NodeJoined(at_s=back_s, node=node))
    log = run(Cluster(name="away", nodes=(node,), changes=changes))
    (finished,) = [event for event in log if isinstance(event, JobFinished)]
    assert finished.at_s > back_s
