"""Rows for spanning jobs that may share nodes: enough GPUs, and none of them on a single node.

Given holes h_n and spanning jobs of k_j GPUs, each of which must not be on one node alone, such a
job takes at most k_j - 1 GPUs of a node. By the cut condition of that transport problem there is
room for all of them exactly if sum k_j <= sum h_n, and their number is at most the sum of the h_n
without the largest. (A cut that leaves two nodes out never binds, since 2 (k_j - 1) >= k_j.)
"""

from dataclasses import dataclass

import numpy as np

from headway.core.solve.assembly import Assembly
from headway.core.solve.nodes import Block, Zone
from headway.core.types import Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Holes:
    """Columns that leave room for a spanning job's piece, and how much."""

    zone: Int64[IntArray, " holes"]
    size: Int64[IntArray, " holes"]
    column: Int64[IntArray, " holes"]

    @classmethod
    def of(cls, blocks: tuple[Block, ...]) -> "Holes":
        """The open holes of all blocks."""
        nought = np.zeros(0, dtype=np.int64)
        open_ = [block for block in blocks if not block.flagged]
        zone = [np.full(len(block.left), block.zone.index) for block in open_]
        size = np.concatenate([nought, *(block.left for block in open_)])
        column = np.concatenate([nought, *(block.column for block in open_)])
        hole = size > 0
        return cls(zone=np.concatenate([nought, *zone])[hole], size=size[hole], column=column[hole])


def add_room(
    assembly: Assembly,
    holes: Holes,
    *,
    piece: Int64[IntArray, " pieces"],
    zone: Int64[IntArray, " pieces"],
) -> None:
    """Pieces of one GPU each: no more in a zone than its holes have GPUs."""
    rows = assembly.add_rows(1 + int(holes.zone.max(initial=-1)), upper=0.0)
    assembly.add_entries(rows[zone], piece)
    assembly.add_entries(rows[holes.zone], holes.column, -holes.size)


def add_two_nodes(
    assembly: Assembly,
    holes: Holes,
    zones: tuple[Zone, ...],
    *,
    column: Int64[IntArray, " jobs"],
    zone: Int64[IntArray, " jobs"],
) -> None:
    """Jobs that must have GPUs of two nodes of a zone: no more than GPUs beside its largest hole.

    A column for each size tells whether a hole as large is there.
    """
    for index, where in enumerate(zones):
        mine, here = column[zone == index], np.flatnonzero(holes.zone == index)
        sizes = np.unique(holes.size[here])
        if not len(mine):
            continue
        there = assembly.add_columns(np.zeros(len(sizes)), upper=1.0)
        marked = assembly.add_rows(len(sizes), upper=0.0)
        at, hole = np.nonzero(holes.size[here] >= sizes[:, None])
        assembly.add_entries(marked[at], holes.column[here[hole]])
        assembly.add_entries(marked, there, -float(len(where.nodes)))
        fewer = assembly.add_rows(len(sizes), upper=0.0)
        assembly.add_entries(np.repeat(fewer, len(mine)), np.tile(mine, len(sizes)))
        assembly.add_entries(fewer, there, sizes)
        every = np.tile(here, len(sizes))
        row = np.repeat(fewer, len(here))
        assembly.add_entries(row, holes.column[every], -holes.size[every])
