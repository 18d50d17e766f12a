"""From sizes and patterns to a placement: who goes where; repair, and giving out the rest."""

import numpy as np

from headway.core.solve.options import Choice, Filled
from headway.core.solve.problem import Problem
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray

_LEAST_GAIN = 1e-9  # of a cost: less is rounding, and not worth a move


def place(problem: Problem, choice: Choice) -> Int64[IntArray, "jobs nodes"]:
    """A placement that does what a choice says; exactly, if it came from an integer solution."""
    alloc = np.where(choice.keep[:, None], problem.held, 0)
    flagged = np.asarray((alloc[_spans(alloc)] > 0).any(axis=0))
    _place_local(problem, choice, alloc, flagged)
    if choice.pieces is None or not _place_pieces(problem, choice, alloc, flagged):
        _place_spanning(problem, choice, alloc, flagged)
    return fill(problem, alloc)


def fill(problem: Problem, alloc: Int64[IntArray, "jobs nodes"]) -> Int64[IntArray, "jobs nodes"]:
    """Give free GPUs of each node to its users or to jobs that hold nothing, while costs fall."""
    alloc = alloc.copy()
    cost = problem.cost(alloc)
    for node in np.flatnonzero(problem.capacity > alloc.sum(axis=0)):
        while _gave(problem, alloc, cost, int(node)):
            pass
    return alloc


def _gave(
    problem: Problem,
    alloc: Int64[IntArray, "jobs nodes"],
    cost: Float64[FloatArray, " jobs"],
    node: int,
) -> bool:
    """Make the gift on a node that lowers the cost most per GPU, if there is one that does."""
    free = int(problem.capacity[node] - alloc[:, node].sum())
    total = alloc.sum(axis=1)
    takers = np.flatnonzero((alloc[:, node] > 0) | (total == 0))
    if not free or not len(takers):
        return False
    gift = np.arange(1, free + 1)
    nodes = np.maximum((alloc[takers] > 0).sum(axis=1), 1)
    new = problem.shape_cost(takers[:, None], total[takers, None] + gift, nodes[:, None])
    # Whoever gets back exactly what it held has not been moved.
    held = problem.held[takers]
    back = (held.sum(axis=1)[:, None] == gift) & (held[:, node, None] == gift)
    back &= (total[takers] == 0)[:, None]
    new = np.where(back, np.minimum(new, problem.cost_keep[takers, None]), new)
    gain = np.where(np.isfinite(new), cost[takers, None] - new, -np.inf)
    taker, size = np.unravel_index(int(np.argmax(gain / gift)), gain.shape)
    if not gain[taker, size] > _LEAST_GAIN * abs(new[taker, size]):
        return False
    alloc[takers[taker], node] += gift[size]
    cost[takers[taker]] = new[taker, size]
    return True


def _place_local(
    problem: Problem, choice: Choice, alloc: Int64[IntArray, "jobs nodes"], flagged: BoolArray
) -> None:
    """Put jobs of one node into the slots that the patterns cut; the others go best-fit."""
    size, node = _slots(problem.capacity - alloc.sum(axis=0), flagged, choice)
    left_over = []
    for wanted in np.unique(choice.local[choice.local > 0])[::-1]:
        jobs = np.flatnonzero(choice.local == wanted)
        slots = node[size == wanted][: len(jobs)]
        alloc[jobs[: len(slots)], slots] = wanted
        left_over.extend(jobs[len(slots) :].tolist())
    for job in left_over:
        _best_fit(problem, alloc, job, int(choice.local[job]))


def _slots(
    free: Int64[IntArray, " nodes"], flagged: BoolArray, choice: Choice
) -> tuple[Int64[IntArray, " slots"], Int64[IntArray, " slots"]]:
    """Size and node of every slot that the chosen patterns cut."""
    sizes, nodes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for filled in choice.filled:
        if filled.node is None:
            of_class = np.flatnonzero((free == filled.room) & (flagged == filled.flagged))
            patterns = filled.patterns[_whole(filled, len(of_class))]
        else:
            of_class = np.array([filled.node])
            patterns = np.floor(filled.times + 1e-6).astype(np.int64)[None, :] @ filled.patterns
        pattern, which = np.nonzero(patterns)
        times = patterns[pattern, which]
        sizes.append(np.repeat(choice.sizes[which], times))
        nodes.append(np.repeat(of_class[pattern], times))
    return np.concatenate(sizes), np.concatenate(nodes)


