"""Who gets how much of which node: the question as arrays, the cost of an answer, its check."""

from dataclasses import dataclass, field

import numpy as np

from headway.core.solve.beside import Beside, Room
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray


def _zero() -> IntArray:
    return np.zeros(1, dtype=np.int64)


def _none() -> BoolArray:
    return np.zeros(1, dtype=np.bool_)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """Of what each job holds, all that its cost depends on."""

    gpus: Int64[IntArray, " jobs"]
    nodes: Int64[IntArray, " jobs"]
    kind: Int64[IntArray, " jobs"]  # 0 for nothing, -1 for GPUs of several types
    racks: Int64[IntArray, " jobs"]  # 1 if there is no rack level, and for nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Costs of every size for every job, and what each job holds now. Infinite: not allowed.

    A job may hold nothing, or on GPUs of one type i of one node, k ≥ 2 of several nodes of one
    rack, k ≥ 2 of several racks; or exactly what it holds now. Without ``cost_rack`` racks do not
    matter. A node carries at most one job that spans several nodes, unless they may share it.
    ``beside`` is what its GPUs take of a node beside themselves.
    """

    capacity: Int64[IntArray, " nodes"]
    held: Int64[IntArray, "jobs nodes"]
    kind: Int64[IntArray, " nodes"] = field(default_factory=_zero)  # index of the GPU type
    rack: Int64[IntArray, " nodes"] = field(default_factory=_zero)  # index of the rack
    closed: BoolArray = field(default_factory=_none)  # nodes that no spanning job may come to
    cost_none: Float64[FloatArray, " jobs"]
    cost_local: Float64[FloatArray, "jobs kinds sizes"]  # i: GPUs of one node; 0 is not read
    cost_rack: Float64[FloatArray, "jobs kinds counts"] | None = None  # k: of several in one rack
    cost_several: Float64[FloatArray, "jobs kinds counts"]  # k: GPUs of several nodes; from 2
    cost_keep: Float64[FloatArray, " jobs"]  # not read for a job that holds nothing
    share_spanning: bool = False  # a node may carry several jobs that span nodes
    beside: Beside = field(default_factory=lambda: Beside.nothing(0, 0))

    def __post_init__(self) -> None:
        """All nodes are open, of one type, in one rack, with GPUs alone unless said otherwise."""
        if not self.beside:
            object.__setattr__(self, "beside", Beside.nothing(*self.held.shape))
        for name in ("kind", "rack", "closed"):
            index = np.broadcast_to(getattr(self, name), self.capacity.shape)
            object.__setattr__(self, name, index)
        assert self.kind.max(initial=0) < self.kinds, "a node of a type without costs"

    @property
    def kinds(self) -> int:
        """The number of GPU types that have costs."""
        return int(self.cost_local.shape[1])

    def keepable(self) -> BoolArray:
        """Jobs that hold something, may keep it, and whose nodes still allow it."""
        fits = (self.held <= self.capacity).all(axis=1)
        if self.beside:
            fits &= (self.held <= self.beside.most()).all(axis=1)
        if self.closed.any():
            spans = (self.held > 0).sum(axis=1) > 1
            fits &= ~(spans & self.held[:, self.closed].any(axis=1))
        return np.isfinite(self.cost_keep) & self.held.any(axis=1) & fits

    def shapes(self, alloc: Int64[IntArray, "jobs nodes"]) -> Shapes:
        """What the cost of each job's row depends on."""
        jobs = len(alloc)
        job, node = np.nonzero(alloc > 0)
        kind, racks = np.zeros(jobs, dtype=np.int64), np.ones(jobs, dtype=np.int64)
        if self.kinds > 1:
            kind[job] = self.kind[node]
            kind[_distinct(job, self.kind[node], jobs) > 1] = -1
        if self.cost_rack is not None:
            racks = np.maximum(_distinct(job, self.rack[node], jobs), 1)
        nodes = np.bincount(job, minlength=jobs)
        return Shapes(gpus=alloc.sum(axis=1), nodes=nodes, kind=kind, racks=racks)

    def shape_cost(
        self, job: IntArray, gpus: IntArray, nodes: IntArray, kind: IntArray, racks: IntArray
    ) -> FloatArray:
        """What a new placement costs a job, elementwise; infinite where it is not allowed."""
        cost = _look_up(self.cost_several, job, kind, gpus)
        if self.cost_rack is not None:
            cost = np.where(racks == 1, _look_up(self.cost_rack, job, kind, gpus), cost)
        cost = np.where(nodes == 1, _look_up(self.cost_local, job, kind, gpus), cost)
        return np.where(nodes == 0, self.cost_none[job], cost)

    def new_cost(
        self, job: Int64[IntArray, " some"], rows: Int64[IntArray, "some nodes"]
    ) -> Float64[FloatArray, " some"]:
        """What rows cost these jobs as new placements; infinite where they are not allowed."""
        shape = self.shapes(rows)
        return self.shape_cost(job, shape.gpus, shape.nodes, shape.kind, shape.racks)

    def cost(self, alloc: Int64[IntArray, "jobs nodes"]) -> Float64[FloatArray, " jobs"]:
        """What each job's row costs; infinite where it is not allowed."""
        shaped = self.new_cost(np.arange(len(alloc)), alloc)
        kept = (alloc == self.held).all(axis=1) & alloc.any(axis=1)
        return np.where(kept, np.minimum(self.cost_keep, shaped), shaped)

    def free(self, job: int, alloc: Int64[IntArray, "jobs nodes"]) -> Int64[IntArray, " nodes"]:
        """How many more GPUs of each node a placement leaves to a job."""
        return Room(self.capacity, self.beside, alloc).free(job)

    def feasible(self, alloc: Int64[IntArray, "jobs nodes"]) -> bool:
        """Whether nodes have room, spanning jobs share none or may, and sizes are allowed."""
        fits = (alloc >= 0).all() and (alloc.sum(axis=0) <= self.capacity).all()
        fits = fits and self.beside.fits(alloc)
        spanning = (alloc > 0).sum(axis=1) > 1
        beside = (alloc[spanning] > 0).sum(axis=0)
        alone = (beside <= ~self.closed).all()
        if self.share_spanning:
            alone = not beside[self.closed].any()
        return bool(fits and alone and np.isfinite(self.cost(alloc)).all())


def _distinct(
    job: Int64[IntArray, " entries"], label: Int64[IntArray, " entries"], jobs: int
) -> Int64[IntArray, " jobs"]:
    """How many different labels each job has."""
    labels = int(label.max(initial=0)) + 1
    return np.bincount(np.unique(job * labels + label) // labels, minlength=jobs)


def _look_up(
    table: Float64[FloatArray, "jobs kinds sizes"], job: IntArray, kind: IntArray, column: IntArray
) -> FloatArray:
    """``table[job, kind, column]``; infinite beyond the last column, and without a type."""
    inside = (column < table.shape[2]) & (kind >= 0)
    if not inside.any():
        return np.full(np.shape(inside), np.inf)
    return np.where(inside, table[job, kind, np.where(inside, column, 0)], np.inf)
