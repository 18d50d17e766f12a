"""Clusters that are not there: their nodes, their jobs, and what these would gain."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.ids import NodeId
from headway.core.policy.fifo import Fifo
from headway.core.policy.las import Las
from headway.core.policy.pollux import Pollux
from headway.core.policy.probe import (
    Probe,
    leaving,
    pinned_nodes,
    sized,
    sized_nodes,
    speedups,
    usual,
    without,
)
from headway.core.types import NOTHING, Allocation, JobView, Node, Snapshot
from headway.testing.snapshots import bounds, job, nodes, report, running, snapshot

SPARE = ("n0", "n1", "n2", "n3")


def probe(seen: Snapshot, policy: Pollux | Las | Fifo | None = None) -> Probe:
    policy = policy or Pollux()
    rng = np.random.default_rng(0)
    return Probe(policy=policy, seen=seen, memory=policy.start(), rng=rng)


def grown(name: str, held: int, *, noise_scale: float = 5_000.0, most: int = 64) -> JobView:
    """A job that has held so many GPUs, and whose report says how it scales."""
    view = job(name, gpus=bounds(most=most))
    return replace(view, max_gpus_held=held, report=report(noise_scale=noise_scale))


def test_nodes_that_come_are_of_the_kind_that_is_there_most_often() -> None:
    kinds = (*nodes(8, 4, 4), Node(node_id=NodeId("x"), gpus=8, gpu_type="a100"))
    assert usual(kinds).gpus == 4
    assert [node.gpus for node in sized_nodes(snapshot(kinds), 6)] == [8, 4, 4, 8, 4, 4]
    assert len({node.node_id for node in sized_nodes(snapshot(kinds), 9)}) == 9


def test_the_emptiest_nodes_leave_and_of_those_the_last() -> None:
    seen = snapshot(nodes(4, 4, 4, 4), running(job("a"), {"n0": 1}), running(job("b"), {"n3": 2}))
    assert leaving(seen, 1) == ("n2",)
    assert leaving(seen, 2) == ("n1", "n2")
    assert leaving(seen, 3) == ("n0", "n1", "n2")
    assert leaving(seen, 0) == leaving(seen, -1) == ()
    told = replace(seen, nodes_leaving=("n0",))
    assert leaving(told, 1) == ("n0",), "else every round would tell others to go"
    assert [node.node_id for node in without(seen, ("n1", "n2")).nodes] == ["n0", "n3"]


@given(
    held=st.lists(st.tuples(st.sampled_from(SPARE), st.integers(1, 4), st.booleans()), max_size=4),
    count=st.integers(-2, 6),
)
def test_a_node_with_a_job_that_may_not_be_moved_never_leaves(
    held: Sequence[tuple[str, int, bool]], count: int
) -> None:
    jobs = [
        running(job(f"j{row}", preemptible=may), {node: gpus})
        for row, (node, gpus, may) in enumerate(held)
    ]
    seen = snapshot(nodes(4, 4, 4, 4), *jobs)
    gone = leaving(seen, count)
    assert not set(gone) & pinned_nodes(seen)
    assert len(gone) == min(max(count, 0), 4 - len(pinned_nodes(seen)))


def test_elsewhere_jobs_are_placed_anew_but_those_that_may_not_move() -> None:
    free, pinned = running(job("a"), {"n0": 2}), running(job("b", preemptible=False), {"n1": 2})
    there = sized(snapshot(nodes(4, 4), free, pinned), 1)
    assert [view.allocation for view in there.jobs] == [NOTHING, pinned.allocation]
    assert [node.node_id for node in there.nodes] == ["n1"]


def test_a_speedup_is_goodput_over_that_on_one_gpu_and_perfect_where_one_cannot_run_it() -> None:
    one, two = grown("a", 2), grown("b", 2)
    alone = Allocation.of({NodeId("n0"): 1})
    pair = Allocation.of({NodeId("n0"): 2})
    spread = Allocation.of({NodeId("n0"): 1, NodeId("n1"): 1})
    contracts = [one.spec.batch] * 3
    same, near, far = speedups([one] * 3, contracts, [alone, pair, spread])
    assert same == 1.0
    assert 1.0 < far < near < 2.0
    large = replace(two.spec.batch, initial_batch_size=9_000, max_batch_size=9_000)
    assert speedups([two], [large], [pair]).tolist() == [2.0]


@settings(max_examples=30)
@given(noise=st.floats(10, 1e6), node_s=st.floats(0.1, 1), more=st.integers(1, 15))
def test_the_utility_of_one_job_falls_as_the_cluster_grows(
    noise: float, node_s: float, more: int
) -> None:
    """A share of perfect scaling is only ever lost, but for what whole batches round up or down."""
    view = replace(grown("a", 64), report=report(noise_scale=noise, node_s=node_s))
    asked = probe(snapshot(nodes(4), view))
    assert asked.utility(1 + more) <= asked.utility(more) * 1.001


@settings(max_examples=30)
@given(less=st.floats(10, 1e5), growth=st.floats(1, 100), count=st.integers(1, 16))
def test_it_grows_with_the_noise_scale(less: float, growth: float, count: int) -> None:
    """The reason to add nodes during a training: a larger batch is worth more by then."""
    early, late = (
        probe(snapshot(nodes(4), grown("a", 64, noise_scale=noise)))
        for noise in (less, less * growth)
    )
    assert late.utility(count) >= early.utility(count) * 0.999


def test_each_size_is_asked_about_once() -> None:
    asked = probe(snapshot(nodes(4, 4), grown("a", 8)))
    assert asked.utility(2) == asked.gain(2) / 8
    assert asked.gain(2) > 0
    assert asked.tried == 1
    assert asked.gain_of({}) == 0.0


@pytest.mark.parametrize("policy", [Las(), Fifo()])
def test_under_a_policy_that_does_not_adapt_the_batch_stays_as_requested(
    policy: Las | Fifo,
) -> None:
    """Else a job would seem to gain from GPUs that only a larger batch can use."""
    view = replace(grown("a", 8), spec=replace(grown("a", 8).spec, requested_gpus=8))
    fixed, adaptive = probe(snapshot(nodes(8), view), policy), probe(snapshot(nodes(8), view))
    assert fixed.gain(1) < adaptive.gain(1)