def _whole(filled: Filled, nodes: int) -> Int64[IntArray, " nodes"]:
    """A pattern for each node as often as it was chosen, fractions rounded by largest remainder."""
    times = np.floor(filled.times + 1e-6).astype(np.int64)
    rest = filled.times - times
    more = min(round(float(filled.times.sum())), nodes) - int(times.sum())
    if more > 0:
        times[np.argsort(-rest, kind="stable")[:more]] += 1
    return np.repeat(np.arange(len(times)), times)[:nodes]


def _best_fit(problem: Problem, alloc: Int64[IntArray, "jobs nodes"], job: int, size: int) -> None:
    """Put a job on the fullest node that has room, smaller than asked if it must be."""
    free = problem.capacity - alloc.sum(axis=0)
    most = min(size, int(free.max()))
    allowed = np.flatnonzero(np.isfinite(problem.cost_local[job, 1 : most + 1])) + 1
    if len(allowed):
        alloc[job, _smallest(free, free >= allowed[-1])] = allowed[-1]


def _place_pieces(
    problem: Problem, choice: Choice, alloc: Int64[IntArray, "jobs nodes"], flagged: BoolArray
) -> bool:
    """Put every piece, largest first, into the smallest open hole; False if one found none."""
    assert choice.pieces is not None
    free = problem.capacity - alloc.sum(axis=0)
    open_, before = ~flagged, alloc.copy()
    for size in range(choice.pieces.shape[1] - 1, 0, -1):
        for job in np.repeat(np.arange(len(alloc)), choice.pieces[:, size]):
            fits = open_ & (free >= size)
            if not fits.any():
                alloc[:] = before
                return False
            node = _smallest(free, fits)
            alloc[job, node] = size
            open_[node] = False
    return True


def _place_spanning(
    problem: Problem, choice: Choice, alloc: Int64[IntArray, "jobs nodes"], flagged: BoolArray
) -> None:
    """Spread jobs over the largest open holes, largest job first, smaller if GPUs are short."""
    free = problem.capacity - alloc.sum(axis=0)
    open_ = ~flagged
    for job in np.argsort(-choice.several, kind="stable")[: int((choice.several > 0).sum())]:
        room = int(free[open_].sum())
        most = min(int(choice.several[job]), room)
        allowed = np.flatnonzero(np.isfinite(problem.cost_several[job, 2 : most + 1])) + 2
        if len(allowed) and int((open_ & (free > 0)).sum()) > 1:
            taken = _spread(free, open_, int(allowed[-1]))
            alloc[job] = taken
            free, open_ = free - taken, open_ & (taken == 0)


def _spread(
    free: Int64[IntArray, " nodes"], open_: BoolArray, gpus: int
) -> Int64[IntArray, " nodes"]:
    """Take whole holes from the largest on while the need exceeds them; the last is a best fit."""
    taken = np.zeros_like(free)
    for node in np.argsort(np.where(open_, -free, 1), kind="stable"):
        need = gpus - int(taken.sum())
        if free[node] >= need and taken.any():
            fits = open_ & (taken == 0) & (free >= need)
            taken[_smallest(free, fits)] = need
            break
        taken[node] = min(int(free[node]), need - (0 if taken.any() else 1))  # leave one to span
    return taken


def _smallest(values: Int64[IntArray, " nodes"], among: BoolArray) -> int:
    """The first index of the smallest value among some."""
    return int(np.argmin(np.where(among, values, np.iinfo(np.int64).max)))


def _spans(alloc: Int64[IntArray, "jobs nodes"]) -> BoolArray:
    """Jobs on more than one node."""
    return np.asarray((alloc > 0).sum(axis=1) > 1)
