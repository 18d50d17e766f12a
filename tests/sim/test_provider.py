"""A cloud in virtual time: when nodes come, how many, and which go."""

from dataclasses import replace
from typing import Any

import pytest

from headway.core.control.commands import ScaleCluster
from headway.core.control.events import (
    Event,
    JobFinished,
    NodeJoined,
    NodeLost,
    RoundDecided,
)
from headway.core.control.state import State
from headway.core.ids import NodeId
from headway.core.policy import make
from headway.core.scale import ScaleCode
from headway.core.types import BatchMode, Node
from headway.protocol.eventlog import encode
from headway.sim.driver import Setup
from headway.sim.provider import Provider

KIND = Node(node_id=NodeId("any"), gpus=8, gpu_type="t4", rack="r1")


def there(*names: str) -> State[None]:
    nodes = {NodeId(name): Node(node_id=NodeId(name), gpus=8) for name in names}
    return State(memory=None, nodes=nodes)


def scale(
    provider: Provider, state: State[None], now_s: float, nodes: int, *leaving: str
) -> tuple[list[Event], list[float]]:
    pushed: list[Event] = []
    command = ScaleCluster(nodes=nodes, leaving=tuple(map(NodeId, leaving)), generation=1)
    return pushed, provider.scale(state, command, now_s, pushed.append)


def test_nodes_of_its_kind_come_after_a_while_and_those_that_leave_go_at_once() -> None:
    provider = Provider(KIND, provision_s=90.0)
    pushed, moments_s = scale(provider, there("a", "b"), 60.0, 3, "a")
    joined = [event for event in pushed if isinstance(event, NodeJoined)]
    assert [event.at_s for event in joined] == [150.0, 150.0]
    assert {(e.node.gpus, e.node.gpu_type, e.node.rack) for e in joined} == {(8, "t4", "r1")}
    assert len({event.node.node_id for event in joined}) == 2
    assert [e for e in pushed if isinstance(e, NodeLost)] == [NodeLost(at_s=60.0, node_id="a")]
    assert sorted(moments_s) == [60.0, 150.0, 150.0]


def test_what_is_on_its_way_is_not_asked_for_twice() -> None:
    provider = Provider(KIND, provision_s=90.0)
    scale(provider, there("a"), 60.0, 3)
    assert scale(provider, there("a"), 120.0, 4)[1] == [210.0]
    assert scale(provider, there("a"), 140.0, 2) == ([], [])
    assert scale(provider, there("a", "b", "c"), 180.0, 5)[1] == [270.0], "one is still to come"


def scaled(kit: Any, seed: int, **changed: Any) -> list[Event]:
    """Elastic jobs that come one by one in a cluster of one node that may grow to four."""
    jobs = [
        kit.job(name, submitted_s=200.0 * n, rigid=False, mode=BatchMode.ADAPTIVE)
        for n, name in enumerate("abcdef")
    ]
    workload = kit.workload(*jobs, profile=kit.toy(sync_s=0.02, noise=500.0))
    setup = Setup(workload=workload, cluster=kit.cluster("1x4"), seed=seed, most_nodes=4, **changed)
    policy = make("pollux+goodput", {"max_nodes": "4", "in_rounds": "1"})
    log, _ = kit.run(setup, policy, "pollux+goodput")
    return log


@pytest.mark.parametrize("provision_s", [0.0, 45.0, 60.0, 130.0])
def test_no_node_goes_while_a_job_holds_it_and_no_more_come_than_asked(
    kit: Any, provision_s: float
) -> None:
    nodes, held = set[str](), dict[str, set[str]]()
    lost = 0
    for event in scaled(kit, 0, provision_s=provision_s):
        match event:
            case NodeJoined():
                nodes.add(event.node.node_id)
            case NodeLost():
                assert not any(event.node_id in own for own in held.values())
                nodes.remove(event.node_id)
                lost += 1
            case RoundDecided():
                for change in event.changes:
                    held[change.job_id] = {name for name, _ in change.allocation.per_node}
                assert set().union(*held.values()) <= nodes
            case JobFinished():
                held.pop(event.job_id)
            case _:
                pass
        assert len(nodes) <= 4 + (provision_s > 0), "one that was asked for may come too late"
        assert nodes or event.at_s == 0
    assert lost > 0
    assert not held


@pytest.mark.parametrize("rule", ["cost", "goodput"])
def test_nodes_that_go_in_the_first_moment_do_not_end_the_run(kit: Any, rule: str) -> None:
    """A job of time 0 on more nodes than allowed never started: nothing was due any more."""
    setup = Setup(
        workload=kit.workload(kit.job("a", gpus=1), kit.job("b", gpus=1)),
        cluster=kit.cluster("3x4"),
        most_nodes=1,
    )
    log, _ = kit.run(setup, make(f"pollux+{rule}", {"max_nodes": "1"}))
    assert [event.at_s for event in log if isinstance(event, NodeLost)] == [0.0, 0.0]
    assert sum(isinstance(event, JobFinished) for event in log) == 2


def test_a_node_that_fails_is_replaced(kit: Any) -> None:
    """It is lost at 70 s, missed by the decision at 120 s, and there again 50 s later."""
    cluster = kit.cluster("2x4")
    lost = NodeLost(at_s=70.0, node_id=cluster.nodes[1].node_id)
    job = kit.job("a", rigid=False, mode=BatchMode.ADAPTIVE, work_examples=200_000.0)
    setup = Setup(
        workload=kit.workload(job), cluster=replace(cluster, changes=(lost,)), provision_s=50.0
    )
    log, _ = kit.run(setup, make("pollux+goodput", {"min_nodes": "2", "max_nodes": "2"}))
    decided = [event for event in log if isinstance(event, RoundDecided) and event.scaling]
    joined = [event.at_s for event in log if isinstance(event, NodeJoined)]
    assert [(event.at_s, event.scaling.nodes) for event in decided if event.scaling] == [(120.0, 2)]
    assert decided[0].scaling is not None
    assert decided[0].scaling.code is ScaleCode.OUT_OF_BOUNDS
    assert joined == [0.0, 0.0, 170.0]


@pytest.mark.parametrize("seed", range(2))
def test_the_same_seed_gives_the_same_log(kit: Any, seed: int) -> None:
    one, two = scaled(kit, seed, noise=0.1), scaled(kit, seed, noise=0.1)
    assert [encode(event) for event in one] == [encode(event) for event in two]
