"""The pinned-pattern program: its columns and rows, and the meaning of its solution.

A job's columns are its options: i GPUs of one node, k GPUs of several, or to keep what it holds;
none of them is to hold nothing. A node's present users who stay are pinned to it; what they leave
is filled with a pattern, a multiset of sizes, and the rest may serve one job that spans several
nodes. Nodes with equal room are one class and share their pattern columns. Every integer solution
of the exact form is a placement: the nested rows are Hall's condition for putting pieces in holes.
The aggregated form only counts the room for spanning jobs; it is a relaxation.
"""

from dataclasses import dataclass, field

import numpy as np

from headway.core.solve.assembly import Assembly, Program
from headway.core.solve.options import Choice, Filled, Options, likeliest
from headway.core.solve.patterns import fillings, stays
from headway.core.solve.problem import Problem
from headway.core.types import Float64, FloatArray, Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternBlock:
    """The pattern columns of one class of nodes."""

    room: int
    flagged: bool
    patterns: Int64[IntArray, "patterns sizes"]
    left: Int64[IntArray, " patterns"]  # the hole that a pattern leaves open
    column: Int64[IntArray, " patterns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A program and what its columns mean."""

    program: Program
    scale: float  # the program's costs are the problem's over this
    jobs: int
    options: Options
    sizes: Int64[IntArray, " sizes"]
    blocks: tuple[PatternBlock, ...]
    piece_job: Int64[IntArray, " pieces"]
    piece_size: Int64[IntArray, " pieces"]
    piece_column: Int64[IntArray, " pieces"]
    exact: bool

    def choice(self, x: Float64[FloatArray, " columns"]) -> Choice:
        """The meaning of a solution; fractional ones are rounded to the likeliest options."""
        options = len(self.options.job)
        keep, local, several = likeliest(self.options, x[:options], self.jobs)
        pieces = None
        if self.exact:
            largest = int(self.piece_size.max(initial=0))
            pieces = np.zeros((self.jobs, largest + 1), dtype=np.int64)
            pieces[self.piece_job, self.piece_size] = np.round(x[self.piece_column])
        return Choice(
            keep=keep,
            local=local,
            several=several,
            sizes=self.sizes,
            filled=tuple(
                Filled(
                    room=block.room,
                    flagged=block.flagged,
                    patterns=block.patterns,
                    times=x[block.column],
                )
                for block in self.blocks
            ),
            pieces=pieces,
        )


@dataclass(slots=True)
class _Classes:
    """Classes of nodes by (room, flagged), with who adds a node to a class and who takes one."""

    capacity: Int64[IntArray, " nodes"]
    _parts: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)

    def move(self, room: IntArray, flagged: IntArray, column: IntArray, nodes: float) -> None:
        """Each unit of a column adds ``nodes`` nodes to its class."""
        self._parts.append((2 * room + flagged, column, np.full(len(room), nodes)))

    def add_rows(
        self, assembly: Assembly, free: Int64[IntArray, " nodes"]
    ) -> list[tuple[int, bool, int]]:
        """Rows that later say: patterns used ≤ nodes of the class. Returns (room, flagged, row)."""
        key, column, nodes = (np.concatenate(part) for part in zip(*self._parts, strict=True))
        base = np.bincount(2 * self.capacity[free], minlength=2 * int(self.capacity.max()) + 2)
        keys = np.union1d(np.flatnonzero(base), key)
        keys = keys[keys > 1]  # nodes without room are of no use
        rows = assembly.add_rows(len(keys), upper=base[keys])
        useful = key > 1
        at = np.searchsorted(keys, key[useful])
        assembly.add_entries(rows[at], column[useful], -nodes[useful])
        return [
            (int(key) // 2, bool(key % 2), int(row)) for key, row in zip(keys, rows, strict=True)
        ]


def build(problem: Problem, *, exact: bool) -> Model:
    """The program of a problem; exact, or aggregated for a linear relaxation to be rounded."""
    options = Options.of(problem)
    cost, none, scale = options.scaled_costs(problem)
    assembly = Assembly()
    job = options.job
    may_hold_nothing = np.isfinite(none)
    saved = np.where(may_hold_nothing, none, 0.0)  # nothing is the row's slack, not a column
    assembly.offset = float(saved.sum())
    column = assembly.add_columns(cost - saved[job], upper=1.0)
    row = assembly.add_rows(len(none), lower=np.where(may_hold_nothing, -np.inf, 1.0), upper=1.0)
    assembly.add_entries(row[job], column)
    local, several, keep = np.split(
        column, np.cumsum([len(options.local_job), len(options.several_job)])
    )
    classes = _residents(problem, options, assembly, keep)
    sizes = np.unique(options.local_size)
    demand = assembly.add_rows(len(sizes), upper=0.0)
    assembly.add_entries(demand[np.searchsorted(sizes, options.local_size)], local)
    blocks = _patterns(assembly, classes, sizes, demand, spanning=len(several) > 0)
    spanning_rows = _exact_spanning if exact else _counted_spanning
    pieces = spanning_rows(assembly, options, several, blocks)
    return Model(
        program=assembly.program(),
        scale=scale,
        jobs=len(none),
        options=options,
        sizes=sizes,
        blocks=blocks,
        piece_job=pieces[0],
        piece_size=pieces[1],
        piece_column=pieces[2],
        exact=exact,
    )


def _residents(
    problem: Problem, options: Options, assembly: Assembly, keep: Int64[IntArray, " keeps"]
) -> list[tuple[int, bool, int]]:
    """Tie the jobs that may keep what they hold to their nodes; the classes of nodes that result.

    A node with one such job needs no column of its own: keeping moves it from one class to another.
    """
    held = problem.held[options.keep_job]
    spans = (held > 0).sum(axis=1) > 1
    users = (held > 0).sum(axis=0)
    classes = _Classes(problem.capacity)
    resident, node = np.nonzero((held > 0) & (users == 1))
    capacity, taken = problem.capacity[node], held[resident, node]
    nobody = np.zeros_like(node)
    classes.move(capacity, nobody, keep[resident], -1)
    classes.move(capacity - taken, spans[resident].astype(np.int64), keep[resident], 1)
    for crowded in np.flatnonzero(users > 1):
        here = np.flatnonzero(held[:, crowded])
        _crowded_node(
            assembly,
            classes,
            room=int(problem.capacity[crowded]),
            size=held[here, crowded],
            spans=spans[here],
            keep=keep[here],
        )
    return classes.add_rows(assembly, np.flatnonzero(users <= 1))


def _crowded_node(
    assembly: Assembly,
    classes: _Classes,
    *,
    room: int,
    size: Int64[IntArray, " residents"],
    spans: "np.ndarray[tuple[int], np.dtype[np.bool_]]",
    keep: Int64[IntArray, " residents"],
) -> None:
    """One column for each way of staying on a node; those who hold equal sizes are counted."""
    sizes, group, number = np.unique(size[~spans], return_inverse=True, return_counts=True)
    groups = tuple(zip(sizes.tolist(), number.tolist(), strict=True))
    counts, stayer, left = stays(room, groups, tuple(size[spans].tolist()))
    column = assembly.add_columns(np.zeros(len(left)), upper=1.0)
    one = assembly.add_rows(1, lower=1.0, upper=1.0)
    assembly.add_entries(np.repeat(one, len(column)), column)
    group_row = assembly.add_rows(len(groups), lower=0.0, upper=0.0)
    state, which = np.nonzero(counts)
    assembly.add_entries(group_row[which], column[state], counts[state, which])
    assembly.add_entries(group_row[group], keep[~spans], -1.0)
    span_row = assembly.add_rows(int(spans.sum()), lower=0.0, upper=0.0)
    stayed = stayer >= 0
    assembly.add_entries(span_row[stayer[stayed]], column[stayed])
    assembly.add_entries(span_row, keep[spans], -1.0)
    classes.move(left, stayed.astype(np.int64), column, 1)


def _patterns(
    assembly: Assembly,
    classes: list[tuple[int, bool, int]],
    sizes: Int64[IntArray, " sizes"],
    demand: Int64[IntArray, " sizes"],
    *,
    spanning: bool,
) -> tuple[PatternBlock, ...]:
    """Columns that fill nodes: at most as many as the class has, at least what is asked for."""
    blocks = []
    for room, flagged, row in classes:
        patterns = fillings(room, tuple(sizes.tolist()), spanning and not flagged)
        column = assembly.add_columns(np.zeros(len(patterns)))
        assembly.add_entries(np.full(len(column), row), column)
        pattern, which = np.nonzero(patterns)
        assembly.add_entries(demand[which], column[pattern], -patterns[pattern, which])
        left = room - patterns @ sizes
        blocks.append(
            PatternBlock(room=room, flagged=flagged, patterns=patterns, left=left, column=column)
        )
    return tuple(blocks)


def _open_holes(
    blocks: tuple[PatternBlock, ...],
) -> tuple[Int64[IntArray, " holes"], Int64[IntArray, " holes"]]:
    """Columns that leave room for a spanning job's piece, and how much."""
    none = np.zeros(0, dtype=np.int64)
    left = np.concatenate([none, *(block.left for block in blocks if not block.flagged)])
    column = np.concatenate([none, *(block.column for block in blocks if not block.flagged)])
    return column[left > 0], left[left > 0]


def _exact_spanning(
    assembly: Assembly,
    options: Options,
    several: Int64[IntArray, " severals"],
    blocks: tuple[PatternBlock, ...],
) -> tuple[IntArray, IntArray, IntArray]:
    """Pieces of every spanning job, two at least, and a hole for every piece."""
    hole_column, hole = _open_holes(blocks)
    largest = int(hole.max(initial=0))
    jobs, of = np.unique(options.several_job, return_inverse=True)
    most = np.zeros(len(jobs), dtype=np.int64)
    np.maximum.at(most, of, options.several_size)
    number = np.minimum(most - 1, largest)
    piece_of = np.repeat(np.arange(len(jobs)), number)
    size = np.arange(len(piece_of)) - np.repeat(np.cumsum(number) - number, number) + 1
    column = assembly.add_columns(np.zeros(len(piece_of)))
    total = assembly.add_rows(len(jobs), lower=0.0, upper=0.0)
    assembly.add_entries(total[piece_of], column, size)
    assembly.add_entries(total[of], several, -options.several_size)
    two = assembly.add_rows(len(jobs), lower=0.0)
    assembly.add_entries(two[piece_of], column)
    assembly.add_entries(two[of], several, -2.0)
    nested = assembly.add_rows(largest, upper=0.0)  # row i - 1: pieces of i or more
    for columns, sizes, sign in ((column, size, 1.0), (hole_column, hole, -1.0)):
        smaller = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        assembly.add_entries(nested[smaller], np.repeat(columns, sizes), sign)
    return jobs[piece_of], size, column


def _counted_spanning(
    assembly: Assembly,
    options: Options,
    several: Int64[IntArray, " severals"],
    blocks: tuple[PatternBlock, ...],
) -> tuple[IntArray, IntArray, IntArray]:
    """Spanning jobs together hold no more GPUs than the holes have."""
    hole_column, hole = _open_holes(blocks)
    row = assembly.add_rows(1, upper=0.0)
    assembly.add_entries(np.repeat(row, len(several)), several, options.several_size)
    assembly.add_entries(np.repeat(row, len(hole)), hole_column, -hole)
    none = np.zeros(0, dtype=np.int64)
    return none, none, none
