"""The rows of the pinned-pattern program for jobs that span nodes: a hole for every piece.

Where spanning jobs may share nodes every piece is one GPU, and pieces of a job may lie on the same
node, but not all of them (``sharing.py``).
"""

from dataclasses import dataclass, fields

import numpy as np

from headway.core.solve.assembly import Assembly
from headway.core.solve.nodes import Block, Zone
from headway.core.solve.options import Level, Options
from headway.core.solve.racks import Cuts, Sites, add_sites
from headway.core.solve.sharing import Holes, add_room, add_two_nodes
from headway.core.types import Float64, FloatArray, Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """Columns that count a spanning job's pieces by size, and by rack where racks matter."""

    job: Int64[IntArray, " pieces"]
    rack: Int64[IntArray, " pieces"]  # 0 where racks do not matter
    zone: Int64[IntArray, " pieces"]
    size: Int64[IntArray, " pieces"]
    number: Int64[IntArray, " pieces"]  # that a unit of the column stands for
    column: Int64[IntArray, " pieces"]

    def counts(
        self, x: Float64[FloatArray, " columns"], jobs: int
    ) -> Int64[IntArray, "jobs racks sizes"]:
        """How many pieces of each size a job has in each rack."""
        racks, largest = int(self.rack.max(initial=0)) + 1, int(self.size.max(initial=0))
        pieces = np.zeros((jobs, racks, largest + 1), dtype=np.int64)
        value = np.round(x[self.column]).astype(np.int64) * self.number
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
    few_cuts: bool = False,
) -> Pieces:
    """Pieces of every spanning job, two at least, and room for every piece."""
    holes = Holes.of(blocks)
    largest = np.zeros(len(zones), dtype=np.int64)
    np.maximum.at(largest, holes.zone, holes.size)
    largest = np.minimum(largest, 1) if shared else largest
    sites = None
    if zones[0].rack is not None:
        sites = add_sites(assembly, options, column, zones, largest, few_cuts=few_cuts)
    owners = _Owners.among(options, column, sites)
    pieces = _add_pieces(assembly, owners, zones, largest)
    if sites is not None and sites.cuts is not None:
        pieces = _with_cuts(pieces, options, sites, sites.cuts, zones)
    if shared:
        add_room(assembly, holes, piece=pieces.column, zone=pieces.zone, number=pieces.number)
        compact = (
            owners.column,
            np.searchsorted([one.kind for one in zones], owners.kind[owners.of]),
        )
        compact = compact if sites is None else (sites.column, sites.zone)
        add_two_nodes(assembly, holes, zones, column=compact[0], zone=compact[1])
    else:
        _add_nested(assembly, holes, largest, pieces)
    return pieces


def _add_pieces(
    assembly: Assembly,
    owners: "_Owners",
    zones: tuple[Zone, ...],
    largest: Int64[IntArray, " zones"],
) -> Pieces:
    """Columns for the pieces of each owner in each zone where it may have some."""
    kind = np.array([zone.kind for zone in zones])
    there = (owners.site[:, None] < 0) | (owners.site[:, None] == np.arange(len(zones)))
    owner, zone = np.nonzero(there & (owners.kind[:, None] == kind) & (largest > 0))  # pairs
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
    if zones[0].rack is not None:
        inside = _add_all_but_one(assembly, owners, owner)
        apart = inside[pair] >= 0
        assembly.add_entries(inside[pair[apart]], piece[apart], size[apart])
    return Pieces(
        job=owners.job[owner[pair]],
        rack=np.array([one.rack or 0 for one in zones])[zone[pair]],
        zone=zone[pair],
        size=size,
        number=np.ones_like(pair),
        column=piece,
    )


def _with_cuts(
    pieces: Pieces, options: Options, sites: Sites, cuts: Cuts, zones: tuple[Zone, ...]
) -> Pieces:
    """The pieces beside those that the columns of sites take."""
    site, which = np.nonzero(cuts.number * cuts.size)
    more = Pieces(
        job=options.job[sites.option[site]],
        rack=np.array([one.rack or 0 for one in zones])[sites.zone[site]],
        zone=sites.zone[site],
        size=cuts.size[site, which],
        number=cuts.number[site, which],
        column=sites.column[site],
    )
    names = [field.name for field in fields(Pieces)]
    both = {name: np.concatenate([getattr(pieces, name), getattr(more, name)]) for name in names}
    return Pieces(**both)


