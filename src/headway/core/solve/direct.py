"""The direct program: who holds how much of which node, with what goes with GPUs; exact.

A column for each job, size and node, where the pinned-pattern program has one for each job and
size: nodes differ by the CPUs and memory that are left of them, so they cannot be counted. Much
larger and less tight, so only for few jobs and nodes, and only where the other left a gap.
"""

from dataclasses import dataclass, replace

import numpy as np

from headway.core.solve.assembly import Assembly, Program
from headway.core.solve.milp import solve_mixed
from headway.core.solve.options import Level, Options
from headway.core.solve.outcome import Budget, Outcome
from headway.core.solve.problem import Problem
from headway.core.types import Float64, FloatArray, Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Direct:
    """A program and what its columns mean."""

    program: Program
    scale: float  # the program's costs are the problem's over this
    taken: Int64[IntArray, "entries 3"]  # job, node and GPUs that a unit of a column takes
    column: Int64[IntArray, " entries"]

    def placement(
        self, x: Float64[FloatArray, " columns"], problem: Problem
    ) -> Int64[IntArray, "jobs nodes"]:
        """The placement that a solution is."""
        alloc = np.zeros_like(problem.held)
        job, node, gpus = self.taken.T
        np.add.at(alloc, (job, node), gpus * np.round(x[self.column]).astype(np.int64))
        return alloc


def solve(
    problem: Problem, *, rel_gap: float, budget: Budget
) -> tuple[Outcome, Int64[IntArray, "jobs nodes"] | None]:
    """The best placement found, and an outcome whose bound is in the problem's costs."""
    model = build(problem)
    outcome = solve_mixed(model.program, rel_gap=rel_gap, budget=budget)
    alloc = None if outcome.x is None else model.placement(outcome.x, problem)
    return replace(outcome, bound=outcome.bound * model.scale), alloc


def columns(problem: Problem) -> int:
    """About how many columns the program has."""
    options = Options.of(problem)
    spanning = len(np.unique(options.job[options.spanning]))
    nodes = len(problem.capacity)
    return int((options.level == Level.LOCAL).sum()) * nodes + 2 * spanning * nodes


def build(problem: Problem) -> Direct:
    """The program of a problem; every integer solution is a placement, and the other way round."""
    options = Options.of(problem)
    cost, none, scale = options.scaled_costs(problem)
    may_hold_nothing = np.isfinite(none)
    saved = np.where(may_hold_nothing, none, 0.0)
    making = _Making(problem, options)
    assembly = making.assembly
    assembly.offset = float(saved.sum())
    one = assembly.add_rows(len(none), lower=np.where(may_hold_nothing, -np.inf, 1.0), upper=1.0)
    gain = cost - saved[options.job]
    making.add_keeps(gain, one)
    making.add_local(gain, one)
    making.add_spanning(gain, one)
    making.add_nodes()
    taken = np.concatenate([part for part, _ in making.taken])
    column = np.concatenate([part for _, part in making.taken])
    return Direct(program=assembly.program(), scale=scale, taken=taken, column=column)


