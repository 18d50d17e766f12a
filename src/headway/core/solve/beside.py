"""What jobs need beside GPUs, such as CPUs and memory, and what nodes have of it.

Whole numbers of a small unit, so that sums are exact. Without any such resource all arrays have no
columns, and every question is answered as if there were GPUs alone.
"""

from dataclasses import dataclass
from typing import Self, final

import numpy as np

from headway.core.types import Int64, IntArray

BEYOND = 1 << 40  # of a resource that a node has without limit; sums of it stay exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What each GPU of a job takes of the node that it is on."""

    each: Int64[IntArray, "jobs resources"]  # 0: none
    room: Int64[IntArray, "nodes resources"]

    @classmethod
    def nothing(cls, jobs: int, nodes: int) -> Self:
        """GPUs alone."""
        return cls(each=np.zeros((jobs, 0), np.int64), room=np.zeros((nodes, 0), np.int64))

    def __bool__(self) -> bool:
        return bool(self.each.shape[1])

    def left(self, alloc: Int64[IntArray, "jobs nodes"]) -> Int64[IntArray, "nodes resources"]:
        """What a placement leaves of every node."""
        return np.asarray(self.room - alloc.T @ self.each)

    def within(
        self, job: int, left: Int64[IntArray, "nodes resources"]
    ) -> Int64[IntArray, " nodes"]:
        """For how many GPUs of a job there is enough left on each node, were there GPUs."""
        each = self.each[job]
        asked = each > 0
        if not asked.any():
            return np.full(len(left), BEYOND)
        return np.asarray(np.maximum((left[:, asked] // each[asked]).min(axis=1), 0))

    def most(self) -> Int64[IntArray, "jobs nodes"]:
        """For how many GPUs of each job an empty node has enough."""
        rows = [self.within(job, self.room) for job in range(len(self.each))]
        return np.array(rows, dtype=np.int64).reshape(len(self.each), len(self.room))

    def fits(self, alloc: Int64[IntArray, "jobs nodes"]) -> bool:
        """Whether a placement takes no more of any node than it has."""
        return bool((self.left(alloc) >= 0).all())

    def part(
        self,
        jobs: Int64[IntArray, " some"],
        nodes: Int64[IntArray, " room"],
        others: Int64[IntArray, "jobs nodes"],
    ) -> Self:
        """Some jobs, and of some nodes what the placement of others leaves."""
        return type(self)(each=self.each[jobs], room=self.left(others)[nodes])


@final
class Room:
    """What is free of every node while a placement is made, GPUs and what goes with them."""

    def __init__(
        self,
        capacity: Int64[IntArray, " nodes"],
        beside: Beside,
        alloc: Int64[IntArray, "jobs nodes"] | None = None,
    ) -> None:
        """All of it, or what a placement leaves."""
        self._beside = beside
        self._gpus = capacity.copy() if alloc is None else capacity - alloc.sum(axis=0)
        self._left = beside.room.copy() if alloc is None else beside.left(alloc)

    def free(self, job: int) -> Int64[IntArray, " nodes"]:
        """How many GPUs of each node a job may have."""
        if not self._beside:
            return self._gpus
        return np.minimum(self._gpus, self._beside.within(job, self._left))

    def take(self, job: int, row: Int64[IntArray, " nodes"]) -> None:
        """It has them now, or gives them back where a number is below 0."""
        self._gpus = self._gpus - row
        if self._beside:
            self._left = self._left - row[:, None] * self._beside.each[job]
