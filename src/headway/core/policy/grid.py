"""A snapshot as arrays and back: jobs by queue order, nodes by name, who holds how much of which.

What policies share, so that none of them depends on the order in which it is told things.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from headway.core.ids import JobId
from headway.core.policy.needs import Resource, asked, beside, counting, room_for
from headway.core.policy.waiting import Waits, exceeds, waiting
from headway.core.solve.beside import Beside, Room
from headway.core.types import (
    Allocation,
    BoolArray,
    Decision,
    FloatArray,
    Int64,
    IntArray,
    JobView,
    Node,
    Reason,
    ReasonCode,
    Snapshot,
    widest,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuType:
    """What a policy knows of one GPU type."""

    name: str
    speed: float  # nominal; where its nodes differ, the greatest
    gpus: int  # in the whole cluster
    largest: int  # GPUs of its largest node


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Jobs that fit the cluster at all, in the order of submission, and their holdings.

    A job holds GPUs of one type only, so it fits if one type has enough, with what goes with them.
    """

    jobs: tuple[JobView, ...]
    nodes: tuple[Node, ...]
    capacity: Int64[IntArray, " nodes"]
    types: tuple[GpuType, ...]  # fastest first, then by name
    kind: Int64[IntArray, " nodes"]  # index of the node's type
    rack: Int64[IntArray, " nodes"]  # index of its rack, by name; unknown ones are one rack
    held: Int64[IntArray, "jobs nodes"]  # all zero for a job that lost some of its GPUs
    resources: tuple[Resource, ...]  # that count beside GPUs
    beside: Beside  # of the same
    too_large: tuple[JobView, ...]
    at_requested_size: bool  # a job needs its requested GPUs, not its smallest size

    @classmethod
    def of(cls, snapshot: Snapshot, *, at_requested_size: bool) -> Self:
        """The grid of a snapshot; a job needs its requested GPUs, or its smallest size at least."""
        nodes = tuple(sorted(snapshot.nodes, key=lambda node: node.node_id))
        queue = sorted(snapshot.jobs, key=lambda job: (job.spec.submitted_s, job.spec.job_id))
        needs = [gpus_needed(job, at_requested_size=at_requested_size) for job in queue]
        most = widest(nodes)  # once for all that ask for nothing else
        room = [room_for(job.spec, nodes) if any(asked(job.spec)) else most for job in queue]
        capacity = np.array([node.gpus for node in nodes], dtype=np.int64)
        wanted = _wanted(queue, nodes)
        stays = [
            not job.spec.preemptible and wanted[at].any() and (wanted[at] <= capacity).all()
            for at, job in enumerate(queue)
        ]  # whatever else its nodes have now
        fit = [stays[at] or needs[at] <= room[at] for at in range(len(queue))]
        fits = [at for at in range(len(queue)) if fit[at]]
        specs = [queue[at].spec for at in fits]
        resources = counting(specs, nodes)
        pinned = np.array(stays, dtype=np.bool_)[fits]
        held, needed = _held(wanted[fits], pinned, capacity, beside(specs, nodes, resources))
        names = sorted({node.rack or "" for node in nodes})
        racks = {name: rack for rack, name in enumerate(names)}
        types = _types(nodes)
        kinds = {one.name: kind for kind, one in enumerate(types)}
        return cls(
            jobs=tuple(queue[at] for at in fits),
            nodes=nodes,
            capacity=capacity,
            types=types,
            kind=np.array([kinds[node.gpu_type] for node in nodes], dtype=np.int64),
            rack=np.array([racks[node.rack or ""] for node in nodes], dtype=np.int64),
            held=held,
            resources=resources,
            beside=needed,
            too_large=tuple(job for at, job in enumerate(queue) if not fit[at]),
            at_requested_size=at_requested_size,
        )

    @property
    def running(self) -> BoolArray:
        """Jobs that hold GPUs."""
        return np.asarray(self.held.any(axis=1))

    @property
    def gpus_of_types(self) -> Int64[IntArray, " kinds"]:
        """How many GPUs there are of each type."""
        return np.array([one.gpus for one in self.types], dtype=np.int64)

    @property
    def largest(self) -> int:
        """GPUs of the largest node; 1 without nodes."""
        return int(self.capacity.max(initial=1))

    @property
    def needs_gpus(self) -> int:
        """GPUs of all jobs together, each with the least that it runs on."""
        return sum(job.spec.gpus.smallest for job in self.jobs)

    @property
    def has_racks(self) -> bool:
        """Whether there are several racks."""
        return bool((self.rack > 0).any())

    @property
    def held_kind(self) -> Int64[IntArray, " jobs"]:
        """The type that each job holds; 0 for one that holds nothing."""
        return self.kind_of(self.held)

    def kind_of(self, alloc: Int64[IntArray, "jobs nodes"]) -> Int64[IntArray, " jobs"]:
        """The type of each row; 0 for an empty one."""
        if not len(self.nodes):
            return np.zeros(len(alloc), dtype=np.int64)
        return np.where(alloc.any(axis=1), self.kind[np.argmax(alloc > 0, axis=1)], 0)

    def locality_of(self, alloc: Int64[IntArray, "jobs nodes"]) -> Int64[IntArray, " jobs"]:
        """How far apart each row is: 0 one node or none, 1 one rack, 2 several racks."""
        several = (alloc > 0).sum(axis=1) > 1
        if not self.has_racks:
            return np.asarray(several, dtype=np.int64)
        first = np.where(alloc > 0, self.rack, len(self.nodes)).min(axis=1)
        last = np.where(alloc > 0, self.rack, -1).max(axis=1)
        return np.asarray(np.where(several, np.where(first < last, 2, 1), 0))

    @property
    def pinned(self) -> BoolArray:
        """Running jobs that may not be preempted, so they keep exactly what they hold."""
        preemptible = np.array([job.spec.preemptible for job in self.jobs], dtype=np.bool_)
        return self.running & ~preemptible

    def room(self, alloc: Int64[IntArray, "jobs nodes"]) -> Room:
        """What a placement leaves free."""
        return Room(self.capacity, self.beside, alloc)

    def allocation(self, row: Int64[IntArray, " nodes"]) -> Allocation:
        """One job's row as a value of the domain."""
        return Allocation.of(
            {self.nodes[index].node_id: int(row[index]) for index in np.flatnonzero(row)}
        )

    def decision(
        self,
        alloc: Int64[IntArray, "jobs nodes"],
        *,
        numbers: Mapping[str, Sequence[float] | FloatArray] | None = None,
        behind: BoolArray | None = None,
        objective: float | None = None,
        gap: float | None = None,
        solver: dict[str, float] | None = None,
    ) -> Decision:
        """A decision with a reason for every job.

        ``numbers`` are figures per job that led to it; who waits ``behind`` others is told so.
        """
        allocations: dict[JobId, Allocation] = {}
        reasons: list[Reason] = []
        waits = self._waiting(alloc)
        for row, job in enumerate(self.jobs):
            if alloc[row].any():
                allocations[job.spec.job_id] = self.allocation(alloc[row])
            before, after = int(self.held[row].sum()), int(alloc[row].sum())
            moved = bool((alloc[row] != self.held[row]).any())
            figures: dict[str, float] = {"gpus_before": before, "gpus_after": after}
            figures |= {name: values[row] for name, values in (numbers or {}).items()}
            queued = behind is not None and bool(behind[row])
            code = change_code(before, after, moved=moved, behind=queued)
            if row in waits and not before:
                code, more = waits[row]
                figures |= more
            reasons.append(
                Reason(
                    job_id=job.spec.job_id,
                    code=code,
                    numbers=tuple((name, float(value)) for name, value in figures.items()),
                )
            )
        reasons += self._too_large()
        return Decision(
            allocations=allocations,
            reasons=tuple(reasons),
            objective=objective,
            gap=gap,
            solver=solver or {},
        )

    def _waiting(self, alloc: Int64[IntArray, "jobs nodes"]) -> dict[int, Waits]:
        """Rows that wait for something else than GPUs."""
        of_kind = self.kind == np.arange(len(self.types))[:, None]
        needs = [gpus_needed(job, at_requested_size=self.at_requested_size) for job in self.jobs]
        need = np.array(needs, dtype=np.int64)
        return waiting(alloc, need, self.capacity, of_kind, self.resources, self.beside)

    def _too_large(self) -> list[Reason]:
        gpus = ("gpus_of_cluster", float(self.capacity.sum()))
        if len(self.types) > 1:
            gpus = ("gpus_of_one_type", float(self.gpus_of_types.max()))
        return [
            exceeds(
                job.spec,
                gpus_needed(job, at_requested_size=self.at_requested_size),
                room_for(job.spec, self.nodes),
                gpus,
            )
            for job in self.too_large
        ]


