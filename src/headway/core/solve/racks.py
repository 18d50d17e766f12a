"""Columns that say in which rack an option of one rack is, and perhaps how it is cut up there."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from headway.core.solve.assembly import Assembly
from headway.core.solve.nodes import Zone
from headway.core.solve.options import Level, Options
from headway.core.types import Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Sites:
    """Options of one rack in each rack that has room for them."""

    option: Int64[IntArray, " sites"]
    zone: Int64[IntArray, " sites"]
    column: Int64[IntArray, " sites"]
    cuts: "Cuts | None"  # what each column takes; None: any pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """Ways to cut GPUs up into pieces: each has so many of one size and so many of another."""

    of: Int64[IntArray, " cuts"]  # index of what is cut
    size: Int64[IntArray, "cuts 2"]
    number: Int64[IntArray, "cuts 2"]

    @classmethod
    def few(cls, gpus: Int64[IntArray, " some"], largest: Int64[IntArray, " some"]) -> Self:
        """As few pieces as there can be, large ones and a rest or even ones; or one more, even.

        All of them of two pieces at least, and none above the largest.
        """
        fewest = np.maximum(2, -(-gpus // largest))
        large = np.minimum(largest, gpus - 1)
        rest = gpus - (fewest - 1) * large
        uneven = np.stack([large, fewest - 1, rest, np.ones_like(rest)], axis=1)
        ways = [(uneven, large - rest > 1)]
        for number in (fewest, fewest + 1):
            size, more = gpus // number, gpus % number
            even = np.stack([size + 1, more, size, number - more], axis=1)
            ways.append((even, size > 0))
        of = np.concatenate([np.flatnonzero(there) for _, there in ways])
        cut = np.concatenate([way[there] for way, there in ways])
        order = np.argsort(of, kind="stable")
        return cls(of=of[order], size=cut[order, ::2], number=cut[order, 1::2])


def add_sites(
    assembly: Assembly,
    options: Options,
    column: Int64[IntArray, " options"],
    zones: tuple[Zone, ...],
    largest: Int64[IntArray, " zones"],
    *,
    few_cuts: bool,
) -> Sites:
    """Each option of one rack is in a rack that has room for it.

    A column for each option and rack, rather than for each job and rack, leaves a linear relaxation
    little to split: with one column for all sizes of a job, a rack with room for four GPUs gave a
    third of it to a job of twelve. With ``few_cuts`` a column for each of a few ways to cut the
    option up: no longer all of them, but then a site needs no rows and columns for its pieces.
    """
    kind, room = (np.array([getattr(zone, name) for zone in zones]) for name in ("kind", "room"))
    in_one = np.flatnonzero(options.level == Level.RACK)
    fits = (options.gpus[in_one, None] <= room) & (largest > 0)
    option, zone = np.nonzero(fits & (options.kind[in_one, None] == kind))
    cuts = None
    if few_cuts:
        cuts = Cuts.few(options.gpus[in_one[option]], largest[zone])
        option, zone = option[cuts.of], zone[cuts.of]
    there = assembly.add_columns(np.zeros(len(option)), upper=1.0)
    rows = assembly.add_rows(len(in_one), lower=0.0, upper=0.0)
    assembly.add_entries(rows[option], there)
    assembly.add_entries(rows, column[in_one], -1.0)
    return Sites(option=in_one[option], zone=zone, column=there, cuts=cuts)
