"""The nodes of the pinned-pattern program: who stays on them, and how the rest is cut up.

A node's present users who stay are pinned to it; what they leave is filled with a pattern, a
multiset of sizes, and the rest may serve one job that spans several nodes. Nodes with equal room
are one class and share their pattern columns; identical nodes so cost nothing. Patterns multiply
with the room, so a wide node counts the slots of each size instead: exact too, only less tight.
"""

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from headway.core.solve.assembly import Assembly
from headway.core.solve.patterns import fillings, stays
from headway.core.types import BoolArray, FloatArray, Int64, IntArray

_WIDE = 8  # 67 patterns; of 16 GPUs there are 915, of 24 already 7,000 (partitions of 0..n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """Nodes that need not be told apart but for room and residents, and who may come to them."""

    index: int
    kind: int
    rack: int | None  # None: nodes of any rack
    nodes: Int64[IntArray, " nodes"]
    sizes: Int64[IntArray, " sizes"]  # of slots
    demand: Int64[IntArray, " sizes"]  # rows that ask for slots of each size
    spanning: bool  # spanning jobs may come; without them no holes are cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Residents:
    """Jobs that may keep what they hold."""

    held: Int64[IntArray, "keeps nodes"]
    spans: BoolArray
    keep: Int64[IntArray, " keeps"]  # their columns

    @classmethod
    def of(
        cls,
        held: Int64[IntArray, "keeps nodes"],
        keep: Int64[IntArray, " keeps"],
        *,
        shared: bool = False,
    ) -> Self:
        """Residents who span several nodes if they hold GPUs of several.

        Where spanning jobs may share nodes none of them stands in anybody's way.
        """
        spans = np.asarray(((held > 0).sum(axis=1) > 1) & (not shared))
        return cls(held=held, spans=spans, keep=keep)

    def among(self, nodes: Int64[IntArray, " nodes"]) -> Self:
        """The same of some nodes only."""
        if len(nodes) == self.held.shape[1]:
            return self
        held = self.held[:, nodes]
        here = held.any(axis=1)
        return replace(self, held=held[here], spans=self.spans[here], keep=self.keep[here])

    def on(
        self, node: int
    ) -> tuple[Int64[IntArray, " residents"], BoolArray, Int64[IntArray, " residents"]]:
        """GPUs, whether it spans, and column of each resident of a node."""
        here = np.flatnonzero(self.held[:, node])
        return self.held[here, node], self.spans[here], self.keep[here]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The columns that cut up one class of nodes, or one wide node."""

    zone: Zone
    room: int
    flagged: bool  # a job that spans several nodes stays, so no other may come
    node: int | None  # the wide node
    patterns: Int64[IntArray, "patterns sizes"]  # slots of each size that a unit of a column cuts
    left: Int64[IntArray, " patterns"]  # the hole that it leaves open
    column: Int64[IntArray, " patterns"]


def add_nodes(
    assembly: Assembly,
    zone: Zone,
    *,
    capacity: Int64[IntArray, " nodes"],
    closed: BoolArray,
    residents: Residents,
) -> tuple[Block, ...]:
    """Add columns and rows of a zone's nodes, given who may stay on the nodes of all zones."""
    capacity, closed = capacity[zone.nodes], closed[zone.nodes]
    residents = residents.among(zone.nodes)
    wide = capacity > _WIDE
    blocks = []
    for room, flagged, row in _classes(assembly, capacity, closed, residents, wide):
        patterns = fillings(room, tuple(zone.sizes.tolist()), zone.spanning and not flagged)
        column = assembly.add_columns(np.zeros(len(patterns)))
        assembly.add_entries(np.full(len(column), row), column)
        blocks.append(
            Block(
                zone=zone,
                room=room,
                flagged=flagged,
                node=None,
                patterns=patterns,
                left=room - patterns @ zone.sizes,
                column=column,
            )
        )
    blocks += [
        _wide_node(assembly, zone, int(node), int(capacity[node]), bool(closed[node]), residents)
        for node in np.flatnonzero(wide)
    ]
    for block in blocks:
        pattern, which = np.nonzero(block.patterns)
        slots = block.patterns[pattern, which]
        assembly.add_entries(zone.demand[which], block.column[pattern], -slots)
    return tuple(blocks)


