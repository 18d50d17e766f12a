"""All the scheduler knows, as one immutable value; only active jobs, so it stays small."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Self, TypeVar

from headway.core.control.events import RoundDecided
from headway.core.control.lifecycle import Phase
from headway.core.control.promised import Promised
from headway.core.ids import JobId, NodeId
from headway.core.scale import Scaling
from headway.core.types import (
    NOTHING,
    Allocation,
    JobReport,
    JobSpec,
    JobView,
    Node,
    Reason,
    Snapshot,
)

Memory = TypeVar("Memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """What the scheduler knows of one active job."""

    spec: JobSpec
    phase: Phase = Phase.QUEUED
    allocation: Allocation = NOTHING
    generation: int = 0
    restarts: int = 0
    max_gpus_held: int = 0
    first_started_s: float | None = None
    report: JobReport | None = None
    reason: Reason | None = None  # the last that was told, so that only news is logged
    attained_gpu_s: float = 0.0  # up to the last change of the allocation
    changed_s: float = 0.0  # when that was

    def attained_at(self, now_s: float) -> float:
        """GPU-seconds held so far."""
        return self.attained_gpu_s + self.allocation.gpus * (now_s - self.changed_s)

    def holding(self, allocation: Allocation, now_s: float) -> Self:
        """The same job with another allocation, its account settled up to now."""
        return replace(
            self,
            allocation=allocation,
            attained_gpu_s=self.attained_at(now_s),
            changed_s=now_s,
            max_gpus_held=max(self.max_gpus_held, allocation.gpus),
        )

    def view(self, now_s: float) -> JobView:
        """What a policy is told."""
        promised = None if self.reason is None else Promised.of(self.reason)
        return JobView(
            spec=self.spec,
            allocation=self.allocation,
            attained_gpu_s=self.attained_at(now_s),
            restarts=self.restarts,
            max_gpus_held=self.max_gpus_held,
            first_started_s=self.first_started_s,
            report=self.report,
            egalitarian_s=None if promised is None else promised.egalitarian_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class State(Generic[Memory]):
    """The fold of the event log, and the policy's memory."""

    memory: Memory
    round_s: float = 60.0
    now_s: float = 0.0
    round_index: int = 0
    nodes: Mapping[NodeId, Node] = field(default_factory=dict)
    jobs: Mapping[JobId, JobState] = field(default_factory=dict)  # active ones, by submission
    arrivals: int = 0
    departures: int = 0
    changes: int = 0
    scaling: Scaling | None = None  # the size that was asked for; None: what is there
    scalings: int = 0  # counts how often another one was asked for
    decided: RoundDecided | None = None  # the last decision that was made here

    @property
    def nodes_wanted(self) -> int:
        return len(self.nodes) if self.scaling is None else self.scaling.nodes

    def with_job(self, job: JobState) -> Self:
        return replace(self, jobs={**self.jobs, job.spec.job_id: job})

    def without_job(self, job_id: JobId) -> Self:
        left = {key: job for key, job in self.jobs.items() if key != job_id}
        return replace(self, jobs=left, departures=self.departures + 1)

    def snapshot(self) -> Snapshot:
        """What a policy is told at this moment."""
        jobs = sorted(self.jobs.values(), key=lambda job: (job.spec.submitted_s, job.spec.job_id))
        return Snapshot(
            now_s=self.now_s,
            round_index=self.round_index,
            round_s=self.round_s,
            nodes=tuple(self.nodes[node_id] for node_id in sorted(self.nodes)),
            jobs=tuple(job.view(self.now_s) for job in jobs),
            arrivals=self.arrivals,
            departures=self.departures,
            changes=self.changes,
            nodes_wanted=None if self.scaling is None else self.scaling.nodes,
            nodes_leaving=() if self.scaling is None else self.scaling.leaving,
        )
