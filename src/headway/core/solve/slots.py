"""Items into bins: each gets one of its options, a slot of one bin or several bins whole.

Slots are powers of two, so they nest: once all larger ones lie somewhere, wherever that is, a
bin of room r has floor(r / s) minus what they cover left for slots of s. A choice of options can
therefore be arranged exactly if it keeps a few sums (one a kind where all bins are equal powers
of two), and the program needs no places.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from headway.core.solve.assembly import Assembly, Program
from headway.core.solve.beside import BEYOND, Beside
from headway.core.solve.milp import solve_mixed
from headway.core.solve.outcome import DEFAULT_BUDGET, Budget, Outcome, Status
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """What there is. A bin can be taken whole while nothing occupies a part of it."""

    kind: Int64[IntArray, " bins"]
    size: Int64[IntArray, " bins"]
    room: Int64[IntArray, " bins"]  # what of its size is not occupied
    beside: Beside | None = None  # what each unit of an item takes of its bin, beside its room

    def empty(self, kind: int, size: int) -> BoolArray:
        """Bins of a kind and a size that can be taken whole."""
        return np.asarray((self.kind == kind) & (self.size == size) & (self.room == size))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """What there is to get: ``number`` pieces of ``unit``, all in bins of one kind.

    One piece of a power of two is a slot. Else each piece is a whole bin whose size is the unit.
    """

    kind: Int64[IntArray, " shapes"]
    unit: Int64[IntArray, " shapes"]
    number: Int64[IntArray, " shapes"]

    @classmethod
    def of(cls, bins: Bins, most: int) -> Self:
        """All shapes that fit the bins and are not above ``most`` in total; by kind and total."""
        found: list[tuple[int, int, int, int]] = []
        for kind in np.unique(bins.kind).tolist():
            here = bins.kind == kind
            slots = int(bins.room[here].max(initial=0)).bit_length()
            found += [(kind, 1 << power, 1 << power, 1) for power in range(slots)]
            for size in np.unique(bins.size[here]).tolist():
                empty = int(bins.empty(kind, size).sum())
                first = 1 if size & (size - 1) else 2  # one bin of a power of two is a slot
                found += [(kind, size * number, size, number) for number in range(first, empty + 1)]
        table = np.array(sorted(found), dtype=np.int64).reshape(-1, 4)
        table = table[table[:, 1] <= most]
        return cls(kind=table[:, 0], unit=table[:, 2], number=table[:, 3])

    def at(self, index: Int64[IntArray, " some"]) -> Self:
        """Some of them, or one several times."""
        return type(self)(kind=self.kind[index], unit=self.unit[index], number=self.number[index])

    @property
    def total(self) -> Int64[IntArray, " shapes"]:
        """The sum of the pieces."""
        return self.unit * self.number

    @property
    def whole(self) -> BoolArray:
        """Shapes that take bins whole."""
        return np.asarray((self.number > 1) | (self.unit & (self.unit - 1) != 0))

    def below(self) -> Int64[IntArray, " shapes"]:
        """The total of the next smaller shape of the same kind; 0 for the smallest."""
        below = np.zeros_like(self.kind)
        for kind in np.unique(self.kind).tolist():
            mine = self.kind == kind
            totals = np.unique(self.total[mine])
            at = np.searchsorted(totals, self.total[mine])
            below[mine] = np.concatenate([[0], totals])[at]
        return below

    def held(self, bins: Bins, held: Int64[IntArray, "items bins"]) -> BoolArray:
        """Which shape each item's bins have, whatever it holds of them: an (items, shapes) mask."""
        in_bin = held > 0
        number, kind = in_bin.sum(axis=1), _common(bins.kind, in_bin)
        same = (self.number == number[:, None]) & (self.kind == kind[:, None])
        same_size = self.unit == _common(bins.size, in_bin)[:, None]
        return np.asarray(same & (same_size | ~self.whole))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The shapes that each item may get, at a cost."""

    item: Int64[IntArray, " options"]
    shape: Shapes  # of each option
    cost: Float64[FloatArray, " options"]

    def at(self, index: Int64[IntArray, " some"]) -> Self:
        """Some of them."""
        return type(self)(item=self.item[index], shape=self.shape.at(index), cost=self.cost[index])


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """An option for each item, or none (-1), and how good that is."""

    option: Int64[IntArray, " items"] | None  # None: nothing was found
    outcome: Outcome
    columns: int
    rows: int

    def counts(self) -> dict[str, float]:
        """The size of the program and the work it took."""
        return {
            "columns": self.columns,
            "rows": self.rows,
            "branch_nodes": self.outcome.branch_nodes,
            "simplex_iterations": self.outcome.simplex_iterations,
        }


def choose(
    bins: Bins,
    options: Options,
    nothing: Float64[FloatArray, " items"],
    *,
    rel_gap: float = 1e-4,
    budget: Budget = DEFAULT_BUDGET,
) -> Chosen:
    """At most one option for each item at the least total cost; ``nothing`` is what none costs."""
    program = _program(bins, options, nothing)  # of what is beside room it knows the sums
    if len(options.item):
        outcome = solve_mixed(program, rel_gap=rel_gap, budget=budget)
    else:  # of a program without columns the solver says that it is solved, but not how
        value = program.offset
        outcome = Outcome(status=Status.OPTIMAL, x=program.cost, objective=value, bound=value)
    option = None
    if outcome.x is not None:
        option = np.full(len(nothing), -1, dtype=np.int64)
        taken = np.flatnonzero(outcome.x > 0.5)
        option[options.item[taken]] = taken
    return Chosen(
        option=option, outcome=outcome, columns=len(program.cost), rows=len(program.row_lower)
    )


def _program(bins: Bins, options: Options, nothing: Float64[FloatArray, " items"]) -> Program:
    assembly = Assembly(offset=float(nothing.sum()))
    column = assembly.add_columns(options.cost - nothing[options.item], upper=1.0)
    one = assembly.add_rows(len(nothing), upper=1.0)
    assembly.add_entries(one[options.item], column)
    shape, whole = options.shape, options.shape.whole
    for kind in np.unique(shape.kind).tolist():
        mine = shape.kind == kind
        for slot, slots in _levels(bins, kind):
            covers = shape.number * (shape.unit // slot)
            _add_sum(assembly, column, np.where(mine, covers, 0), slots)
        for size in np.unique(shape.unit[mine & whole]).tolist():
            of_size = mine & whole & (shape.unit == size)
            empty = int(bins.empty(kind, size).sum())
            _add_sum(assembly, column, np.where(of_size, shape.number, 0), empty)
        if bins.beside:
            _add_beside(assembly, column, bins.beside, bins.kind == kind, (options, mine))
    return assembly.program()


def _add_beside(
    assembly: Assembly,
    column: Int64[IntArray, " options"],
    beside: Beside,
    here: BoolArray,
    chosen: tuple[Options, BoolArray],
) -> None:
    """Rows: all options together take no more beside room than all bins have."""
    options, mine = chosen
    for resource, room in enumerate(beside.room[here].sum(axis=0).tolist()):
        taken = options.shape.total * beside.each[options.item, resource]
        if room < BEYOND:
            _add_sum(assembly, column, np.where(mine, taken, 0) / max(room, 1), 1)


def _levels(bins: Bins, kind: int) -> Iterator[tuple[int, int]]:
    """Sizes of slots and how many there are, those left out that a smaller size implies."""
    rooms = bins.room[bins.kind == kind]
    slot, implied = 1, np.inf
    while slot <= rooms.max(initial=0):
        room = int((rooms // slot).sum())
        if room * slot < implied:
            yield slot, room
            implied = room * slot
        slot *= 2


def _add_sum(
    assembly: Assembly, column: IntArray, weight: IntArray | FloatArray, upper: int
) -> None:
    counts = np.flatnonzero(weight)
    row = assembly.add_rows(1, upper=float(upper))
    assembly.add_entries(np.repeat(row, len(counts)), column[counts], weight[counts])


def arrange(
    bins: Bins, chosen: Options, before: Int64[IntArray, "items bins"]
) -> Int64[IntArray, "items bins"]:
    """Pieces of each item in each bin, for one option an item at most.

    ``before`` says where the pieces of those lay who would rather not move. Whole bins first, then
    slots by size, each time those who lie already and then the others; so who moves is smaller
    than who takes its place. Who finds too little beside the room gets nothing.
    """
    pieces = np.zeros_like(before)
    free, lying = bins.room.copy(), before.sum(axis=0)
    beside = bins.beside or Beside.nothing(*before.shape)
    left = beside.room.copy()
    shape, whole = chosen.shape, chosen.shape.whole
    moves = ~before[chosen.item].any(axis=1)
    level = np.where(whole, 0, 1 / shape.unit)
    for index in np.lexsort((chosen.item, -shape.total, moves, level)).tolist():
        item, kind, unit = int(chosen.item[index]), int(shape.kind[index]), int(shape.unit[index])
        lying -= before[item]
        fits = (bins.kind == kind) & (free >= unit)
        if whole[index]:
            fits = bins.empty(kind, unit) & (free == unit)
        fits &= beside.within(item, left) >= unit
        own = np.flatnonzero(before[item])
        if not (len(own) and fits[own].all()):
            own = _where(fits, free - lying - unit, int(shape.number[index]))
        pieces[item, own] = unit
        free[own] -= unit
        left[own] -= unit * beside.each[item]
    return pieces


def _common(of: Int64[IntArray, " bins"], among: BoolArray) -> Int64[IntArray, " rows"]:
    """What all bins of a row have in common; -1 where they differ, or there are none."""
    value = of[among.argmax(axis=1)]
    differ = (among & (of != value[:, None])).any(axis=1) | ~among.any(axis=1)
    return np.where(differ, -1, value)


def _where(
    fits: BoolArray, left: Int64[IntArray, " bins"], number: int
) -> Int64[IntArray, " bins"]:
    """The bins in which least is in the way, and of those the fullest; none if too few fit."""
    order = np.lexsort((np.maximum(left, 0), np.maximum(-left, 0), ~fits))[:number]
    return order if len(order) == number and fits[order].all() else order[:0]
