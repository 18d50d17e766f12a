"""Auto-scaling around any policy: how many nodes there should be, and which to give back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, final

import numpy as np

from headway.core.ids import NodeId
from headway.core.policy.base import Policy, Traits
from headway.core.policy.grid import change_code
from headway.core.policy.needs import room_for
from headway.core.policy.probe import Probe, leaving, pinned_nodes, usual, without
from headway.core.policy.scalers import Scaler, Size
from headway.core.scale import ScaleCode, Scaling
from headway.core.types import Decision, JobView, Node, Reason, Snapshot

Inner = TypeVar("Inner")


@dataclass(frozen=True, slots=True)
class Watched(Generic[Inner]):
    """What the policy inside remembers, and for how long another size has been wanted."""

    inner: Inner
    rounds: int = 0  # in a row that wanted more nodes; below 0: fewer


@final
@dataclass(frozen=True)
class Autoscaled(Generic[Inner]):
    """Any policy, with a rule that says how many nodes the cluster should have.

    Jobs are placed by the policy inside. Nodes that are to leave are hidden from it, so that in
    one decision jobs move away from them and they are given back empty. Nodes that were asked for
    are used when they have come.
    """

    inner: Policy[Inner]
    scaler: Scaler

    @property
    def traits(self) -> Traits:
        """Those of the policy inside; sizes need reports, and it scales."""
        return replace(
            self.inner.traits,
            reads_reports=True,
            batch_per_gpu=self.scaler.batch_per_gpu,
            most_nodes=self.scaler.max_nodes,
        )

    def start(self) -> Watched[Inner]:
        """Nothing was wanted yet."""
        return Watched(self.inner.start())

    def decide(
        self, snapshot: Snapshot, memory: Watched[Inner], rng: np.random.Generator
    ) -> tuple[Decision, Watched[Inner]]:
        """Who holds what on the nodes that stay, and how many nodes there should be."""
        seen = self.scaler.view(snapshot)
        decision, inner = self.inner.decide(seen, memory.inner, rng)
        if not seen.nodes:
            return decision, Watched(inner, memory.rounds)
        probe = Probe(policy=self.inner, seen=seen, memory=memory.inner, rng=rng)
        size = self._size(seen)
        gain = probe.gain_of(decision.allocations)
        wanted, rounds = self._patient(size, self.scaler.want(probe, size, gain), memory.rounds)
        gone = self._spared(seen, leaving(seen, size.present - wanted.nodes))
        if gone and seen.jobs:
            decision, inner = self.inner.decide(without(seen, gone), memory.inner, rng)
            decision = _from_leaving(decision, seen, gone)
        figures = {"utility": gain / seen.gpus, "sizes_tried": float(probe.tried)}
        decision = replace(
            decision,
            scaling=_at_least(wanted, size.present - len(gone), gone),
            solver={**decision.solver, **figures},
        )
        return decision, Watched(inner, rounds if seen.jobs else 0)

    def _size(self, seen: Snapshot) -> Size:
        present = len(seen.nodes)
        most = max(self.scaler.max_nodes, len(pinned_nodes(seen)))
        needed = max((self._needs(job, seen, most) for job in seen.jobs), default=0)
        return Size(
            present=present,
            asked=present if seen.nodes_wanted is None else seen.nodes_wanted,
            least=max(self.scaler.min_nodes, needed, len(pinned_nodes(seen))),
            most=most,
            needed=needed,
        )

    def _needs(self, job: JobView, seen: Snapshot, most: int) -> int:
        """The fewest nodes of the usual kind on which the job can run; 0 where most are too few."""
        gpus_of_one = room_for(job.spec, (usual(seen.nodes),))
        nodes = -(-self._least_gpus(job) // gpus_of_one) if gpus_of_one else most + 1
        return nodes if nodes <= most else 0

    def _least_gpus(self, job: JobView) -> int:
        return job.spec.gpus.smallest if self.inner.traits.resizes else job.spec.requested_gpus

    def _spared(self, seen: Snapshot, gone: tuple[NodeId, ...]) -> tuple[NodeId, ...]:
        """Those of them without which every job that fits now still fits one GPU type."""
        fits = [job for job in seen.jobs if self._fits(job, seen.nodes)]
        while gone and not all(self._fits(job, without(seen, gone).nodes) for job in fits):
            gone = gone[:-1]
        return gone

    def _fits(self, job: JobView, nodes: Sequence[Node]) -> bool:
        return self._least_gpus(job) <= room_for(job.spec, nodes)

    def _patient(self, size: Size, wanted: Scaling, rounds: int) -> tuple[Scaling, int]:
        """What is wanted, once it has been wanted for long enough; bounds hold at once."""
        more, fewer = wanted.nodes > size.asked, wanted.nodes < size.asked
        rounds = max(rounds, 0) + 1 if more else min(rounds, 0) - 1 if fewer else 0
        forced = wanted.code in {ScaleCode.JOB_NEEDS, ScaleCode.OUT_OF_BOUNDS}
        if forced or not -self.scaler.in_rounds < rounds < self.scaler.out_rounds:
            return wanted, 0
        return replace(wanted, nodes=size.asked, code=ScaleCode.KEPT), rounds


def _from_leaving(decision: Decision, seen: Snapshot, gone: tuple[NodeId, ...]) -> Decision:
    """Jobs on nodes that leave still hold GPUs there: the policy inside took them for waiting."""
    held = {
        job.spec.job_id: job.allocation.gpus
        for job in seen.jobs
        if any(node_id in gone for node_id, _ in job.allocation.per_node)
    }

    def told(reason: Reason) -> Reason:
        before, after = held[reason.job_id], decision.of(reason.job_id).gpus
        numbers = {**dict(reason.numbers), "gpus_before": float(before)}
        code = change_code(before, after, moved=True, behind=False)
        return replace(reason, code=code, numbers=tuple(numbers.items()))

    reasons = (told(one) if one.job_id in held else one for one in decision.reasons)
    return replace(decision, reasons=tuple(reasons))


def _at_least(wanted: Scaling, staying: int, gone: tuple[NodeId, ...]) -> Scaling:
    """As wanted, but no fewer than stay because a job may not be moved away from them."""
    return replace(wanted, nodes=max(wanted.nodes, staying), leaving=gone)