def _wanted(jobs: Sequence[JobView], nodes: tuple[Node, ...]) -> Int64[IntArray, "jobs nodes"]:
    """What each has, all zero with a node gone, or on two types: a node came back with others."""
    at = {node.node_id: index for index, node in enumerate(nodes)}
    wanted = np.zeros((len(jobs), len(nodes)), dtype=np.int64)
    for row, job in enumerate(jobs):
        own = job.allocation.per_node
        there = all(node_id in at for node_id, _ in own)
        if there and len({nodes[at[node_id]].gpu_type for node_id, _ in own}) == 1:
            for node_id, gpus in own:
                wanted[row, at[node_id]] = gpus
    return wanted


def _held(
    wanted: Int64[IntArray, "jobs nodes"],
    pinned: BoolArray,
    capacity: Int64[IntArray, " nodes"],
    needed: Beside,
) -> tuple[Int64[IntArray, "jobs nodes"], Beside]:
    """Who holds what. With a node grown smaller, who came first keeps its GPUs.

    Before all others who may not be stopped; what goes with their GPUs counts as there, even where
    a node has less of it by now.
    """
    held, free = np.zeros_like(wanted), capacity.copy()
    for row in np.flatnonzero(pinned).tolist():
        if (wanted[row] <= free).all():
            held[row] = wanted[row]
            free -= wanted[row]
    needed = replace(needed, room=np.maximum(needed.room, held.T @ needed.each))
    room = Room(capacity, needed, held)
    for row in np.flatnonzero(~pinned & wanted.any(axis=1)).tolist():
        if (wanted[row] <= room.free(row)).all():
            held[row] = wanted[row]
            room.take(row, wanted[row])
    return held, needed


