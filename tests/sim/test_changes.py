"""Nodes that come or go in a simulated run."""

import pytest

from headway.core.control.events import Event, JobFinished, JobSubmitted, NodeLost
from headway.core.ids import NodeId
from headway.core.policy import make
from headway.core.types import Node
from headway.sim.cluster import Cluster
from headway.sim.driver import Setup, opening, simulate
from headway.traces.base import adaptive_job, workload
from headway.traces.catalogue import CATALOGUE


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
    job = adaptive_job(
        "a", CATALOGUE["ncf"], submitted_s=0.0, requested_gpus=1, requested_batch_size=256
    )
    setup = Setup(workload=workload("one", [(job, "ncf")], CATALOGUE), cluster=cluster)
    log: list[Event] = []
    simulate(setup, make("fifo", {}), opening(setup, "fifo", {}), (), log.append)
    assert sum(isinstance(event, NodeLost) for event in log) == len(lost_s)
    assert sum(isinstance(event, JobSubmitted) for event in log) == 1
    assert sum(isinstance(event, JobFinished) for event in log) == 1
