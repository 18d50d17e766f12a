"""Who gets how much of which node: the question as arrays, the cost of an answer, its check."""

from dataclasses import dataclass

import numpy as np

from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Costs of every size for every job, and what each job holds now. Infinite: not allowed.

    A job may hold nothing, i GPUs of one node, k ≥ 2 GPUs of several nodes, or exactly what it
    holds now. A node carries at most one job that spans several nodes, unless they may share.
    """

    capacity: Int64[IntArray, " nodes"]
    held: Int64[IntArray, "jobs nodes"]
    cost_none: Float64[FloatArray, " jobs"]
    cost_local: Float64[FloatArray, "jobs sizes"]  # column i: i GPUs on one node; 0 is not read
    cost_several: Float64[FloatArray, "jobs counts"]  # column k: k GPUs on several nodes; from 2
    cost_keep: Float64[FloatArray, " jobs"]  # not read for a job that holds nothing
    share_spanning: bool = False  # a node may carry several jobs that span several nodes

    def keepable(self) -> BoolArray:
        """Jobs that hold something, may keep it, and whose nodes are still large enough."""
        fits = (self.held <= self.capacity).all(axis=1)
        return np.isfinite(self.cost_keep) & self.held.any(axis=1) & fits

    def shape_cost(self, job: IntArray, gpus: IntArray, nodes: IntArray) -> FloatArray:
        """What a new placement costs a job, elementwise; infinite where it is not allowed."""
        local = _look_up(self.cost_local, job, gpus)
        several = _look_up(self.cost_several, job, gpus)
        return np.where(nodes == 0, self.cost_none[job], np.where(nodes == 1, local, several))

    def cost(self, alloc: Int64[IntArray, "jobs nodes"]) -> Float64[FloatArray, " jobs"]:
        """What each job's row costs; infinite where it is not allowed."""
        gpus = alloc.sum(axis=1)
        shaped = self.shape_cost(np.arange(len(gpus)), gpus, (alloc > 0).sum(axis=1))
        kept = (alloc == self.held).all(axis=1) & (gpus > 0)
        return np.where(kept, np.minimum(self.cost_keep, shaped), shaped)

    def feasible(self, alloc: Int64[IntArray, "jobs nodes"]) -> bool:
        """Whether nodes have room and carry one spanning job at most, and sizes are allowed."""
        fits = (alloc >= 0).all() and (alloc.sum(axis=0) <= self.capacity).all()
        spanning = (alloc > 0).sum(axis=1) > 1
        alone = ((alloc[spanning] > 0).sum(axis=0) <= 1).all()
        return bool(fits and (alone or self.share_spanning) and np.isfinite(self.cost(alloc)).all())


def _look_up(
    table: Float64[FloatArray, "jobs sizes"], job: IntArray, column: IntArray
) -> FloatArray:
    """``table[job, column]``; infinite beyond the table's last column."""
    inside = column < table.shape[1]
    if not inside.any():
        return np.full(np.shape(column), np.inf)
    return np.where(inside, table[job, np.where(inside, column, 0)], np.inf)
