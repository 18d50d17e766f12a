"""The pinned-pattern program: its columns and rows, and the meaning of its solution.

A job's columns are its options: i GPUs of one node, k GPUs of several, or to keep what it holds;
none of them is to hold nothing. Nodes offer slots for the former and holes for pieces of the
second (``nodes.py``). Every integer solution of the exact form is a placement: the nested rows are
Hall's condition for putting pieces in holes. The aggregated form only counts the room for spanning
jobs; it is a relaxation.
"""

from dataclasses import dataclass

import numpy as np

from headway.core.solve.assembly import Assembly, Program
from headway.core.solve.nodes import Block, add_nodes
from headway.core.solve.options import Choice, Filled, Options, likeliest
from headway.core.solve.problem import Problem
from headway.core.types import Float64, FloatArray, Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A program and what its columns mean."""

    program: Program
    scale: float  # the program's costs are the problem's over this
    jobs: int
    options: Options
    sizes: Int64[IntArray, " sizes"]
    blocks: tuple[Block, ...]
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
                    node=block.node,
                    patterns=block.patterns,
                    times=x[block.column],
                )
                for block in self.blocks
            ),
            pieces=pieces,
        )


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
    sizes = np.unique(options.local_size)
    demand = assembly.add_rows(len(sizes), upper=0.0)
    assembly.add_entries(demand[np.searchsorted(sizes, options.local_size)], local)
    blocks = add_nodes(
        assembly,
        capacity=problem.capacity,
        held=problem.held[options.keep_job],
        keep=keep,
        sizes=sizes,
        demand=demand,
        spanning=len(several) > 0,
    )
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


def _open_holes(
    blocks: tuple[Block, ...],
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
    blocks: tuple[Block, ...],
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
    blocks: tuple[Block, ...],
) -> tuple[IntArray, IntArray, IntArray]:
    """Spanning jobs together hold no more GPUs than the holes have."""
    hole_column, hole = _open_holes(blocks)
    row = assembly.add_rows(1, upper=0.0)
    assembly.add_entries(np.repeat(row, len(several)), several, options.several_size)
    assembly.add_entries(np.repeat(row, len(hole)), hole_column, -hole)
    none = np.zeros(0, dtype=np.int64)
    return none, none, none
