"""From sizes and patterns to a placement: who goes where, and repair."""

from collections.abc import Iterator

import numpy as np

from headway.core.solve.beside import Room
from headway.core.solve.fill import fill
from headway.core.solve.options import Choice, Filled, Level
from headway.core.solve.pack import pack
from headway.core.solve.problem import Problem
from headway.core.types import BoolArray, Int64, IntArray


def place(problem: Problem, choice: Choice) -> Int64[IntArray, "jobs nodes"]:
    """A placement that does what a choice says; exactly, if it came from an integer solution."""
    alloc = np.where((choice.level == Level.KEEP)[:, None], problem.held, 0)
    shared, spanning = problem.share_spanning, alloc[_spans(alloc)] > 0
    flagged = problem.closed | (spanning.any(axis=0) & (not shared))
    _place_local(problem, choice, alloc, flagged)
    place_pieces = _share_pieces if shared else _place_pieces
    before = alloc.copy()
    placed = choice.pieces is not None and place_pieces(problem, choice, alloc, flagged)
    if not (placed and problem.beside.fits(alloc)):
        alloc = before
        _place_spanning(problem, choice, alloc, flagged)
    return fill(problem, alloc)


def _place_local(
    problem: Problem, choice: Choice, alloc: Int64[IntArray, "jobs nodes"], flagged: BoolArray
) -> None:
    """Put jobs of one node into the slots that the patterns cut; the others go best-fit."""
    size, node = _slots(problem, problem.capacity - alloc.sum(axis=0), flagged, choice)
    local = np.flatnonzero(choice.level == Level.LOCAL)
    wanted = choice.gpus[local] * problem.kinds + choice.kind[local]
    offered = size * problem.kinds + problem.kind[node]
    left_over = []
    for one in np.unique(wanted)[::-1]:
        jobs, slots = local[wanted == one], node[offered == one]
        if problem.beside:
            left_over += _into_slots(problem, alloc, jobs, slots, int(one) // problem.kinds)
            continue
        slots = slots[: len(jobs)]
        alloc[jobs[: len(slots)], slots] = one // problem.kinds
        left_over.extend(jobs[len(slots) :].tolist())
    for job in left_over:
        _best_fit(problem, alloc, job, int(choice.gpus[job]), int(choice.kind[job]))


def _into_slots(
    problem: Problem,
    alloc: Int64[IntArray, "jobs nodes"],
    jobs: Int64[IntArray, " wanted"],
    slots: Int64[IntArray, " slots"],
    size: int,
) -> list[int]:
    """Put each job where enough of what its GPUs need is left, most needy first; who is left over.

    Of such slots it gets the one with least left, so that what follows finds more.
    """
    beside, left_over, slots = problem.beside, [], slots.copy()
    share = beside.each[jobs] / np.maximum(beside.room.max(axis=0, initial=1), 1)
    for job in jobs[np.argsort(-share.max(axis=1), kind="stable")].tolist():
        free = problem.free(job, alloc)[slots]
        if not (free >= size).any():
            left_over.append(job)
            continue
        slot = _smallest(free, free >= size)
        alloc[job, slots[slot]] = size
        slots = np.delete(slots, slot)
    return left_over


def _slots(
    problem: Problem, free: Int64[IntArray, " nodes"], flagged: BoolArray, choice: Choice
) -> tuple[Int64[IntArray, " slots"], Int64[IntArray, " slots"]]:
    """Size and node of every slot that the chosen patterns cut."""
    sizes, nodes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    narrow = np.ones(len(free), dtype=np.bool_)  # a wide node is of no class, whatever it has left
    narrow[[filled.node for filled in choice.filled if filled.node is not None]] = False
    for filled in choice.filled:
        if filled.node is None:
            of_class = narrow & (free == filled.room) & (flagged == filled.flagged)
            of_class &= problem.kind == filled.kind
            if filled.rack is not None:
                of_class &= problem.rack == filled.rack
            cut = np.flatnonzero(of_class)
            patterns = filled.patterns[_whole(filled, len(cut))]
        else:
            cut = np.array([filled.node])
            patterns = np.floor(filled.times + 1e-6).astype(np.int64)[None, :] @ filled.patterns
        pattern, which = np.nonzero(patterns)
        times = patterns[pattern, which]
        sizes.append(np.repeat(filled.sizes[which], times))
        nodes.append(np.repeat(cut[pattern], times))
    return np.concatenate(sizes), np.concatenate(nodes)


def _whole(filled: Filled, nodes: int) -> Int64[IntArray, " nodes"]:
    """A pattern for each node as often as it was chosen, fractions rounded by largest remainder."""
    times = np.floor(filled.times + 1e-6).astype(np.int64)
    rest = filled.times - times
    more = min(round(float(filled.times.sum())), nodes) - int(times.sum())
    if more > 0:
        times[np.argsort(-rest, kind="stable")[:more]] += 1
    return np.repeat(np.arange(len(times)), times)[:nodes]


def _best_fit(
    problem: Problem, alloc: Int64[IntArray, "jobs nodes"], job: int, size: int, kind: int
) -> None:
    """Put a job on the fullest node that has room, smaller than asked if it must be."""
    free = np.where(problem.kind == kind, problem.free(job, alloc), 0)
    most = min(size, int(free.max()))
    allowed = np.flatnonzero(np.isfinite(problem.cost_local[job, kind, 1 : most + 1])) + 1
    if len(allowed):
        alloc[job, _smallest(free, free >= allowed[-1])] = allowed[-1]


def _place_pieces(
    problem: Problem, choice: Choice, alloc: Int64[IntArray, "jobs nodes"], flagged: BoolArray
) -> bool:
    """Put every piece, largest first, into the smallest open hole; False if one found none."""
    assert choice.pieces is not None
    free = problem.capacity - alloc.sum(axis=0)
    open_, before = ~flagged, alloc.copy()
    for size in range(choice.pieces.shape[2] - 1, 0, -1):
        for job, rack in np.argwhere(choice.pieces[:, :, size]):
            for _ in range(choice.pieces[job, rack, size]):
                fits = open_ & (free >= size) & (problem.kind == choice.kind[job])
                if problem.beside:
                    fits &= problem.free(int(job), alloc) >= size
                if problem.cost_rack is not None:
                    fits &= problem.rack == rack
                if not fits.any():
                    alloc[:] = before
                    return False
                node = _smallest(free, fits)
                alloc[job, node] = size
                open_[node] = False
    return True


def _share_pieces(
    problem: Problem, choice: Choice, alloc: Int64[IntArray, "jobs nodes"], flagged: BoolArray
) -> bool:
    """Give jobs their GPUs of each rack, first to those that need two nodes there.

    They go on few nodes each while that leaves two nodes to all who follow; else one GPU at a time
    from the node that has most left, which always does. False if GPUs are short.
    """
    assert choice.pieces is not None
    racks = problem.rack if problem.cost_rack is not None else np.zeros_like(problem.rack)
    compact = choice.level == (Level.SEVERAL if problem.cost_rack is None else Level.RACK)
    before = alloc.copy()
    for kind, rack in np.unique(np.stack([problem.kind, racks]), axis=1).T:
        if rack >= choice.pieces.shape[1]:
            continue  # it has no room
        zone = np.flatnonzero((problem.kind == kind) & (racks == rack))
        gpus = np.where(choice.kind == kind, choice.pieces[:, rack].sum(axis=1), 0)
        free = problem.capacity[zone] - alloc[:, zone].sum(axis=0)
        if gpus.sum() > free.sum():
            alloc[:] = before
            return False
        order = np.lexsort((-gpus, ~compact))
        left = int((compact & (gpus > 0)).sum())
        for job in order[gpus[order] > 0]:
            left -= int(compact[job])
            taken = (
                pack(free, int(gpus[job])) if not compact[job] else _spread(free, int(gpus[job]))
            )
            if taken is None or not _two_nodes_each(free - taken, left):
                taken = _levelled(free, int(gpus[job]))
            alloc[job, zone] = taken
            free = free - taken
    return True


def _two_nodes_each(free: Int64[IntArray, " nodes"], jobs: int) -> bool:
    """Whether so many jobs can each have GPUs of two nodes, whatever their sizes."""
    return bool((free >= 0).all() and jobs <= free.sum() - free.max())


def _levelled(free: Int64[IntArray, " nodes"], gpus: int) -> Int64[IntArray, " nodes"]:
    """GPUs one at a time from the node that has most left, never all from one."""
    taken = np.zeros_like(free)
    for _ in range(gpus):
        taken[np.argmax(np.where(taken < gpus - 1, free - taken, -1))] += 1
    return taken


def _place_spanning(
    problem: Problem, choice: Choice, alloc: Int64[IntArray, "jobs nodes"], flagged: BoolArray
) -> None:
    """Spread jobs over the largest open holes, largest job first, smaller if GPUs are short."""
    room = Room(problem.capacity, problem.beside, alloc)
    gpus = np.where(choice.level > Level.LOCAL, choice.gpus, 0)
    for job in np.argsort(-gpus, kind="stable")[: int((gpus > 0).sum())]:
        open_ = ~flagged & (problem.kind == choice.kind[job])
        free = np.where(open_, room.free(int(job)), 0)
        rows = list(_spreads(problem, choice, int(job), free))
        if rows:
            cost = problem.new_cost(np.full(len(rows), job), np.array(rows))
            if np.isfinite(cost).any():
                alloc[job] = rows[int(np.argmin(cost))]
                room.take(int(job), alloc[job])
                if not problem.share_spanning:
                    flagged = flagged | (alloc[job] > 0)


def _spreads(
    problem: Problem, choice: Choice, job: int, free: Int64[IntArray, " nodes"]
) -> Iterator[Int64[IntArray, " nodes"]]:
    """Rows to choose from for a spanning job: over all nodes; within the rack that fits best."""
    kind, gpus = int(choice.kind[job]), int(choice.gpus[job])
    tables = [(free, problem.cost_several)]
    if problem.cost_rack is not None:
        room = np.bincount(problem.rack, weights=free)
        room = np.where(np.bincount(problem.rack, weights=free > 0) > 1, room, 0)
        enough = room >= gpus
        rack = np.argmin(np.where(enough, room, np.inf)) if enough.any() else np.argmax(room)
        tables.append((np.where(problem.rack == rack, free, 0), problem.cost_rack))
    for within, table in tables:
        most = min(gpus, int(within.sum()))
        allowed = np.flatnonzero(np.isfinite(table[job, kind, 2 : most + 1])) + 2
        if len(allowed) and int((within > 0).sum()) > 1:
            yield _spread(within, int(allowed[-1]))


def _spread(free: Int64[IntArray, " nodes"], gpus: int) -> Int64[IntArray, " nodes"]:
    """Take whole holes from the largest on while the need exceeds them; the last is a best fit."""
    taken = np.zeros_like(free)
    for node in np.argsort(-free, kind="stable"):
        need = gpus - int(taken.sum())
        if free[node] >= need and taken.any():
            fits = (taken == 0) & (free >= need)
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
