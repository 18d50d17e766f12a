"""What CPUs and memory mean for the pinned-pattern program: fewer options, and rows of sums.

Nodes of a class are alike to the program but for their GPUs, so it does not tell on which of them
there is memory. It knows what no placement can exceed: what fits an empty node, and all that the
nodes of a type have together. So its value bounds every placement; ``unpack`` finds one that fits.
"""

from dataclasses import replace

import numpy as np

from headway.core.solve.assembly import Assembly
from headway.core.solve.beside import BEYOND, Beside
from headway.core.solve.options import Level, Options
from headway.core.solve.problem import Problem
from headway.core.types import Float64, FloatArray, Int64, IntArray


def narrowed(problem: Problem) -> Problem:
    """The same without what fits no node, even an empty one; exact, and often much of it.

    A node has no more GPUs than it has of each resource for the job that asks for least of it. With
    jobs that all ask for the same this is all there is to say, and the program is exact.
    """
    if not problem.beside:
        return problem
    most = np.minimum(problem.beside.most(), problem.capacity)
    of_kind = problem.kind == np.arange(problem.kinds)[:, None]
    together = most @ of_kind.T
    local = np.where(of_kind, most[:, None], 0).max(axis=2)
    rack = problem.cost_rack
    if rack is not None:
        in_rack = problem.rack == np.arange(problem.rack.max() + 1)[:, None]
        sums = np.where(of_kind, most[:, None], 0) @ in_rack.T
        rack = _up_to(rack, sums.max(axis=2))
    return replace(
        problem,
        capacity=np.minimum(problem.capacity, _of_the_least(problem.beside)),
        cost_local=_up_to(problem.cost_local, local),
        cost_rack=rack,
        cost_several=_up_to(problem.cost_several, together),
    )


def _of_the_least(beside: Beside) -> Int64[IntArray, " nodes"]:
    """For how many GPUs each node has enough, did they all ask for the least of each resource."""
    least = beside.each.min(axis=0)
    some = least > 0  # two jobs that each ask for another resource fit beside each other
    return np.asarray((beside.room[:, some] // least[some]).min(axis=1, initial=BEYOND))


def _up_to(
    cost: Float64[FloatArray, "jobs kinds sizes"], most: Int64[IntArray, "jobs kinds"]
) -> Float64[FloatArray, "jobs kinds sizes"]:
    return np.where(np.arange(cost.shape[2]) <= most[:, :, None], cost, np.inf)


def add_sums(
    assembly: Assembly, problem: Problem, options: Options, column: Int64[IntArray, " options"]
) -> None:
    """Rows: all that jobs take of a resource on nodes of a type is no more than these have."""
    beside, job, keep = problem.beside, options.job, options.level == Level.KEEP
    for kind in range(problem.kinds):
        nodes = problem.kind == kind
        gpus = np.where(options.kind == kind, options.gpus, 0)
        gpus[keep] = problem.held[job[keep]][:, nodes].sum(axis=1)
        for resource, room in enumerate(beside.room[nodes].sum(axis=0).tolist()):
            taken = gpus * beside.each[job, resource]
            some = np.flatnonzero(taken)
            if len(some) and room < BEYOND:
                row = assembly.add_rows(1, upper=1.0)
                assembly.add_entries(
                    np.repeat(row, len(some)), column[some], taken[some] / max(room, 1)
                )
