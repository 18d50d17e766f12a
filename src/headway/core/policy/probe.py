"""Clusters that are not there: what the jobs of now would gain on more nodes, or on fewer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf
from typing import Any, final

import numpy as np

from headway.core.ids import JobId, NodeId
from headway.core.model.goodput import JobModels, best
from headway.core.policy.base import Policy, contract_under
from headway.core.types import (
    NOTHING,
    Allocation,
    BatchContract,
    BatchMode,
    Float64,
    FloatArray,
    JobView,
    Node,
    Snapshot,
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Asks a policy about other sizes of the cluster, each once; nothing that it says is done.

    Jobs are placed anew there, as if none of them ran, so that the answer depends on what jobs
    report and not on where they happen to be. Only jobs that may not be preempted stay.
    """

    policy: Policy[Any]
    seen: Snapshot
    memory: Any
    rng: np.random.Generator
    _known: dict[int, float] = field(default_factory=dict)

    @property
    def tried(self) -> int:
        """How many sizes were asked about."""
        return len(self._known)

    def gain(self, nodes: int) -> float:
        """The sum of the jobs' speedups on so many nodes."""
        if nodes not in self._known:
            there = sized(self.seen, nodes)
            decision, _ = self.policy.decide(there, self.memory, self.rng)
            self._known[nodes] = self.gain_of(decision.allocations)
        return self._known[nodes]

    def gain_of(self, allocations: Mapping[JobId, Allocation]) -> float:
        """The sum of the jobs' speedups with these allocations."""
        jobs = [job for job in self.seen.jobs if allocations.get(job.spec.job_id)]
        if not jobs:
            return 0.0
        held = [allocations[job.spec.job_id] for job in jobs]
        contracts = [self._contract(job) for job in jobs]
        return float(speedups(jobs, contracts, held).sum())

    def utility(self, nodes: int) -> float:
        """UTILITY of so many nodes: the sum of speedups over GPUs (Pollux, section 5.4.1)."""
        return self.gain(nodes) / self.gpus(nodes)

    def gpus(self, nodes: int) -> int:
        """GPUs of a cluster of so many nodes."""
        return sum(node.gpus for node in sized_nodes(self.seen, nodes))

    def _contract(self, job: JobView) -> BatchContract:
        """What the agent really does under the policy: adapt, follow, or keep the requested."""
        traits, batch = self.policy.traits, job.spec.batch
        if batch.follows or (traits.adapts_batch_size and batch.adapts):
            return contract_under(traits, batch)
        size = job.spec.requested_batch_size
        return replace(batch, initial_batch_size=size, max_batch_size=size, mode=BatchMode.FIXED)


def speedups(
    jobs: Sequence[JobView], contracts: Sequence[BatchContract], held: Sequence[Allocation]
) -> Float64[FloatArray, " jobs"]:
    """Goodput over goodput on one GPU; a job that cannot run on one counts as scaling perfectly."""
    models = JobModels.of([(batch, job.report) for job, batch in zip(jobs, contracts, strict=True)])
    gpus = np.array([[1, allocation.gpus] for allocation in held], dtype=np.int64)
    spans = np.array([[False, allocation.placement.nodes > 1] for allocation in held])
    alone, now = best(models, gpus, spans).goodput_per_s.T
    ratio = np.divide(now, alone, out=gpus[:, 1].astype(np.float64), where=alone > 0)
    return np.asarray(ratio)


def usual(nodes: Sequence[Node]) -> Node:
    """A node of the kind that is there most often; nodes that come are of that kind."""
    kinds: dict[Node, int] = {}
    for node in nodes:
        kind = replace(node, node_id=NodeId(""), rack=None)
        kinds[kind] = kinds.get(kind, 0) + 1
    return max(kinds, key=lambda kind: (kinds[kind], _rank(kind)))


def _rank(node: Node) -> tuple[int, str, float, float, float]:
    """Which of two kinds of node is taken where there are as many of both."""
    beside = [inf if amount is None else amount for amount in (node.cpus, node.memory_gb)]
    return node.gpus, node.gpu_type, node.speed, beside[0], beside[1]


def leaving(seen: Snapshot, count: int) -> tuple[NodeId, ...]:
    """Which nodes to give back: those told to go before, else those with the fewest GPUs in use.

    Of equal ones the last by name, and never one that a job may not be moved away from.
    """
    pinned, used = pinned_nodes(seen), _used(seen)
    may = [node.node_id for node in seen.nodes if node.node_id not in pinned]
    may.sort(reverse=True)
    may.sort(key=lambda node_id: (node_id not in seen.nodes_leaving, used.get(node_id, 0)))
    return tuple(sorted(may[: max(count, 0)]))


def pinned_nodes(seen: Snapshot) -> frozenset[NodeId]:
    """Nodes with workers of a job that may not be preempted."""
    pinned = (job.allocation.per_node for job in seen.jobs if not job.spec.preemptible)
    return frozenset(node_id for node_id, _ in chain.from_iterable(pinned))


def without(seen: Snapshot, gone: Sequence[NodeId]) -> Snapshot:
    """The same with some nodes gone."""
    return replace(seen, nodes=tuple(node for node in seen.nodes if node.node_id not in gone))


def sized_nodes(seen: Snapshot, nodes: int) -> tuple[Node, ...]:
    """So many nodes: those that would stay, or all and some of the usual kind."""
    more = nodes - len(seen.nodes)
    if more <= 0:
        return without(seen, leaving(seen, -more)).nodes
    kind = usual(seen.nodes)
    new = (replace(kind, node_id=NodeId(f"~{number:05}")) for number in range(more))
    return (*seen.nodes, *new)  # "~" sorts behind all that hosts are called


def sized(seen: Snapshot, nodes: int) -> Snapshot:
    """The same jobs on so many nodes, none of them placed yet but those that may not move."""
    jobs = tuple(
        replace(job, allocation=NOTHING) if job.spec.preemptible else job for job in seen.jobs
    )
    return replace(seen, nodes=sized_nodes(seen, nodes), jobs=jobs)


def _used(seen: Snapshot) -> Mapping[NodeId, int]:
    used: dict[NodeId, int] = {}
    for node_id, gpus in chain.from_iterable(job.allocation.per_node for job in seen.jobs):
        used[node_id] = used.get(node_id, 0) + gpus
    return used
