"""Sia's configurations: what each job is offered, and another one for who found no place."""

from dataclasses import dataclass

import numpy as np

from headway.core.policy.grid import Grid
from headway.core.policy.tables import Goodputs
from headway.core.solve.beside import Room
from headway.core.solve.slots import Bins, Shapes
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What every job may hold next, and what it is worth to it.

    A configuration is a power of two of one node's GPUs, or whole nodes of one size, all with
    GPUs of one type (Sia, section 3.3): a shape of ``core.solve.slots``.
    """

    bins: Bins  # nodes by GPU type, without what those hold who may not be preempted
    shapes: Shapes
    gpus: Int64[IntArray, "jobs shapes"]  # 0: the job may not
    goodput: Float64[FloatArray, "jobs shapes"]  # normalised: the paper's G
    present: BoolArray  # (jobs, shapes): what it holds now
    held_goodput: Float64[FloatArray, " jobs"]  # G of that, also where it is no configuration
    factor: Float64[FloatArray, " jobs"]  # of G where a running job would have to restart
    memory: Goodputs


def possible(grid: Grid, shapes: Shapes) -> BoolArray:
    """Which configurations an empty cluster has room for, a (jobs, shapes) mask."""
    most = np.minimum(grid.beside.most(), grid.capacity)
    there = np.zeros((len(grid.jobs), len(shapes.kind)), dtype=np.bool_)
    for at, (kind, unit, number) in enumerate(
        zip(shapes.kind.tolist(), shapes.unit.tolist(), shapes.number.tolist(), strict=True)
    ):
        bins = grid.kind == kind
        if shapes.whole[at]:
            bins = bins & (grid.capacity == unit)
        there[:, at] = (most[:, bins] >= unit).sum(axis=1) >= number
    return there


def refilled(
    grid: Grid,
    offer: Offer,
    cost: Float64[FloatArray, "jobs shapes"],
    alloc: Int64[IntArray, "jobs nodes"],
    chosen: tuple[IntArray, IntArray],
) -> tuple[IntArray, IntArray, IntArray]:
    """A placement in which who found too few CPUs or too little memory has another configuration.

    ``chosen`` are the jobs that the program gave one, and which. In the order of submission each
    job without GPUs gets the cheapest that fits what is left. Returns the same, as it is now.
    """
    alloc, shape = alloc.copy(), np.full(len(alloc), -1)
    shape[chosen[0]] = chosen[1]
    shape[~alloc.any(axis=1)] = -1
    room = grid.room(alloc)
    for row in np.flatnonzero(~alloc.any(axis=1)).tolist():
        order = np.argsort(cost[row], kind="stable")
        for one in order[np.isfinite(cost[row, order])].tolist():
            placed = _fitted(grid, offer, room, row, one)
            if placed is not None:
                alloc[row], shape[row] = placed, one
                room.take(row, placed)
                break
    taken = np.flatnonzero(shape >= 0)
    return alloc, taken, shape[taken]


def _fitted(
    grid: Grid, offer: Offer, room: Room, row: int, shape: int
) -> Int64[IntArray, " nodes"] | None:
    """A job's GPUs in one configuration, where it fits what is free."""
    if offer.present[row, shape] and (grid.held[row] <= room.free(row)).all():
        return np.asarray(grid.held[row])
    shapes, left = offer.shapes, int(offer.gpus[row, shape])
    kind, unit, number = (int(of[shape]) for of in (shapes.kind, shapes.unit, shapes.number))
    able = (grid.kind == kind) & (room.free(row) >= unit)
    if shapes.whole[shape]:
        able &= grid.capacity == unit
    nodes = np.flatnonzero(able)
    nodes = nodes[np.argsort(room.free(row)[nodes], kind="stable")][:number]
    if len(nodes) < number:
        return None
    placed = np.zeros_like(grid.capacity)
    for node in nodes.tolist():
        placed[node] = min(unit, left)
        left -= int(placed[node])
    return placed
