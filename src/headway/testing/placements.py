"""Small placement problems, an independent check of an answer, and enumeration of all answers."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from headway.core.solve.beside import Beside
from headway.core.solve.problem import Problem
from headway.core.types import Float64, FloatArray, Int64, IntArray

Alloc = Int64[IntArray, "jobs nodes"]


def random_problem(
    rng: np.random.Generator,
    *,
    nodes: tuple[int, int],
    room: tuple[int, int],
    jobs: tuple[int, int],
    kinds: int = 1,
    racks: int = 0,
    share_spanning: bool = False,
    resources: int = 0,
) -> Problem:
    """Costs that mostly fall with size, some sizes forbidden, some jobs on nodes already.

    With ``racks`` there is a rack level, whose costs may well be above those of several racks; with
    ``resources`` GPUs need something beside themselves, and nodes have enough of it for what is
    held, but not for everything.
    """
    capacity = rng.integers(room[0], room[1] + 1, rng.integers(nodes[0], nodes[1] + 1))
    count = int(rng.integers(jobs[0], jobs[1] + 1))
    kind, rack = _dealt(rng, len(capacity), kinds), _dealt(rng, len(capacity), racks)
    held = random_placement(rng, capacity, count, kind, share_spanning=share_spanning)
    tables = (count, kinds, int(capacity.sum()) + 1)
    falling = rng.random() < 0.7  # costs 1/speed, or else -speed
    of_job = (count, kinds, 1)
    speed = np.arange(tables[2]) ** rng.uniform(0.2, 1.0, of_job) * rng.uniform(0.5, 2, of_job)
    speed = speed * rng.uniform(0.8, 1.2, tables)
    moved = np.where(held.any(axis=1), rng.uniform(0.3, 1.0, count), 1.0)[:, None, None]

    def cost(of: Float64[FloatArray, "..."]) -> Float64[FloatArray, "..."]:
        return 1 / (of + 1e-3) if falling else -of

    local = cost(speed * moved)[:, :, : capacity.max() + 1]
    several = cost(speed * moved * rng.uniform(0.4, 1.0, of_job))
    local[rng.random(local.shape) < 0.15] = np.inf
    several[rng.random(several.shape) < 0.15] = np.inf
    at = kind[np.argmax(held > 0, axis=1)]
    keep = cost(speed[np.arange(count), at, held.sum(axis=1)] * rng.uniform(0.6, 1.0, count))
    keep[rng.random(count) < 0.1] = np.inf
    none = cost(np.zeros(count))
    pinned = held.any(axis=1) & np.isfinite(keep) & (rng.random(count) < 0.1)
    local[pinned], several[pinned], none[pinned] = np.inf, np.inf, np.inf
    in_rack = None
    if racks:
        in_rack = cost(speed * moved * rng.uniform(0.6, 1.1, of_job))
        in_rack[rng.random(tables) < 0.15] = np.inf
        in_rack[pinned] = np.inf
    return Problem(
        beside=_beside(rng, capacity, held, resources),
        capacity=capacity,
        held=held,
        kind=kind,
        rack=rack,
        cost_none=none,
        cost_local=local,
        cost_rack=in_rack,
        cost_several=several,
        cost_keep=keep,
        share_spanning=share_spanning,
    )


def _beside(
    rng: np.random.Generator, capacity: Int64[IntArray, " nodes"], held: Alloc, resources: int
) -> Beside:
    """Enough for what is held, and on most nodes not for all their GPUs."""
    each = rng.integers(0, 4, (len(held), resources))
    some = rng.integers(0, 3 * capacity[:, None] + 1, (len(capacity), resources))
    return Beside(each=each, room=np.maximum(some, held.T @ each))


def _dealt(rng: np.random.Generator, nodes: int, labels: int) -> Int64[IntArray, " nodes"]:
    """Labels in equal shares, in any order."""
    return rng.permutation(np.arange(nodes) % labels) if labels > 1 else np.zeros(nodes, np.int64)


def random_placement(
    rng: np.random.Generator,
    capacity: Int64[IntArray, " nodes"],
    jobs: int,
    kind: Int64[IntArray, " nodes"],
    *,
    share_spanning: bool = False,
) -> Alloc:
    """Each job takes a random share of one or several nodes' free GPUs, one in ten of any type."""
    alloc = np.zeros((jobs, len(capacity)), dtype=np.int64)
    spanned = np.zeros(len(capacity), dtype=np.bool_)
    for job in range(jobs):
        free = capacity - alloc.sum(axis=0)
        row = rng.integers(0, free + 1) * (rng.random(len(capacity)) < 0.5)
        if kind.any() and rng.random() < 0.9:
            row = np.where(kind == rng.integers(kind.max() + 1), row, 0)
        if (row > 0).sum() > 1 and not share_spanning:
            row = np.where(spanned, 0, row)
        alloc[job] = row
        if (row > 0).sum() > 1:
            spanned |= row > 0
    return alloc


