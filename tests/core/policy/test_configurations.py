"""Sia where a node has GPUs for a configuration and too little beside them."""

from dataclasses import replace

from headway.core.policy.sia import Sia
from headway.core.types import JobView
from headway.testing.policies import oversubscribed
from headway.testing.snapshots import bounds, decide, job, nodes, running, snapshot

NODES = tuple(replace(node, memory_gb=100.0) for node in nodes(4, 4))


def asking(view: JobView, memory_gb: float) -> JobView:
    return replace(view, spec=replace(view.spec, memory_gb_per_gpu=memory_gb))


def test_who_finds_no_place_for_what_the_program_meant_gets_another_configuration() -> None:
    """Memory for three GPUs in all and one and a half on each node: the program counts three."""
    cluster = tuple(replace(node, memory_gb=60.0) for node in NODES)
    jobs = [
        asking(job(name, gpus=bounds(most=4), submitted_s=at), 40.0)
        for at, name in enumerate("abc")
    ]
    seen = snapshot(cluster, *jobs)
    decision = decide(Sia(), seen)
    assert not oversubscribed(seen, decision)
    assert sum(held.gpus for held in decision.allocations.values()) == 2
    assert decision.gap is not None
    assert decision.gap > 0.0  # the program would have had a third job run


def test_a_running_job_keeps_what_it_holds_where_others_ask_for_its_memory() -> None:
    view = asking(running(job("a", gpus=bounds(most=2)), {"n1": 2}), 50.0)
    other = asking(job("b", gpus=bounds(most=1), submitted_s=1.0), 100.0)
    seen = snapshot(NODES, view, other)
    decision = decide(Sia(), seen)
    assert not oversubscribed(seen, decision)
    assert decision.of(view.spec.job_id) == view.allocation
    assert decision.of(other.spec.job_id).gpus == 1
