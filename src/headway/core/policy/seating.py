"""Jobs in an order of preference, each at one size: who runs and where, with CPUs and memory too.

Where GPUs alone count it is enough to count them (``admission``). Otherwise whether a job fits
depends on where the others are, so each has its place before the next one is asked.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Self, final

import numpy as np

from headway.core.policy.admission import admit, pack_fastest, place, settled
from headway.core.policy.grid import Grid
from headway.core.policy.needs import summed
from headway.core.types import BoolArray, Int64, IntArray


def seat(
    grid: Grid, order: Sequence[int], need: Int64[IntArray, " jobs"]
) -> Int64[IntArray, "jobs nodes"]:
    """Rows in this order while there is room; a smaller one may take what is left.

    Who holds what it needs stays where it is, unless one before it needs the room: then those who
    are last in the order make room first.
    """
    if not grid.beside:
        return place(grid, admit(grid, order, need), need)
    alloc = np.zeros_like(grid.held)
    may_stay = np.zeros_like(grid.held)  # of those whose turn has not come
    of_order = np.isin(np.arange(len(need)), order)
    stays = np.flatnonzero(settled(grid, need) & of_order)
    may_stay[stays] = grid.held[stays]
    for at, row in enumerate(order):
        own = may_stay[row].copy()
        may_stay[row] = 0
        if own.any():
            alloc[row] = own
        elif need[row] > 0:
            placed = _placed(grid, row, need, alloc, may_stay, order[at + 1 :])
            if placed is not None:
                alloc[row] = placed
    return alloc


def _placed(
    grid: Grid,
    row: int,
    need: Int64[IntArray, " jobs"],
    alloc: Int64[IntArray, "jobs nodes"],
    may_stay: Int64[IntArray, "jobs nodes"],
    later: Sequence[int],
) -> Int64[IntArray, " nodes"] | None:
    """A row's nodes, if it fits beside those before it; who is in its way may no longer stay."""
    leavers = [one for one in reversed(later) if may_stay[one].any()]  # the last of all first

    def without(leaving: int) -> Int64[IntArray, " nodes"] | None:
        staying = may_stay.copy()
        staying[leavers[:leaving]] = 0
        return pack_fastest(grid, grid.room(alloc + staying).free(row), int(need[row]))

    fewest = bisect_left(range(len(leavers) + 1), True, key=lambda one: without(one) is not None)
    placed = without(fewest) if fewest <= len(leavers) else None
    if placed is not None and fewest:
        held = may_stay[leavers[:fewest]].copy()
        may_stay[leavers[:fewest]] = 0
        room = grid.room(alloc + may_stay)
        room.take(row, placed)
        for one, own in zip(leavers[fewest - 1 :: -1], held[::-1], strict=True):
            if (own <= room.free(one)).all():  # it was not in the way
                may_stay[one] = own
                room.take(one, own)
    return placed


def smaller(
    grid: Grid, alloc: Int64[IntArray, "jobs nodes"], order: Sequence[int]
) -> Int64[IntArray, "jobs nodes"]:
    """The same, and who holds nothing gets the largest size that fits what is left, in order."""
    alloc, room = alloc.copy(), grid.room(alloc)
    for row in order:
        if not alloc[row].any():
            free = room.free(row)
            most = int(np.bincount(grid.kind, free).max(initial=0))
            for size in reversed(grid.jobs[row].spec.gpus.allowed(most)):
                placed = pack_fastest(grid, free, size)
                if placed is not None:
                    alloc[row] = placed
                    room.take(row, placed)
                    break
    return alloc


@final
class Totals:
    """What is left of each GPU type while sizes are chosen and places are not yet."""

    def __init__(
        self,
        gpus: Int64[IntArray, " kinds"],
        each: Int64[IntArray, "jobs resources"],
        left: Int64[IntArray, "kinds resources"],
    ) -> None:
        """``each`` is what a GPU of a job takes, ``left`` what there is of it."""
        self._gpus, self._each, self._left = gpus, each, left

    @classmethod
    def of(cls, grid: Grid) -> Self:
        """All of it."""
        of_types = summed(grid.beside.room, grid.kind, len(grid.types))
        return cls(grid.gpus_of_types, grid.beside.each, of_types)

    def enough(self, row: int, gpus: int) -> BoolArray:
        """Types that have so many GPUs for a job, and what goes with them."""
        goes_along = (gpus * self._each[row] <= self._left).all(axis=1)
        return np.asarray((gpus <= self._gpus) & goes_along)

    def take(self, row: int, kind: int, gpus: int) -> None:
        """It has them now."""
        self._gpus[kind] -= gpus
        self._left[kind] -= gpus * self._each[row]
