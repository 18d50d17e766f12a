"""The pinned-pattern program: its columns and rows, and the meaning of its solution.

A job's columns are its options: i GPUs of one node, k GPUs of several, or to keep what it holds;
none of them is to hold nothing. Nodes offer slots for the former and holes for pieces of the
second (``nodes.py``), type by type; where racks matter, rack by rack. Every integer solution of the
exact form is a placement (``spanning.py``). The aggregated form only counts the room for spanning
jobs, whatever the rack; it is a relaxation. So are both where CPUs or memory count (``sums.py``).
"""

from dataclasses import dataclass

import numpy as np

from headway.core.solve.assembly import Assembly, Program
from headway.core.solve.nodes import Block, Residents, Zone, add_nodes
from headway.core.solve.options import Choice, Filled, Level, Options
from headway.core.solve.outcome import Outcome
from headway.core.solve.problem import Problem
from headway.core.solve.restrict import Reduced
from headway.core.solve.spanning import Pieces, add_counted, add_exact
from headway.core.solve.sums import add_sums
from headway.core.types import Float64, FloatArray, Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A program and what its columns mean."""

    program: Program
    scale: float  # the program's costs are the problem's over this
    jobs: int
    options: Options
    blocks: tuple[Block, ...]
    pieces: Pieces | None  # None: the aggregated form, which does not know

    def choice(self, x: Float64[FloatArray, " columns"]) -> Choice:
        """The meaning of a solution; fractional ones are rounded to the likeliest options."""
        options = self.options
        at = options.likeliest(x[: len(options.job)], self.jobs)
        nothing = at < 0
        return Choice(
            level=np.where(nothing, Level.NONE, _at(options.level, at)),
            kind=np.where(nothing, 0, _at(options.kind, at)),
            gpus=np.where(nothing, 0, _at(options.gpus, at)),
            filled=tuple(
                Filled(
                    room=block.room,
                    flagged=block.flagged,
                    node=block.node,
                    kind=block.zone.kind,
                    rack=block.zone.rack,
                    sizes=block.zone.sizes,
                    patterns=block.patterns,
                    times=x[block.column],
                )
                for block in self.blocks
            ),
            pieces=None if self.pieces is None else self.pieces.counts(x, self.jobs),
        )

    def reduced(self, outcome: Outcome) -> Reduced:
        """Reduced costs of the options and of holding nothing."""
        assert outcome.reduced is not None
        assert outcome.prices is not None
        return Reduced(
            options=self.options,
            of_option=outcome.reduced[: len(self.options.job)] * self.scale,
            of_nothing=-outcome.prices[: self.jobs] * self.scale,
        )


def build(problem: Problem, *, exact: bool, few_cuts: bool = False) -> Model:
    """The program of a problem; exact, or aggregated for a linear relaxation to be rounded.

    With ``few_cuts`` the exact one leaves away some placements within a rack, and is smaller.
    """
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
    keep = options.level == Level.KEEP
    assembly.start_with(row[job[keep]], column[keep])
    if problem.beside:
        add_sums(assembly, problem, options, column)
    shared = problem.share_spanning
    residents = Residents.of(problem.held[job[keep]], column[keep], shared=shared)
    zones = _zones(assembly, problem, options, column, by_rack=exact)
    blocks = tuple(
        block
        for zone in zones
        for block in add_nodes(
            assembly, zone, capacity=problem.capacity, closed=problem.closed, residents=residents
        )
    )
    pieces = None
    if exact:
        pieces = add_exact(
            assembly, options, column, zones, blocks, shared=shared, few_cuts=few_cuts
        )
    else:
        # 4,096 GPUs of two types: without the row the bound was 2.6 % off, with it 0.06 %.
        # With one type and no racks it is 0.005 % off without: not worth another plan.
        places = len(np.unique(problem.kind)) > 1 or _several_racks(problem)
        count_holes = places and not shared
        add_counted(assembly, options, column, zones, blocks, count_holes=count_holes)
    return Model(
        program=assembly.program(),
        scale=scale,
        jobs=len(none),
        options=options,
        blocks=blocks,
        pieces=pieces,
    )


def _several_racks(problem: Problem) -> bool:
    """Whether it matters in which rack a node is."""
    return problem.cost_rack is not None and len(np.unique(problem.rack)) > 1


def _zones(
    assembly: Assembly,
    problem: Problem,
    options: Options,
    column: Int64[IntArray, " options"],
    *,
    by_rack: bool,
) -> tuple[Zone, ...]:
    """The nodes of each type, by rack if racks matter; with rows for the slots that are wanted."""
    by_rack = by_rack and problem.cost_rack is not None
    zones: list[Zone] = []
    for kind in np.unique(problem.kind):
        of_kind = options.kind == kind
        local = np.flatnonzero(of_kind & (options.level == Level.LOCAL))
        sizes = np.unique(options.gpus[local])
        demand = assembly.add_rows(len(sizes), upper=0.0)
        at = np.searchsorted(sizes, options.gpus[local])
        assembly.add_entries(demand[at], column[local])
        nodes = np.flatnonzero(problem.kind == kind)
        rack = problem.rack[nodes] if by_rack else np.zeros_like(nodes)
        for which in np.unique(rack):
            here = nodes[rack == which]
            open_ = problem.capacity[here[~problem.closed[here]]]
            zones.append(
                Zone(
                    index=len(zones),
                    kind=int(kind),
                    rack=int(which) if by_rack else None,
                    nodes=here,
                    sizes=sizes,
                    demand=demand,
                    spanning=bool((of_kind & options.spanning).any()),
                    room=int(open_.sum()) if (open_ > 0).sum() > 1 else 0,
                )
            )
    return tuple(zones)


def _at(values: Int64[IntArray, " options"], index: Int64[IntArray, " jobs"]) -> IntArray:
    """Values at indices that may be -1, even if there are no values."""
    return np.append(values, 0)[index]