def _types(nodes: Sequence[Node]) -> tuple[GpuType, ...]:
    """The GPU types of a cluster, fastest first."""
    by_name: dict[str, list[Node]] = {}
    for node in nodes:
        by_name.setdefault(node.gpu_type, []).append(node)
    types = [
        GpuType(
            name=name,
            speed=max(node.speed for node in same),
            gpus=sum(node.gpus for node in same),
            largest=max(node.gpus for node in same),
        )
        for name, same in by_name.items()
    ]
    return tuple(sorted(types, key=lambda one: (-one.speed, one.name)))


def gpus_needed(job: JobView, *, at_requested_size: bool) -> int:
    """GPUs without which it cannot run."""
    return job.spec.requested_gpus if at_requested_size else job.spec.gpus.smallest


def change_code(before: int, after: int, *, moved: bool, behind: bool) -> ReasonCode:
    """What happens to a job that held so many GPUs and will hold so many."""
    if not after:
        if before:
            return ReasonCode.STOPPED
        return ReasonCode.BEHIND if behind else ReasonCode.WAITING
    if not moved:
        return ReasonCode.KEPT
    if not before:
        return ReasonCode.STARTED
    if before == after:
        return ReasonCode.MOVED
    return ReasonCode.GREW if after > before else ReasonCode.SHRANK
