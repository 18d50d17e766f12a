"""Counts into rounds: who must run now, then by rank; another order where too much does not fit.

With R rounds to go and all counts at most R, those who must run in each of them fit if the counts
fit at all; after a round that is full the same holds for R - 1. So with unit widths nothing is
lost whatever the ranks are; wider items lose only what idles by misfit.
"""

import numpy as np

from headway.core.solve.window import Window
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray

REPAIRS = 400  # most single rounds that are added where capacity idles


def arranged(
    window: Window,
    counts: Int64[IntArray, " items"],
    running: BoolArray,
    rank: Float64[FloatArray, " items"],
    *,
    order_may_cost: float = 0.0,
) -> BoolArray:
    """A table (items, rounds) with the counts, or what was found where they do not fit.

    A table in the order of the ranks is kept while it costs at most this share of the objective.
    """
    runs = _by_rank(window, counts, running, rank)
    if (runs.sum(axis=1) < counts).any():
        level = _level(window, counts, rank)
        best, by_rank = window.objective(level.sum(axis=1)), window.objective(runs.sum(axis=1))
        if best - by_rank > order_may_cost * abs(best):
            runs = level
    return _filled(window, runs)


def _by_rank(window: Window, counts: IntArray, running: BoolArray, rank: FloatArray) -> BoolArray:
    """Round by round; of equal ranks who runs goes on, so few stop and start again."""
    left, rows = counts.copy(), np.arange(len(counts))
    runs = np.zeros((len(counts), window.rounds), dtype=np.bool_)
    for column in range(window.rounds):
        to_go = window.rounds - column
        np.minimum(left, to_go, out=left)  # what did not fit is lost
        must = left == to_go
        widest = np.where(must, -window.width, 0)
        order = np.lexsort((rows, ~running, -rank, widest, ~must))
        taken = _fitting_a_round(order[left[order] > 0], window)
        runs[taken, column] = True
        left[taken] -= 1
        running = runs[:, column]
    return runs


def fitting(
    order: Int64[IntArray, " some"], width: Int64[IntArray, " items"], room: int
) -> Int64[IntArray, " taken"]:
    """Items in this order while there is room; a narrower one takes what a wider one leaves."""
    taken = []
    while len(order):
        order = order[width[order] <= room]
        fits = int(np.searchsorted(np.cumsum(width[order]), room, side="right"))
        taken.append(order[:fits])
        room -= int(width[order[:fits]].sum())
        order = order[fits:]
    return np.concatenate(taken) if taken else order


def _fitting_a_round(order: Int64[IntArray, " some"], window: Window) -> Int64[IntArray, " taken"]:
    """The same with a round's room for width and for all other needs."""
    if not len(window.rooms):
        return fitting(order, window.width, window.capacity)
    needs, left, taken = window.needs(), window.room_of_round(), []
    for item in order.tolist():
        if (needs[item] <= left).all():
            taken.append(item)
            left = left - needs[item]
    return np.array(taken, dtype=np.int64)


def _level(window: Window, counts: IntArray, rank: FloatArray) -> BoolArray:
    """Widest first, each in the rounds that are emptiest so far."""
    needs, room = window.needs(), window.room_of_round()
    load = np.zeros((window.rounds, len(room)), dtype=np.int64)
    runs = np.zeros((len(counts), window.rounds), dtype=np.bool_)
    for item in np.lexsort((-counts, -window.width)).tolist():
        emptiest = np.argsort((load / room).max(axis=1), kind="stable")
        columns = emptiest[: counts[item]]
        columns = columns[(load[columns] + needs[item] <= room).all(axis=1)]
        runs[item, columns] = True
        load[columns] += needs[item]
    return runs[:, np.argsort(-(rank @ runs), kind="stable")]


def _filled(window: Window, runs: BoolArray) -> BoolArray:
    """What idles goes where it gains most for its width."""
    counts, rows = runs.sum(axis=1), np.arange(len(runs))
    needs = window.needs()
    idle = window.room_of_round() - runs.T @ needs
    share = window.price / window.capacity
    for _ in range(REPAIRS):
        if idle[:, 0].max(initial=0) < window.width.min(initial=window.capacity + 1):
            break
        after = np.minimum(counts + 1, window.rounds)
        gain = window.value[rows, after] - window.value[rows, counts]
        gain = gain / window.width
        gain += share * (window.left[rows, counts] - window.left[rows, after])
        gain[counts == window.rounds] = 0.0
        placed = False
        for item in np.argsort(-gain, kind="stable")[: (gain > 0).sum()].tolist():
            columns = np.flatnonzero(~runs[item] & (idle >= needs[item]).all(axis=1))
            if len(columns):
                runs[item, columns[0]] = True
                idle[columns[0]] -= needs[item]
                counts[item] += 1
                placed = True
                break
        if not placed:
            break
    return runs