@dataclass(slots=True)
class _Classes:
    """Classes of nodes by (room, flagged), with who adds a node to a class and who takes one."""

    _parts: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)

    def move(self, room: IntArray, flagged: BoolArray, column: IntArray, nodes: float) -> None:
        """Each unit of a column adds ``nodes`` nodes to its class."""
        self._parts.append((2 * room + flagged, column, np.full(len(room), nodes)))

    def add_rows(
        self, assembly: Assembly, room: Int64[IntArray, " nodes"], flagged: BoolArray
    ) -> list[tuple[int, bool, int]]:
        """Rows that later say: patterns used ≤ nodes of the class. Returns (room, flagged, row).

        The nodes given are in their class unless a column takes them out.
        """
        key, column, nodes = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        free = 2 * room + flagged
        there = np.bincount(np.concatenate([free, key, [1]]))
        base = np.bincount(free, minlength=len(there))
        keys = np.flatnonzero(there)
        keys = keys[keys > 1]  # nodes without room are of no use
        rows = assembly.add_rows(len(keys), upper=base[keys])
        useful = key > 1
        at = np.searchsorted(keys, key[useful])
        assembly.add_entries(rows[at], column[useful], -nodes[useful])
        return [
            (int(key) // 2, bool(key % 2), int(row)) for key, row in zip(keys, rows, strict=True)
        ]


def _classes(
    assembly: Assembly,
    capacity: Int64[IntArray, " nodes"],
    closed: BoolArray,
    residents: Residents,
    wide: BoolArray,
) -> list[tuple[int, bool, int]]:
    """Tie the jobs that may keep what they hold to their nodes; the classes of nodes that result.

    A node with one such job needs no column of its own: keeping moves it from one class to another.
    """
    held = residents.held
    users = (held > 0).sum(axis=0)
    classes = _Classes()
    resident, node = np.nonzero((held > 0) & (users == 1) & ~wide)
    room, taken, keep = capacity[node], held[resident, node], residents.keep[resident]
    classes.move(room, closed[node], keep, -1)
    classes.move(room - taken, residents.spans[resident] | closed[node], keep, 1)
    for crowded in np.flatnonzero((users > 1) & ~wide):
        _crowded_node(
            assembly,
            classes,
            int(capacity[crowded]),
            bool(closed[crowded]),
            residents.on(int(crowded)),
        )
    alone = (users <= 1) & ~wide
    return classes.add_rows(assembly, capacity[alone], closed[alone])


def _crowded_node(
    assembly: Assembly,
    classes: _Classes,
    room: int,
    closed: bool,
    residents: tuple[Int64[IntArray, " residents"], BoolArray, Int64[IntArray, " residents"]],
) -> None:
    """One column for each way of staying on a node; those who hold equal sizes are counted."""
    size, spans, keep = residents
    sizes, group, number = np.unique(size[~spans], return_inverse=True, return_counts=True)
    groups = tuple(zip(sizes.tolist(), number.tolist(), strict=True))
    counts, stayer, left = stays(room, groups, tuple(size[spans].tolist()))
    column = assembly.add_columns(np.zeros(len(left)), upper=1.0)
    one = assembly.add_rows(1, lower=1.0, upper=1.0)
    assembly.add_entries(np.repeat(one, len(column)), column)
    everyone = (counts == number).all(axis=1) & ((stayer >= 0) == spans.any())
    if everyone.any():  # unless they no longer fit
        assembly.start_with(one, column[everyone][:1])
    group_row = assembly.add_rows(len(groups), lower=0.0, upper=0.0)
    state, which = np.nonzero(counts)
    assembly.add_entries(group_row[which], column[state], counts[state, which])
    assembly.add_entries(group_row[group], keep[~spans], -1.0)
    span_row = assembly.add_rows(int(spans.sum()), lower=0.0, upper=0.0)
    stayed = stayer >= 0
    assembly.add_entries(span_row[stayer[stayed]], column[stayed])
    assembly.add_entries(span_row, keep[spans], -1.0)
    classes.move(left, stayed | closed, column, 1)


def _wide_node(
    assembly: Assembly, zone: Zone, node: int, room: int, closed: bool, residents: Residents
) -> Block:
    """A count of slots for each size, one hole, and the residents, within the node's room."""
    size, spans, keep = residents.on(node)
    sizes = zone.sizes
    holes = np.arange(1, room + 1 if zone.spanning and not closed else 1)
    patterns = np.vstack(
        [np.eye(len(sizes), dtype=np.int64), np.zeros((len(holes), len(sizes)), dtype=np.int64)]
    )
    left = np.concatenate([np.zeros(len(sizes), dtype=np.int64), holes])
    column = assembly.add_columns(np.zeros(len(left)))
    within, alone = (assembly.add_rows(1, upper=limit) for limit in (room, 1.0))
    assembly.add_entries(np.repeat(within, len(column)), column, patterns @ sizes + left)
    assembly.add_entries(np.repeat(within, len(keep)), keep, size)
    single = np.concatenate([column[left > 0], keep[spans]])
    assembly.add_entries(np.repeat(alone, len(single)), single)
    return Block(
        zone=zone,
        room=room,
        flagged=False,
        node=int(zone.nodes[node]),
        patterns=patterns,
        left=left,
        column=column,
    )
