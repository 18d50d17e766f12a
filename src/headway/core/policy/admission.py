"""Jobs in an order of preference, each at one size: who runs, and where."""

from collections.abc import Sequence

import numpy as np

from headway.core.policy.grid import Grid
from headway.core.solve.pack import pack
from headway.core.types import Int64, IntArray


def requested_gpus(grid: Grid) -> Int64[IntArray, " jobs"]:
    """What each job asks for; one that may not be preempted needs what it holds."""
    asked = np.array([job.spec.requested_gpus for job in grid.jobs], dtype=np.int64)
    return np.where(grid.pinned, grid.held.sum(axis=1), asked)


def admit(grid: Grid, order: Sequence[int], need: Int64[IntArray, " jobs"]) -> list[int]:
    """Rows in this order while GPUs last; a smaller one may take what a larger one leaves."""
    left = int(grid.capacity.sum())
    admitted = []
    for row in order:
        if 0 < need[row] <= left:
            admitted.append(row)
            left -= int(need[row])
    return admitted


def place(
    grid: Grid, admitted: Sequence[int], need: Int64[IntArray, " jobs"]
) -> Int64[IntArray, "jobs nodes"]:
    """Who already holds as many GPUs as it needs is not moved; the others on few nodes each."""
    stays = np.isin(np.arange(len(need)), admitted) & (grid.held.sum(axis=1) == need)
    alloc = np.where(stays[:, None], grid.held, 0)
    free = grid.capacity - alloc.sum(axis=0)
    for row in admitted:
        if not stays[row]:
            placed = pack(free, int(need[row]))
            if placed is not None:
                alloc[row], free = placed, free - placed
    return alloc