def is_a_placement(problem: Problem, alloc: Alloc) -> bool:
    """Whether a placement keeps the rules; written apart from the solver, in plain Python."""
    jobs, nodes = alloc.shape
    for node in range(nodes):
        here = [job for job in range(jobs) if alloc[job, node] > 0]
        spanning = [job for job in here if sum(count > 0 for count in alloc[job]) > 1]
        if len(spanning) > 1 and not problem.share_spanning:
            return False
        if sum(alloc[job, node] for job in here) > problem.capacity[node]:
            return False
        for each, room in zip(problem.beside.each.T, problem.beside.room[node], strict=True):
            if sum(alloc[job, node] * each[job] for job in here) > room:
                return False
    return all(
        count >= 0 and true_cost(problem, job, tuple(row)) < float("inf")
        for job, row in enumerate(alloc.tolist())
        for count in row
    )


def true_cost(problem: Problem, job: int, row: tuple[int, ...]) -> float:
    """What one row costs; written apart from the solver, in plain Python."""
    if not any(row):
        return float(problem.cost_none[job])
    used = [node for node, count in enumerate(row) if count]
    kinds = {int(problem.kind[node]) for node in used}
    racks = {int(problem.rack[node]) for node in used}
    table = problem.cost_several
    if len(racks) == 1 and problem.cost_rack is not None:
        table = problem.cost_rack
    if len(used) == 1:
        table = problem.cost_local
    new, gpus = float("inf"), sum(row)
    if len(kinds) == 1 and gpus < table.shape[2]:
        new = float(table[job, kinds.pop(), gpus])
    kept = row == tuple(problem.held[job].tolist())
    return min(new, float(problem.cost_keep[job])) if kept else new


def all_placements(problem: Problem) -> Iterator[tuple[float, tuple[tuple[int, ...], ...]]]:
    """Cost and rows of every placement that keeps the rules, by depth-first enumeration."""
    jobs = len(problem.held)
    every_row = list(product(*(range(room + 1) for room in problem.capacity.tolist())))
    rows = [
        [(cost, row) for row in every_row if (cost := true_cost(problem, job, row)) < float("inf")]
        for job in range(jobs)
    ]

    def descend(
        job: int,
        free: list[int],
        spanned: list[bool],
        cost: float,
        done: tuple[tuple[int, ...], ...],
    ) -> Iterator[tuple[float, tuple[tuple[int, ...], ...]]]:
        if job == jobs:
            if problem.beside.fits(np.array(done)):
                yield cost, done
            return
        for own, row in rows[job]:
            spans = sum(count > 0 for count in row) > 1
            if any(
                count > room or (spans and count and taken and not problem.share_spanning)
                for count, room, taken in zip(row, free, spanned, strict=True)
            ):
                continue
            yield from descend(
                job + 1,
                [room - count for count, room in zip(row, free, strict=True)],
                [taken or (spans and count > 0) for count, taken in zip(row, spanned, strict=True)],
                cost + own,
                (*done, row),
            )

    yield from descend(0, problem.capacity.tolist(), [False] * len(problem.capacity), 0.0, ())
