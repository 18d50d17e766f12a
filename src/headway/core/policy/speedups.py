"""Speedups (Pollux, Eqn. 15) of everything that each job may hold, by GPU type and locality."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headway.core.policy.grid import Grid
from headway.core.policy.limits import allowed_sizes
from headway.core.policy.tables import Places, Tables, as_on_one_node
from headway.core.solve.problem import Problem
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Speedups:
    """Goodput over that of a fair share (Pollux, Eqn. 15); 0 where not allowed."""

    grid: Grid
    new: Tables  # of new placements
    keep: Float64[FloatArray, " jobs"]  # of the present placement; 0 for a job that waits

    @classmethod
    def of_goodput(
        cls,
        grid: Grid,
        goodput_per_s: Tables,
        fair: Int64[IntArray, " jobs"],
        cap: Int64[IntArray, " jobs"],
        *,
        one_node: bool,
    ) -> "Speedups":
        """Against a whole number of GPUs."""
        fair_per_s = fair_goodput(grid, goodput_per_s, fair, one_node=one_node)
        return cls.over(grid, goodput_per_s, fair_per_s, cap)

    @classmethod
    def over(
        cls,
        grid: Grid,
        goodput_per_s: Tables,
        fair_per_s: Float64[FloatArray, " jobs"],
        cap: Int64[IntArray, " jobs"],
    ) -> "Speedups":
        """At the sizes that owner and cap allow, and at what each job holds."""
        tables = goodput_per_s
        may = allowed_sizes(grid.jobs, tables.several.shape[2] - 1)
        may &= np.arange(tables.several.shape[2]) <= cap[:, None]

        def over(table: FloatArray) -> FloatArray:
            allowed = np.zeros((len(may), table.shape[2]), dtype=np.bool_)
            width = min(may.shape[1], table.shape[2])
            allowed[:, :width] = may[:, :width]
            return _over(np.where(allowed[:, None], table, 0.0), fair_per_s[:, None, None])

        held = tables.at(grid.held.sum(axis=1), grid.held_kind, grid.locality_of(grid.held))
        return cls(
            grid=grid,
            new=Tables(
                local=over(tables.local),
                rack=None if tables.rack is None else over(tables.rack),
                several=over(tables.several),
            ),
            keep=_over(held, fair_per_s),
        )

    def of(self, alloc: Int64[IntArray, "jobs nodes"]) -> Float64[FloatArray, " jobs"]:
        """The speedup of each job's row as a new placement."""
        grid = self.grid
        return self.new.at(alloc.sum(axis=1), grid.kind_of(alloc), grid.locality_of(alloc))

    def problem(
        self,
        *,
        none: Float64[FloatArray, " jobs"],
        moved: Callable[[FloatArray], FloatArray],
        keep: Float64[FloatArray, " jobs"],
        spread: float,
        share_spanning: bool,
    ) -> Problem:
        """Costs of everything each job may do; a pinned one may only stay.

        ``moved`` gives those of a table of new placements. A placement on several nodes is denied
        the share ``spread`` of its speedup, one on several racks the same again.
        """
        grid, new, near = self.grid, self.new, 1.0 - spread
        far = near if new.rack is None else near * near  # several racks are further than one

        def costs(speedup: Float64[FloatArray, "jobs kinds sizes"]) -> FloatArray:
            allowed = (speedup > 0) & ~grid.pinned[:, None, None]
            return np.where(allowed, moved(speedup), np.inf)

        return Problem(
            capacity=grid.capacity,
            held=grid.held,
            kind=grid.kind,
            rack=grid.rack,
            cost_none=np.where(grid.pinned, np.inf, none),
            cost_local=costs(new.local),
            cost_rack=None if new.rack is None else costs(new.rack * near),
            cost_several=costs(new.several * far),
            cost_keep=np.where(grid.running, keep, np.inf),
            share_spanning=share_spanning,
            beside=grid.beside,
        )

    def grows(self, sizes: int) -> BoolArray:
        """Which sizes on which types are more of what a job holds; all, for one that waits."""
        grid = self.grid
        same = np.arange(len(grid.types)) == grid.held_kind[:, None]
        more = np.arange(sizes) > grid.held.sum(axis=1)[:, None]
        return np.asarray((same | ~grid.running[:, None])[:, :, None] & more[:, None])


def fair_goodput(
    grid: Grid, goodput_per_s: Tables, fair: Int64[IntArray, " jobs"], *, one_node: bool
) -> Float64[FloatArray, " jobs"]:
    """Goodput of a fair share: the mean over the GPU types, weighted by their GPUs.

    A share of a mixed cluster is the same share of each type, so the speedups of jobs that are
    spread evenly over it are 1 on average. ``one_node``: as on one node that is wide enough, so
    that what is fair does not depend on how the cluster is cut into nodes.
    """
    beyond = goodput_per_s.several if goodput_per_s.rack is None else goodput_per_s.rack
    total = sum(one.gpus for one in grid.types)
    found = np.zeros(len(fair))
    for kind, one in enumerate(grid.types):
        local = goodput_per_s.local[:, kind, : one.largest + 1]
        at_fair = _on_one_type(local, beyond[:, kind], fair)
        if one_node and (fair > one.largest).any():
            whole = _whole(grid, goodput_per_s, kind, fair)
            at_fair = np.where((fair > one.largest) & (whole > 0), whole, at_fair)
        found += one.gpus / total * at_fair
    return found


def _whole(
    grid: Grid, tables: Tables, kind: int, fair: Int64[IntArray, " jobs"]
) -> Float64[FloatArray, " jobs"]:
    """Goodput of the fair share as on one node: what the tables remember of it, or computed."""
    if tables.share is not None:
        return tables.share[:, kind]
    places = Places.of(grid.types, has_racks=grid.has_racks)
    return as_on_one_node(grid.jobs, places, kind, fair)


def _on_one_type(
    local: Float64[FloatArray, "jobs sizes"],
    several: Float64[FloatArray, "jobs counts"],
    fair: Int64[IntArray, " jobs"],
) -> Float64[FloatArray, " jobs"]:
    """Goodput of the fair share on as few nodes as it needs.

    Where the batch cannot be split so: the best on no more GPUs, or if there is none, on any.
    """
    job, one_node = np.arange(len(fair)), fair < local.shape[1]
    at_fair = np.where(
        one_node, local[job, np.where(one_node, fair, 0)], several[job, np.where(one_node, 0, fair)]
    )
    both = np.hstack([local, several])
    gpus = np.concatenate([np.arange(local.shape[1]), np.arange(several.shape[1])])
    no_more = np.where(gpus <= fair[:, None], both, 0.0).max(axis=1)
    return np.where(at_fair > 0, at_fair, np.where(no_more > 0, no_more, both.max(axis=1)))


def _over(value: FloatArray, reference: FloatArray) -> FloatArray:
    return np.divide(value, reference, out=np.zeros_like(value), where=reference > 0)
