"""The rows of the pinned-pattern program for jobs that span nodes: a hole for every piece.

Where spanning jobs may share nodes every piece is one GPU, and pieces of a job may lie on the same
node, but not all of them (``sharing.py``).
"""

from dataclasses import dataclass

import numpy as np

from headway.core.solve.assembly import Assembly
from headway.core.solve.nodes import Block, Zone
from headway.core.solve.options import Level, Options
from headway.core.solve.sharing import Holes, add_room, add_two_nodes
from headway.core.types import Float64, FloatArray, Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Columns that count a spanning job's pieces by size, and by rack where racks matter."""

    job: Int64[IntArray, " pieces"]
    rack: Int64[IntArray, " pieces"]  # 0 where racks do not matter
    size: Int64[IntArray, " pieces"]
    column: Int64[IntArray, " pieces"]

    def counts(
        self, x: Float64[FloatArray, " columns"], jobs: int
    ) -> Int64[IntArray, "jobs racks sizes"]:
        """How many pieces of each size a job has in each rack."""
        racks, largest = int(self.rack.max(initial=0)) + 1, int(self.size.max(initial=0))
        pieces = np.zeros((jobs, racks, largest + 1), dtype=np.int64)
        value = np.round(x[self.column]).astype(np.int64)
        np.add.at(pieces, (self.job, self.rack, self.size), value)
        return pieces


def add_exact(
    assembly: Assembly,
    options: Options,
    column: Int64[IntArray, " options"],
    zones: tuple[Zone, ...],
    blocks: tuple[Block, ...],
    *,
    shared: bool = False,
) -> Pieces:
    """Pieces of every spanning job, two at least, and room for every piece."""
    owners, holes = _Owners.among(options, column), Holes.of(blocks)
    kind, rack = (np.array([getattr(zone, name) for zone in zones]) for name in ("kind", "rack"))
    largest = np.zeros(len(zones), dtype=np.int64)
    np.maximum.at(largest, holes.zone, holes.size)
    owner, zone = np.nonzero((owners.kind[:, None] == kind) & (largest > 0))  # pairs
    largest = np.minimum(largest, 1) if shared else largest
    number = np.minimum(owners.most[owner] - 1, largest[zone])
    pair = np.repeat(np.arange(len(owner)), number)
    size = _counting(number) + 1
    piece = assembly.add_columns(np.zeros(len(pair)))
    total = assembly.add_rows(len(owners.job), lower=0.0, upper=0.0)
    assembly.add_entries(total[owner[pair]], piece, size)
    assembly.add_entries(total[owners.of], owners.column, -owners.gpus)
    two = assembly.add_rows(len(owners.job), lower=0.0)
    assembly.add_entries(two[owner[pair]], piece)
    assembly.add_entries(two[owners.of], owners.column, -2.0)
    if shared:
        add_room(assembly, holes, piece=piece, zone=zone[pair])
    else:
        _add_nested(assembly, holes, largest, piece=piece, zone=zone[pair], size=size)
    job = owners.job[owner[pair]]
    if zones[0].rack is None:
        if shared:
            where = np.searchsorted(kind, owners.kind[owners.of])
            add_two_nodes(assembly, holes, zones, column=owners.column, zone=where)
        return Pieces(job=job, rack=np.zeros_like(pair), size=size, column=piece)
    inside, may, chosen = _add_racks(assembly, owners, owner)
    assembly.add_entries(inside[pair], piece, size)
    if shared:
        add_two_nodes(assembly, holes, zones, column=chosen, zone=zone[may])
    return Pieces(job=job, rack=rack[zone[pair]], size=size, column=piece)


def _add_nested(
    assembly: Assembly,
    holes: Holes,
    largest: Int64[IntArray, " zones"],
    *,
    piece: Int64[IntArray, " pieces"],
    zone: Int64[IntArray, " pieces"],
    size: Int64[IntArray, " pieces"],
) -> None:
    """As many holes of each size or more as pieces: Hall's condition for putting one in each."""
    nested = assembly.add_rows(int(largest.sum()), upper=0.0)
    start = np.cumsum(largest) - largest
    for columns, where, sizes, sign in (
        (piece, zone, size, 1.0),
        (holes.column, holes.zone, holes.size, -1.0),
    ):
        row = nested[np.repeat(start[where], sizes) + _counting(sizes)]
        assembly.add_entries(row, np.repeat(columns, sizes), sign)


