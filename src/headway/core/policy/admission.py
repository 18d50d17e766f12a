"""Jobs in an order of preference, each at one size: who runs, on which GPU type, and where."""

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from headway.core.policy.grid import Grid
from headway.core.solve.pack import pack
from headway.core.types import BoolArray, Int64, IntArray


def requested_gpus(grid: Grid) -> Int64[IntArray, " jobs"]:
    """What each job asks for; one that may not be preempted needs what it holds."""
    asked = np.array([job.spec.requested_gpus for job in grid.jobs], dtype=np.int64)
    return np.where(grid.pinned, grid.held.sum(axis=1), asked)


def admit(grid: Grid, order: Sequence[int], need: Int64[IntArray, " jobs"]) -> dict[int, int]:
    """Rows in this order while GPUs last, each with its type; a smaller one may take what is left.

    Who already holds what it needs stays on its type. The others take the fastest type that has
    room beside those who hold GPUs, and failing that the fastest where those who come later in the
    order must make room.
    """
    room, admitted = _Room(grid, need), {}
    for row in order:
        kind = room.kind_for(row, int(need[row]))
        if kind is not None:
            admitted[int(row)] = kind
            room.take(row, kind, int(need[row]))
    return admitted


@final
class _Room:
    """GPUs of each type that are left while jobs are admitted, and those that nobody holds."""

    def __init__(self, grid: Grid, need: Int64[IntArray, " jobs"]) -> None:
        self.own, self.stays = grid.held_kind, settled(grid, need)
        self.left = grid.gpus_of_types
        staying = np.bincount(self.own, need * self.stays, len(self.left))
        self.spare = self.left - staying.astype(np.int64)

    def kind_for(self, row: int, need: int) -> int | None:
        """The type that a job is admitted to, if it is."""
        if need <= 0:
            return None
        if self.stays[row] and need <= self.left[self.own[row]]:
            return int(self.own[row])
        for room in (np.minimum(self.spare, self.left), self.left):
            enough = np.flatnonzero(need <= room)
            if len(enough):
                return int(enough[0])  # the fastest
        return None

    def take(self, row: int, kind: int, need: int) -> None:
        """It has them now."""
        self.left[kind] -= need
        if not (self.stays[row] and kind == self.own[row]):
            self.spare[kind] -= need


def place(
    grid: Grid, admitted: Mapping[int, int], need: Int64[IntArray, " jobs"]
) -> Int64[IntArray, "jobs nodes"]:
    """Who stays is not moved; the others on few nodes each, of the type they were admitted to."""
    kinds = np.array([admitted.get(row, -1) for row in range(len(need))], dtype=np.int64)
    stays = settled(grid, need) & (kinds == grid.held_kind)
    alloc = np.where(stays[:, None], grid.held, 0)
    room = grid.room(alloc)
    for row, kind in admitted.items():
        if not stays[row]:
            placed = pack(np.where(grid.kind == kind, room.free(row), 0), int(need[row]))
            if placed is not None:
                alloc[row] = placed
                room.take(row, placed)
    return alloc


def pack_fastest(
    grid: Grid, free: Int64[IntArray, " nodes"], gpus: int
) -> Int64[IntArray, " nodes"] | None:
    """So many GPUs of the fastest type that has them free, on few nodes."""
    for kind in range(len(grid.types)):
        placed = pack(np.where(grid.kind == kind, free, 0), gpus)
        if placed is not None:
            return placed
    return None


def settled(grid: Grid, need: Int64[IntArray, " jobs"]) -> BoolArray:
    """Who holds exactly as many GPUs as it needs."""
    return np.asarray(grid.running & (grid.held.sum(axis=1) == need))