class _Making:
    """The program while it is put together."""

    def __init__(self, problem: Problem, options: Options) -> None:
        self.problem, self.options, self.assembly = problem, options, Assembly()
        self.taken: list[tuple[IntArray, IntArray]] = []  # job, node, GPUs; and column
        self.spans: list[tuple[IntArray, IntArray]] = []  # node and column of who spans nodes there

    def add_keeps(self, gain: FloatArray, one: IntArray) -> None:
        """A column for each job that may keep what it holds."""
        keep = np.flatnonzero(self.options.level == Level.KEEP)
        job = self.options.job[keep]
        column = self.assembly.add_columns(gain[keep], upper=1.0)
        self.assembly.add_entries(one[job], column)
        held = self.problem.held[job]
        at, node = np.nonzero(held)
        self._take(job[at], node, held[at, node], column[at])
        wide = ((held > 0).sum(axis=1) > 1)[at]
        self.spans.append((node[wide], column[at[wide]]))

    def add_local(self, gain: FloatArray, one: IntArray) -> None:
        """A column for each size of each job on each node that has room for it."""
        options, problem = self.options, self.problem
        local = np.flatnonzero(options.level == Level.LOCAL)
        job, gpus = options.job[local], options.gpus[local]
        most = np.minimum(problem.beside.most(), problem.capacity)
        fits = (options.kind[local, None] == problem.kind) & (gpus[:, None] <= most[job])
        at, node = np.nonzero(fits)
        column = self.assembly.add_columns(gain[local[at]], upper=1.0)
        self.assembly.add_entries(one[job[at]], column)
        self._take(job[at], node, gpus[at], column)

    def add_spanning(self, gain: FloatArray, one: IntArray) -> None:
        """A column for each size of a job, by rack where it is of one rack; and for its pieces."""
        options, problem = self.options, self.problem
        racks = int(problem.rack.max(initial=0)) + 1
        some = np.flatnonzero(options.spanning)
        in_one = options.level[some] == Level.RACK
        where = [(some[in_one], rack) for rack in range(racks)] + [(some[~in_one], -1)]
        option = np.concatenate([each for each, _ in where])
        rack = np.concatenate([np.full(len(each), at) for each, at in where])
        column = self.assembly.add_columns(gain[option], upper=1.0)
        self.assembly.add_entries(one[options.job[option]], column)
        key = options.job[option] * problem.kinds + options.kind[option]
        for owner in np.unique(key).tolist():
            mine = key == owner
            job, kind = divmod(owner, problem.kinds)
            self._add_pieces(job, kind, options.gpus[option[mine]], rack[mine], column[mine])

    def _add_pieces(
        self, job: int, kind: int, gpus: IntArray, rack: IntArray, column: IntArray
    ) -> None:
        """GPUs of one job on nodes of one type: as many as its size, on two nodes at least."""
        problem, assembly = self.problem, self.assembly
        nodes = np.flatnonzero((problem.kind == kind) & ~problem.closed)
        most = np.minimum(problem.beside.within(job, problem.beside.room), problem.capacity)[nodes]
        piece = assembly.add_columns(np.zeros(len(nodes)), upper=most.astype(np.float64))
        there = assembly.add_columns(np.zeros(len(nodes)), upper=1.0)
        self._take(np.full(len(nodes), job), nodes, np.ones_like(nodes), piece)
        self.spans.append((nodes, there))
        total, two = assembly.add_rows(1, 0.0, 0.0), assembly.add_rows(1, lower=0.0)
        assembly.add_entries(np.repeat(total, len(nodes)), piece)
        assembly.add_entries(np.repeat(total, len(column)), column, -gpus)
        assembly.add_entries(np.repeat(two, len(nodes)), there)
        assembly.add_entries(np.repeat(two, len(column)), column, -2.0)
        for low, high, factor in ((0.0, np.inf, 1.0), (-np.inf, 0.0, np.maximum(most, 1))):
            rows = assembly.add_rows(len(nodes), low, high)  # a piece where it is there, none else
            assembly.add_entries(rows, piece)
            assembly.add_entries(rows, there, -1.0 * factor)
        if problem.cost_rack is not None:
            self._add_racks(problem.rack[nodes], piece, (gpus, rack, column))

    def _add_racks(
        self, of_node: IntArray, piece: IntArray, sizes: tuple[IntArray, IntArray, IntArray]
    ) -> None:
        """All GPUs in the one rack of an option; of one of several racks, never all in one."""
        gpus, rack, column = sizes
        for here in np.unique(self.problem.rack).tolist():
            mine, others = of_node == here, rack != here
            row = self.assembly.add_rows(1, upper=0.0)
            self.assembly.add_entries(np.repeat(row, int(mine.sum())), piece[mine])
            most = np.where(rack < 0, gpus - 1, np.where(others, 0, gpus))
            self.assembly.add_entries(np.repeat(row, len(column)), column, -most)

    def add_nodes(self) -> None:
        """No node gives more than it has, and to one spanning job at most unless they share it."""
        problem, beside = self.problem, self.problem.beside
        job, node, gpus = np.concatenate([part for part, _ in self.taken]).T
        column = np.concatenate([part for _, part in self.taken])
        rows = self.assembly.add_rows(len(problem.capacity), upper=problem.capacity)
        self.assembly.add_entries(rows[node], column, gpus)
        for resource in range(beside.each.shape[1]):
            room = np.maximum(beside.room[:, resource], 1)
            each = beside.each[job, resource]
            some = each > 0
            upper = np.minimum(beside.room[:, resource], 1).astype(np.float64)
            rows = self.assembly.add_rows(len(room), upper=upper)
            share = gpus[some] * each[some] / room[node[some]]
            self.assembly.add_entries(rows[node[some]], column[some], share)
        if not problem.share_spanning:
            alone = self.assembly.add_rows(len(problem.capacity), upper=1.0)
            for nodes, columns_ in self.spans:
                self.assembly.add_entries(alone[nodes], columns_)

    def _take(self, job: IntArray, node: IntArray, gpus: IntArray, column: IntArray) -> None:
        self.taken.append((np.stack([job, node, gpus], axis=1), column))
