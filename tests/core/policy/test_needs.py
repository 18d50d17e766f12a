"""What jobs need beside GPUs, and the laws that every policy keeps where it counts."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headway.core.policy import POLICIES, Policy, make
from headway.core.policy.needs import asked, beside, counting, in_words, room_for, scarcest, summed
from headway.core.solve.beside import BEYOND
from headway.core.types import Decision, JobView, Snapshot
from headway.testing.snapshots import episode, job, needy, nodes, random_job, scarce, snapshot

SEEDS = st.integers(0, 2**32 - 1)
SLOW = settings(max_examples=12)  # an example is twelve rounds


def asking(name: str = "a", *, cpus: float = 0.0, memory_gb: float = 0.0) -> JobView:
    view = job(name)
    return replace(view, spec=replace(view.spec, cpus_per_gpu=cpus, memory_gb_per_gpu=memory_gb))


def test_a_resource_counts_where_somebody_asks_for_it_and_some_node_is_limited() -> None:
    (plain,), (limited,) = nodes(4), (replace(nodes(4)[0], cpus=8.0),)
    both = asking(cpus=1.0, memory_gb=1.0).spec
    assert counting([both], [plain]) == ()
    assert [one.of_node for one in counting([both], [plain, limited])] == ["cpus"]
    assert counting([job("b").spec], [limited]) == ()


def test_needs_are_rounded_up_and_room_is_rounded_down_to_thousandths() -> None:
    node = replace(nodes(4)[0], cpus=1.0, memory_gb=0.9999)
    found = beside([asking(cpus=1 / 3, memory_gb=0.3).spec], [node, nodes(1)[0]])
    assert found.each.tolist() == [[334, 300]]
    assert found.room.tolist() == [[1_000, 999], [BEYOND, BEYOND]]


def test_the_most_gpus_of_one_type_that_come_with_what_is_asked_for() -> None:
    cluster = [
        replace(nodes(8)[0], gpu_type="t4", cpus=7.0),
        replace(nodes(8)[0], gpu_type="t4", cpus=3.0),
        replace(nodes(2)[0], gpu_type="a100"),
    ]
    spec = asking(cpus=2.0, memory_gb=500.0).spec
    assert room_for(spec, cluster) == 4
    assert room_for(job("b").spec, cluster) == 16
    assert dict(asked(spec)) == {"cpus_per_gpu": 2.0, "memory_gb_per_gpu": 500.0}
    assert in_words(spec) == "2 CPUs and 500 GB each"
    assert scarcest(spec, cluster) == "cpus_per_gpu"


def test_sums_are_by_type() -> None:
    assert summed(np.array([[1], [2], [4]]), np.array([0, 1, 0]), 2).tolist() == [[5], [2]]


# first come, first served keeps its order, and a configuration of Sia's may need a whole node
@pytest.mark.parametrize("name", sorted(POLICIES.keys() - {"fifo", "sia"}))
@given(seed=SEEDS)
@SLOW
def test_no_job_waits_that_would_fit_whole_on_what_is_free(name: str, seed: int) -> None:
    policy = make(name)
    for seen, decision, _ in episode(policy, seed, needs=True):
        assert not list(waits_for_nothing(policy, seen, decision))


@given(seed=SEEDS)
@SLOW
def test_neither_does_one_behind_another_where_fifo_may_pass_it(seed: int) -> None:
    policy = make("fifo", {"backfill": "true"})
    for seen, decision, _ in episode(policy, seed, needs=True):
        assert not list(waits_for_nothing(policy, seen, decision))


def plain_and_plenty(name: str, seed: int) -> list[Decision]:
    """On a cluster that says nothing of CPUs and memory, and on one that says it has plenty."""
    rng = np.random.default_rng(seed)
    plain = nodes(*rng.integers(1, 6, 3).tolist())
    plenty = tuple(replace(node, cpus=1e5, memory_gb=1e6) for node in plain)
    jobs = [needy(random_job(rng, f"j{at}", float(at)), rng) for at in range(5)]
    return [
        make(name).decide(snapshot(there, *jobs), make(name).start(), np.random.default_rng(0))[0]
        for there in (plain, plenty)
    ]


@pytest.mark.parametrize("name", sorted(POLICIES.keys() - {"sia"}))
@given(seed=SEEDS)
@SLOW
def test_room_without_limit_changes_nothing(name: str, seed: int) -> None:
    plain, plenty = plain_and_plenty(name, seed)
    if plain.objective is not None:  # of equally good plans another one may be taken
        assert plenty.objective == pytest.approx(plain.objective, rel=1e-3)
        return
    assert plain.allocations == plenty.allocations


@given(seed=SEEDS)
@example(seed=81590226)
@SLOW
def test_with_it_sia_loses_nothing(seed: int) -> None:
    """A job of 3 GPUs takes a slot of 4; where needs count, the fourth goes to who found none."""
    plain, plenty = plain_and_plenty("sia", seed)
    assert plain.objective is not None
    assert plenty.objective is not None
    assert plenty.objective >= plain.objective - 1e-3 * abs(plain.objective)


def waits_for_nothing(policy: Policy[Any], seen: Snapshot, decision: Decision) -> Iterator[str]:
    """Jobs that wait though their size is free with what goes with it; on one node, if elastic."""
    for view in seen.jobs:
        spec, resizes = view.spec, policy.traits.resizes
        if not decision.of(spec.job_id):
            free: dict[str, int] = {}
            for node in seen.nodes:
                place = node.node_id if resizes else node.gpu_type
                left = int(_free(view, seen, decision, node.node_id))
                free[place] = free.get(place, 0) + left
            if max(free.values()) >= (spec.gpus.smallest if resizes else spec.requested_gpus):
                yield spec.job_id


def _free(view: JobView, seen: Snapshot, decision: Decision, node_id: str) -> float:
    (node,) = (node for node in seen.nodes if node.node_id == node_id)
    held = [(one.spec, decision.of(one.spec.job_id).on(node.node_id)) for one in seen.jobs]
    free = float(node.gpus - sum(gpus for _, gpus in held))
    for of_node, of_job in (("cpus", "cpus_per_gpu"), ("memory_gb", "memory_gb_per_gpu")):
        has, each = getattr(node, of_node), getattr(view.spec, of_job)
        if has is not None and each > 0:
            taken = sum(getattr(spec, of_job) * gpus for spec, gpus in held)
            free = min(free, (has - taken) / each - 0.002)  # needs are rounded up to thousandths
    return max(free, 0.0)


def test_scarce_clusters_are_scarce() -> None:
    """The laws above would say nothing if nobody ever waited for CPUs or memory."""
    codes = [
        reason.code
        for seed in range(4)
        for _, decision, _ in episode(make("las"), seed, needs=True)
        for reason in decision.reasons
    ]
    assert {"WaitingForCpus", "WaitingForMemory"} <= set(codes)
    assert any(node.cpus for node in scarce(nodes(4, 4), np.random.default_rng(0)))