def _add_nested(
    assembly: Assembly,
    holes: Holes,
    largest: Int64[IntArray, " zones"],
    pieces: Pieces,
) -> None:
    """As many holes of each size or more as pieces: Hall's condition for putting one in each."""
    nested = assembly.add_rows(int(largest.sum()), upper=0.0)
    start = np.cumsum(largest) - largest
    for columns, where, sizes, number in (
        (pieces.column, pieces.zone, pieces.size, pieces.number),
        (holes.column, holes.zone, holes.size, np.full(len(holes.size), -1)),
    ):
        row = nested[np.repeat(start[where], sizes) + _counting(sizes)]
        assembly.add_entries(row, np.repeat(columns, sizes), np.repeat(number, sizes))


def add_counted(
    assembly: Assembly,
    options: Options,
    column: Int64[IntArray, " options"],
    zones: tuple[Zone, ...],
    blocks: tuple[Block, ...],
    *,
    count_holes: bool = False,
) -> None:
    """Spanning jobs together hold no more GPUs of a type than its holes have.

    With ``count_holes`` also: no more pieces than holes, if each job has as few as it can.
    """
    holes, spanning = Holes.of(blocks), options.spanning
    rows = assembly.add_rows(len(zones), upper=0.0)
    pieces = assembly.add_rows(len(zones) if count_holes else 0, upper=0.0)
    for zone, row in zip(zones, rows, strict=True):
        here = np.flatnonzero(spanning & (options.kind == zone.kind))
        gpus = options.gpus[here]
        assembly.add_entries(np.full(len(here), row), column[here], gpus)
        largest = int(holes.size[holes.zone == zone.index].max(initial=0))
        if count_holes and largest:
            fewest = np.maximum(2, -(-gpus // largest))
            assembly.add_entries(np.repeat(pieces[zone.index], len(here)), column[here], fewest)
    assembly.add_entries(rows[holes.zone], holes.column, -holes.size)
    if count_holes:
        assembly.add_entries(pieces[holes.zone], holes.column, -1.0)


def _add_all_but_one(
    assembly: Assembly, owners: "_Owners", owner: Int64[IntArray, " pairs"]
) -> Int64[IntArray, " pairs"]:
    """Rows for a job's GPUs in each rack: of several racks no single one has all; -1 without."""
    jobs = len(owners.job)
    across = owners.level == Level.SEVERAL
    apart = np.flatnonzero(owners.site[owner] < 0)
    rows = np.full(len(owner), -1)
    rows[apart] = assembly.add_rows(len(apart), upper=0.0)
    all_but_one = assembly.add_columns(np.zeros(jobs), integer=False)
    sums = assembly.add_rows(jobs, lower=0.0, upper=0.0)
    assembly.add_entries(sums, all_but_one)
    assembly.add_entries(sums[owners.of[across]], owners.column[across], 1.0 - owners.gpus[across])
    assembly.add_entries(rows[apart], all_but_one[owner[apart]], -1.0)
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owners:
    """Jobs that may span nodes of a type, once for each type; and their options.

    Where racks matter, once for each rack beside once for several racks.
    """

    job: Int64[IntArray, " owners"]
    kind: Int64[IntArray, " owners"]
    site: Int64[IntArray, " owners"]  # index of the one zone; -1: all of the type
    most: Int64[IntArray, " owners"]  # GPUs
    of: Int64[IntArray, " spanning"]  # the owner of each spanning option
    level: Int64[IntArray, " spanning"]
    gpus: Int64[IntArray, " spanning"]
    column: Int64[IntArray, " spanning"]

    @classmethod
    def among(
        cls, options: Options, column: Int64[IntArray, " options"], sites: Sites | None
    ) -> "_Owners":
        """The owners of all spanning options."""
        option = np.flatnonzero(options.level == Level.SEVERAL)
        site, column = np.full(len(option), -1), column[option]
        if sites is not None and sites.cuts is None:
            option = np.concatenate([option, sites.option])
            site = np.concatenate([site, sites.zone])
            column = np.concatenate([column, sites.column])
        kinds, zones = int(options.kind.max(initial=0)) + 1, int(site.max(initial=-1)) + 2
        key = (options.job[option] * kinds + options.kind[option]) * zones + site + 1
        owners, of = np.unique(key, return_inverse=True)
        most = np.zeros(len(owners), dtype=np.int64)
        np.maximum.at(most, of, options.gpus[option])
        return cls(
            job=owners // (kinds * zones),
            kind=owners // zones % kinds,
            site=owners % zones - 1,
            most=most,
            of=of,
            level=options.level[option],
            gpus=options.gpus[option],
            column=column,
        )


def _counting(number: Int64[IntArray, " some"]) -> Int64[IntArray, " all"]:
    """0, 1, ... up to each number, one after the other."""
    return np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
