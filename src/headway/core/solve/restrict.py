"""The part of a problem that a linear relaxation leaves open: few jobs, few options, few nodes.

An option's reduced cost says how much dearer any plan with it is, at least. Jobs whose second best
option has a low one are open; the others stay where a first placement puts them, and what they
leave of the nodes is a much smaller problem of the same kind.
"""

from dataclasses import dataclass

import numpy as np

from headway.core.solve.options import Choice, Level, Options
from headway.core.solve.problem import Problem
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray

_MOST_JOBS = 800  # of a part; some 2,500 GPUs
_FEW_NODES, _FEW_WAITING = 6, 24  # nodes, and jobs that hold nothing, of a part of few
_GROUP_GPUS = 512  # that are open, in racks that are looked at together


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduced:
    """Reduced costs of a solved relaxation, in the problem's units."""

    options: Options
    of_option: Float64[FloatArray, " options"]
    of_nothing: Float64[FloatArray, " jobs"]

    def second(self) -> Float64[FloatArray, " jobs"]:
        """Each job's second smallest; 0 if two options share the job, infinite with only one."""
        jobs = len(self.of_nothing)
        cost = np.maximum(np.concatenate([self.of_option, self.of_nothing]), 0.0)
        job = np.concatenate([self.options.job, np.arange(jobs)])
        order = np.lexsort((cost, job))
        first = np.flatnonzero(np.diff(job[order], prepend=-1))
        alone = np.bincount(job, minlength=jobs) < 2
        return np.where(alone, np.inf, np.append(cost[order], np.inf)[first + 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some jobs and nodes of a problem, with the numbers that they have there."""

    problem: Problem
    jobs: Int64[IntArray, " some"]
    nodes: Int64[IntArray, " room"]

    def within(
        self, alloc: Int64[IntArray, "jobs nodes"], own: Int64[IntArray, "some room"]
    ) -> Int64[IntArray, "jobs nodes"]:
        """A placement of the whole problem in which these jobs are placed anew."""
        alloc = alloc.copy()
        alloc[self.jobs] = 0
        alloc[np.ix_(self.jobs, self.nodes)] = own
        return alloc


def groups(
    problem: Problem,
    alloc: Int64[IntArray, "jobs nodes"],
    choice: Choice,
    reduced: Reduced,
    share: float,
) -> list[BoolArray]:
    """Nodes whose racks are looked at together, group by group; all of them without a rack level.

    The exact program tells racks apart and so grows with jobs times racks. Each group has racks
    with much open room and with little, since what to exchange is between those.
    """
    if problem.cost_rack is None:
        return [np.ones(len(problem.capacity), dtype=np.bool_)]
    jobs, _ = _opened(alloc, choice, reduced, share)
    stay = alloc.sum(axis=0) - alloc[jobs].sum(axis=0)
    room = np.bincount(problem.rack, weights=problem.capacity - stay)
    racks = np.lexsort((np.arange(len(room)), -room))
    number = -(-int(room.sum()) // _GROUP_GPUS)
    return [np.isin(problem.rack, racks[first::number]) for first in range(number)]


def open_part(
    problem: Problem,
    alloc: Int64[IntArray, "jobs nodes"],
    choice: Choice,
    reduced: Reduced,
    share: float,
    among: BoolArray | None = None,
) -> Part:
    """The part in which a share of all jobs has a choice, beside all jobs that move anyway.

    With ``among`` of the jobs that hold nothing elsewhere, and of these nodes.
    """
    among = np.ones(len(problem.capacity), dtype=np.bool_) if among is None else among
    jobs, threshold = _opened(alloc, choice, reduced, share)
    jobs = np.sort(jobs[~alloc[np.ix_(jobs, ~among)].any(axis=1)][:_MOST_JOBS])
    return part(problem, alloc, jobs, reduced, threshold, among)


def _opened(
    alloc: Int64[IntArray, "jobs nodes"], choice: Choice, reduced: Reduced, share: float
) -> tuple[Int64[IntArray, " some"], float]:
    """Jobs that have a choice, most urgent first; and the reduced cost up to which options are."""
    second = reduced.second()
    threshold = float(np.quantile(second, share, method="lower"))
    moves = choice.level != Level.KEEP
    lost = moves & (alloc.sum(axis=1) != choice.gpus)
    rank = np.where(lost, 0, np.where(moves, 1, 2))
    open_ = np.flatnonzero(moves | (second <= threshold))
    return open_[np.lexsort((second[open_], rank[open_]))], threshold


def part(
    problem: Problem,
    alloc: Int64[IntArray, "jobs nodes"],
    jobs: Int64[IntArray, " some"],
    reduced: Reduced | None,
    threshold: float,
    among: BoolArray | None = None,
) -> Part:
    """The part of some jobs and nodes, and of options up to a reduced cost; all others stay.

    Without reduced costs all options are open.
    """
    others = np.ones(len(alloc), dtype=np.bool_)
    others[jobs] = False
    capacity = problem.capacity - alloc[others].sum(axis=0)
    spans = others & ((alloc > 0).sum(axis=1) > 1) & (not problem.share_spanning)
    closed = problem.closed | (alloc[spans] > 0).any(axis=0)
    nodes = np.flatnonzero((capacity > 0) & (True if among is None else among))
    held = problem.held[np.ix_(jobs, nodes)]
    whole = held.sum(axis=1) == problem.held[jobs].sum(axis=1)
    local, rack, several = (
        _only(table, reduced, level, threshold, jobs)
        for level, table in (
            (Level.LOCAL, problem.cost_local),
            (Level.RACK, problem.cost_rack),
            (Level.SEVERAL, problem.cost_several),
        )
    )
    assert local is not None
    assert several is not None
    return Part(
        problem=Problem(
            capacity=capacity[nodes],
            held=np.where(whole[:, None], held, 0),
            kind=problem.kind[nodes],
            rack=problem.rack[nodes],
            closed=closed[nodes],
            cost_none=problem.cost_none[jobs],
            cost_local=local,
            cost_rack=rack,
            cost_several=several,
            cost_keep=np.where(whole, problem.cost_keep[jobs], np.inf),
            share_spanning=problem.share_spanning,
            beside=problem.beside.part(jobs, nodes, np.where(others[:, None], alloc, 0)),
        ),
        jobs=jobs,
        nodes=nodes,
    )


def dealt(problem: Problem, alloc: Int64[IntArray, "jobs nodes"]) -> list[Int64[IntArray, " some"]]:
    """All nodes in groups of a few, each with some that have GPUs left and some that have none."""
    free = problem.capacity - alloc.sum(axis=0)
    order = np.lexsort((np.arange(len(free)), -free, problem.kind))
    number = -(-len(order) // _FEW_NODES)
    return [order[first::number] for first in range(number)]


def few(
    problem: Problem, alloc: Int64[IntArray, "jobs nodes"], nodes: Int64[IntArray, " some"]
) -> Part:
    """The part of some nodes, all jobs that are on these alone, and the first that are on none."""
    among = np.isin(np.arange(len(problem.capacity)), nodes)
    waits = np.flatnonzero(~alloc.any(axis=1) & np.isfinite(problem.cost_none))[:_FEW_WAITING]
    here = np.flatnonzero(alloc[:, among].any(axis=1) & ~alloc[:, ~among].any(axis=1))
    return part(problem, alloc, np.union1d(waits, here), None, 0.0, among)


def _only(
    table: Float64[FloatArray, "jobs kinds sizes"] | None,
    reduced: Reduced | None,
    level: Level,
    threshold: float,
    jobs: Int64[IntArray, " some"],
) -> Float64[FloatArray, "some kinds sizes"] | None:
    """Costs of some jobs' cheap options of a level; infinite for all others."""
    if table is None:
        return None
    if reduced is None:
        return table[jobs]
    options, cheap = reduced.options, reduced.of_option <= threshold
    row = np.full(len(table), -1)
    row[jobs] = np.arange(len(jobs))
    some = cheap & (options.level == level) & (row[options.job] >= 0)
    job, kind, gpus = options.job[some], options.kind[some], options.gpus[some]
    only = np.full((len(jobs), *table.shape[1:]), np.inf)
    only[row[job], kind, gpus] = table[job, kind, gpus]
    return only
