"""Giving out GPUs that a placement leaves free, while costs fall."""

from dataclasses import dataclass, field

import numpy as np

from headway.core.solve.beside import BEYOND
from headway.core.solve.problem import Problem, Shapes
from headway.core.types import Float64, FloatArray, Int64, IntArray

_LEAST_GAIN = 1e-9  # of a cost: less is rounding, and not worth a move


def fill(problem: Problem, alloc: Int64[IntArray, "jobs nodes"]) -> Int64[IntArray, "jobs nodes"]:
    """Give free GPUs of each node to its users or to jobs that hold nothing, while costs fall."""
    free = problem.capacity - alloc.sum(axis=0)
    if not (free > 0).any():
        return alloc
    giving = _Giving(problem, alloc.copy())
    for node in np.flatnonzero(free > 0):
        left = int(free[node])
        while left and (gift := giving.best_gift(int(node), left)):
            left -= gift
    return giving.alloc


@dataclass(slots=True)
class _Giving:
    """A placement that grows, with what its costs depend on."""

    problem: Problem
    alloc: Int64[IntArray, "jobs nodes"]
    held: Int64[IntArray, " jobs"] = field(init=False)
    shape: Shapes = field(init=False)
    cost: Float64[FloatArray, " jobs"] = field(init=False)

    def __post_init__(self) -> None:
        self.held = self.problem.held.sum(axis=1)
        self.shape = self.problem.shapes(self.alloc)
        self.cost = self.problem.cost(self.alloc)

    def best_gift(self, node: int, free: int) -> int:
        """Make the gift that lowers the cost most per GPU; how many GPUs it is, 0 for none."""
        problem, shape = self.problem, self.shape
        takers = np.flatnonzero((self.alloc[:, node] > 0) | (shape.gpus == 0))
        if not len(takers):
            return 0
        gift = np.arange(1, free + 1)
        able = self.able(node, takers)
        waits = shape.gpus[takers] == 0
        kind = np.where(waits, problem.kind[node], shape.kind[takers])
        new = problem.shape_cost(
            takers[:, None],
            shape.gpus[takers, None] + gift,
            np.maximum(shape.nodes[takers], 1)[:, None],
            kind[:, None],
            shape.racks[takers, None],
        )
        # Whoever gets back exactly what it held has not been moved.
        back = (self.held[takers, None] == gift) & (problem.held[takers, node, None] == gift)
        back &= waits[:, None]
        new = np.where(back, np.minimum(new, problem.cost_keep[takers, None]), new)
        new = np.where(gift <= able[:, None], new, np.inf)
        gain = np.full(new.shape, -np.inf)
        np.subtract(self.cost[takers, None], new, out=gain, where=np.isfinite(new))
        best, size = np.unravel_index(int(np.argmax(gain / gift)), gain.shape)
        if not gain[best, size] > _LEAST_GAIN * abs(new[best, size]):
            return 0
        self._give(int(takers[best]), node, int(gift[size]), float(new[best, size]))
        return int(gift[size])

    def able(self, node: int, takers: Int64[IntArray, " takers"]) -> Int64[IntArray, " takers"]:
        """For how many more GPUs of a node there is enough of what goes with them."""
        beside = self.problem.beside
        if not beside:
            return np.full(len(takers), BEYOND)
        left = beside.left(self.alloc)[[node]]
        return np.array([int(beside.within(job, left)[0]) for job in takers.tolist()])

    def _give(self, job: int, node: int, gpus: int, cost: float) -> None:
        if not self.shape.gpus[job]:
            self.shape.kind[job] = self.problem.kind[node]
            self.shape.nodes[job] = 1
        self.alloc[job, node] += gpus
        self.shape.gpus[job] += gpus
        self.cost[job] = cost