def add_counted(
    assembly: Assembly,
    options: Options,
    column: Int64[IntArray, " options"],
    zones: tuple[Zone, ...],
    blocks: tuple[Block, ...],
) -> None:
    """Spanning jobs together hold no more GPUs of a type than its holes have."""
    holes, spanning = Holes.of(blocks), options.spanning
    rows = assembly.add_rows(len(zones), upper=0.0)
    for zone, row in zip(zones, rows, strict=True):
        here = np.flatnonzero(spanning & (options.kind == zone.kind))
        assembly.add_entries(np.full(len(here), row), column[here], options.gpus[here])
    assembly.add_entries(rows[holes.zone], holes.column, -holes.size)


def _add_racks(
    assembly: Assembly, owners: "_Owners", owner: Int64[IntArray, " pairs"]
) -> tuple[Int64[IntArray, " pairs"], Int64[IntArray, " may"], Int64[IntArray, " may"]]:
    """Keep a job within one rack or out of any single one; rows for its GPUs inside each rack.

    Inside a rack are at most all its GPUs if this is the rack chosen, and all but one if the job
    is of several racks. Also the pairs that may be chosen, and the columns that do so.
    """
    jobs = len(owners.job)
    in_one, across = owners.level == Level.RACK, owners.level == Level.SEVERAL
    inside = assembly.add_rows(len(owner), upper=0.0)
    all_but_one = assembly.add_columns(np.zeros(jobs), integer=False)
    rows = assembly.add_rows(jobs, lower=0.0, upper=0.0)
    assembly.add_entries(rows, all_but_one)
    assembly.add_entries(rows[owners.of[across]], owners.column[across], 1.0 - owners.gpus[across])
    assembly.add_entries(inside, all_but_one[owner], -1.0)
    most = np.zeros(jobs, dtype=np.int64)
    np.maximum.at(most, owners.of[in_one], owners.gpus[in_one])
    may = np.flatnonzero(most[owner])
    chosen = assembly.add_columns(np.zeros(len(may)), upper=1.0)
    assembly.add_entries(inside[may], chosen, -most[owner[may]])
    one = assembly.add_rows(jobs, lower=0.0, upper=0.0)
    assembly.add_entries(one[owner[may]], chosen)
    assembly.add_entries(one[owners.of[in_one]], owners.column[in_one], -1.0)
    return inside, may, chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owners:
    """Jobs that may span nodes of a type, once for each type; and their options."""

    job: Int64[IntArray, " owners"]
    kind: Int64[IntArray, " owners"]
    most: Int64[IntArray, " owners"]  # GPUs
    of: Int64[IntArray, " spanning"]  # the owner of each spanning option
    level: Int64[IntArray, " spanning"]
    gpus: Int64[IntArray, " spanning"]
    column: Int64[IntArray, " spanning"]

    @classmethod
    def among(cls, options: Options, column: Int64[IntArray, " options"]) -> "_Owners":
        """The owners of all spanning options."""
        spanning = options.spanning
        kinds = int(options.kind.max(initial=0)) + 1
        key = options.job[spanning] * kinds + options.kind[spanning]
        owners, of = np.unique(key, return_inverse=True)
        most = np.zeros(len(owners), dtype=np.int64)
        np.maximum.at(most, of, options.gpus[spanning])
        return cls(
            job=owners // kinds,
            kind=owners % kinds,
            most=most,
            of=of,
            level=options.level[spanning],
            gpus=options.gpus[spanning],
            column=column[spanning],
        )


def _counting(number: Int64[IntArray, " some"]) -> Int64[IntArray, " all"]:
    """0, 1, ... up to each number, one after the other."""
    return np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
