"""What every policy must do: a contract suite; each policy's test subclasses it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headway.core.ids import JobId, NodeId
from headway.core.policy.base import Policy
from headway.core.types import Allocation, Decision, ReasonCode, Snapshot, widest
from headway.testing.snapshots import (
    bounds,
    code_of,
    decide,
    episode,
    job,
    mixed,
    nodes,
    running,
    snapshot,
)

SEEDS = range(4)


class PolicyContract:
    """What every policy must do. Subclass, and give a ``policy`` fixture."""

    @pytest.mark.parametrize("needs", [False, True])
    @pytest.mark.parametrize("seed", SEEDS)
    def test_no_node_gives_more_than_it_has(
        self, policy: Policy[Any], seed: int, needs: bool
    ) -> None:
        for seen, decision, _ in episode(policy, seed, needs=needs):
            assert not oversubscribed(seen, decision)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_a_job_holds_gpus_of_one_type(self, policy: Policy[Any], seed: int) -> None:
        for seen, decision, _ in episode(policy, seed):
            gpu_types = {node.node_id: node.gpu_type for node in seen.nodes}
            for allocation in decision.allocations.values():
                assert len({gpu_types[node_id] for node_id, _ in allocation.per_node}) == 1

    @pytest.mark.parametrize("seed", SEEDS)
    def test_every_job_has_one_reason_and_only_jobs_hold_gpus(
        self, policy: Policy[Any], seed: int
    ) -> None:
        for seen, decision, _ in episode(policy, seed):
            known = sorted(view.spec.job_id for view in seen.jobs)
            assert sorted(reason.job_id for reason in decision.reasons) == known
            assert set(decision.allocations) <= set(known)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_the_reason_says_what_happens(self, policy: Policy[Any], seed: int) -> None:
        for seen, decision, _ in episode(policy, seed):
            before = {view.spec.job_id: view.allocation for view in seen.jobs}
            for reason in decision.reasons:
                old, new = before[reason.job_id], decision.of(reason.job_id)
                assert reason.code in _codes(old, new)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_sizes_are_those_that_the_owner_allows(self, policy: Policy[Any], seed: int) -> None:
        for seen, decision, _ in episode(policy, seed):
            for view in seen.jobs:
                gpus = decision.of(view.spec.job_id).gpus
                if gpus and decision.of(view.spec.job_id) != view.allocation:
                    own = view.spec.gpus.allowed(gpus)
                    if policy.traits.resizes:
                        assert gpus in own
                    else:
                        assert gpus == view.spec.requested_gpus

    @pytest.mark.parametrize("seed", SEEDS)
    def test_who_may_not_be_preempted_keeps_exactly_what_it_holds(
        self, policy: Policy[Any], seed: int
    ) -> None:
        for seen, decision, _ in episode(policy, seed):
            for view in seen.jobs:
                if view.allocation and not view.spec.preemptible:
                    assert decision.of(view.spec.job_id) == view.allocation

    def test_so_it_does_where_its_node_has_fewer_cpus_than_before(
        self, policy: Policy[Any]
    ) -> None:
        """A service that was started again on fewer CPUs stopped a job that could not go on."""
        (node,) = nodes(4)
        view = running(job("a", requested_gpus=2, preemptible=False), {"n0": 2})
        before, other = running(job("b", submitted_s=-1.0), {"n0": 1}), job("c")
        asking = [
            replace(one, spec=replace(one.spec, cpus_per_gpu=2.0)) for one in (view, before, other)
        ]
        for cpus in (3.0, 1.0):
            decision = decide(policy, snapshot((replace(node, cpus=cpus),), *asking))
            assert dict(decision.allocations) == {"a": view.allocation}

    @pytest.mark.parametrize("seed", SEEDS)
    def test_what_can_never_fit_is_told_so(self, policy: Policy[Any], seed: int) -> None:
        for seen, decision, _ in episode(policy, seed):
            for view in seen.jobs:
                most = widest(seen.nodes)
                if view.spec.gpus.smallest > most and view.spec.requested_gpus > most:
                    assert code_of(decision, view.spec.job_id) is ReasonCode.TOO_LARGE

    @pytest.mark.parametrize("seed", SEEDS)
    def test_the_same_rounds_give_the_same_decisions(self, policy: Policy[Any], seed: int) -> None:
        assert [d for _, d, _ in episode(policy, seed)] == [d for _, d, _ in episode(policy, seed)]

    @pytest.mark.parametrize("seed", SEEDS)
    def test_the_order_of_jobs_and_nodes_is_of_no_matter(
        self, policy: Policy[Any], seed: int
    ) -> None:
        for seen, _, memory in episode(policy, seed):
            turned = replace(seen, jobs=seen.jobs[::-1], nodes=seen.nodes[::-1])
            first, _ = policy.decide(seen, memory, np.random.default_rng(seed))
            second, _ = policy.decide(turned, memory, np.random.default_rng(seed))
            assert first.allocations == second.allocations

    @pytest.mark.parametrize("seed", SEEDS)
    def test_without_jobs_nothing_is_decided_and_memory_comes_to_rest(
        self, policy: Policy[Any], seed: int
    ) -> None:
        *_, (seen, _, memory) = episode(policy, seed)
        idle = replace(seen, jobs=())
        decision, memory = policy.decide(idle, memory, np.random.default_rng(0))
        assert (dict(decision.allocations), decision.reasons) == ({}, ())
        assert policy.decide(idle, memory, np.random.default_rng(0))[1] == memory

    def test_without_nodes_everybody_waits(self, policy: Policy[Any]) -> None:
        decision = decide(policy, snapshot((), job("a")))
        assert not decision.allocations
        assert code_of(decision, "a") is ReasonCode.TOO_LARGE

    def test_a_job_alone_in_an_empty_cluster_starts(self, policy: Policy[Any]) -> None:
        decision = decide(policy, snapshot(nodes(4, 4), job("a")))
        assert decision.of(JobId("a")).gpus >= 1
        assert code_of(decision, "a") is ReasonCode.STARTED

    def test_more_gpus_than_one_type_has_are_too_many(self, policy: Policy[Any]) -> None:
        cluster = mixed(nodes(4, 4), types=["t4", "a100"])
        decision = decide(
            policy, snapshot(cluster, job("a", gpus=bounds(least=5), requested_gpus=5))
        )
        assert not decision.allocations
        assert code_of(decision, "a") is ReasonCode.TOO_LARGE

    def test_a_job_alone_in_an_empty_mixed_cluster_gets_the_fastest_type(
        self, policy: Policy[Any]
    ) -> None:
        cluster = mixed(nodes(4, 4), types=["t4", "a100"])
        assert decide(policy, snapshot(cluster, job("a"))).of(JobId("a")).on(NodeId("n1")) >= 1

    def test_a_job_on_two_types_is_started_anew(self, policy: Policy[Any]) -> None:
        """As when a node comes back with other GPUs under the same name."""
        cluster = mixed(nodes(4, 4), types=["t4", "a100"])
        view = running(job("a", requested_gpus=2), {"n0": 1, "n1": 1})
        assert len(decide(policy, snapshot(cluster, view)).of(JobId("a")).per_node) == 1

    def test_what_is_lost_with_its_node_is_started_anew(self, policy: Policy[Any]) -> None:
        view = running(job("a", requested_gpus=2), {"gone": 2})
        decision = decide(policy, snapshot(nodes(4), view))
        assert decision.of(JobId("a")).on(NodeId("n0")) >= 1


def oversubscribed(seen: Snapshot, decision: Decision) -> list[str]:
    """Nodes that give more GPUs, CPUs or memory than they have, each with what it lacks."""
    there = {node.node_id for node in seen.nodes}
    given = {node_id for one in decision.allocations.values() for node_id, _ in one.per_node}
    wrong = [f"{node_id} is not there" for node_id in sorted(given - there)]
    for node in seen.nodes:
        held = [(view.spec, decision.of(view.spec.job_id).on(node.node_id)) for view in seen.jobs]
        cpus = sum(spec.cpus_per_gpu * gpus for spec, gpus in held)
        memory_gb = sum(spec.memory_gb_per_gpu * gpus for spec, gpus in held)
        for what, taken, has in (
            ("GPUs", sum(gpus for _, gpus in held), node.gpus),
            ("CPUs", cpus, node.cpus),
            ("memory", memory_gb, node.memory_gb),
        ):
            if has is not None and taken > has + 1e-6:
                wrong.append(f"{node.node_id} gives {taken:g} of {has:g} {what}")
    return wrong


def _codes(old: Allocation, new: Allocation) -> set[ReasonCode]:
    """The reasons that fit a change."""
    if not new:
        waits = {ReasonCode.WAITING, ReasonCode.BEHIND, ReasonCode.TOO_LARGE}
        waits |= {ReasonCode.NO_CPUS, ReasonCode.NO_MEMORY}
        return {ReasonCode.STOPPED} if old else waits
    if new == old:
        return {ReasonCode.KEPT}
    if not old:
        return {ReasonCode.STARTED}
    if new.gpus == old.gpus:
        return {ReasonCode.MOVED}
    return {ReasonCode.GREW} if new.gpus > old.gpus else {ReasonCode.SHRANK}
