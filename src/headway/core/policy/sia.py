"""Sia: a program over configurations by goodput (SOSP'23), and places afterwards."""

from dataclasses import dataclass
from typing import TypeVar, final

import numpy as np

from headway.core.policy.base import Traits
from headway.core.policy.configurations import Offer, possible, refilled
from headway.core.policy.grid import Grid
from headway.core.policy.limits import (
    allowed_sizes,
    caps,
    check_ranges,
    realloc_factor,
    restart_delays_s,
)
from headway.core.policy.tables import Goodputs, Places, Tables
from headway.core.solve.outcome import relative_gap
from headway.core.solve.slots import Bins, Options, Shapes, arrange, choose
from headway.core.types import (
    Decision,
    Float64,
    FloatArray,
    Int64,
    IntArray,
    Locality,
    Snapshot,
)

Array = TypeVar("Array", FloatArray, IntArray)
# Of the settings. A penalty below what one GPU costs would leave new jobs waiting for ever.
RANGES = {"p": (-10.0, 2.0), "lam": (1.01, 1e3), "stay": (0.0, 1.0), "rel_gap": (0.0, 1.0)}


@final
@dataclass(frozen=True)
class Sia:
    """Minimise the sum over jobs of G^p, or ``lam`` for a job without GPUs (Sia, section 3.4).

    G is the goodput of a configuration over the job's least, times the GPUs of its smallest
    configuration; for p > 0 the sum of G^p is maximised and ``lam`` lost, for p = 0 that of log G.
    For whatever a running job does not hold yet G is multiplied by its restart factor.

    The program counts; nodes are found afterwards, and who stands in the way of a larger job is
    moved within its configuration, which the program did not price. As in the paper a job starts
    at its smallest configuration and at most doubles the most it ever held. A job that no
    configuration of the cluster has room for, though the cluster has as many GPUs, waits.

    The paper's ``lam`` = 1.1 is hardly more than one GPU's cost of 1: with p = -0.5 a second GPU
    for one job often is worth more than the first for another, and short jobs wait. On the
    published workload-6 1.1 / 2 give a worst rho of 23.7 / 4.6 and 2,429 / 2,405 s average JCT.
    Of ``stay`` the paper says nothing: 0 / 0.001 / 0.01 give 2,454 / 2,429 / 2,388 s and 515 / 496
    / 474 restarts.
    """

    p: float = -0.5
    lam: float = 1.1  # lambda: what a job without GPUs costs; above 1, so that each runs if it can
    stay: float = 1e-3  # of the cost of what a job holds; breaks ties between equal jobs
    rel_gap: float = 1e-4

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a setting beyond which the arithmetic means nothing."""
        check_ranges(self, "sia", RANGES)

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits(adapts_batch_size=True, resizes=True, reads_reports=True)

    def start(self) -> Goodputs:
        """Nothing computed yet."""
        return Goodputs()

    def decide(
        self, snapshot: Snapshot, memory: Goodputs, rng: np.random.Generator
    ) -> tuple[Decision, Goodputs]:
        """A configuration for each job, then its nodes."""
        grid = Grid.of(snapshot, at_requested_size=False)
        if not grid.jobs:
            return grid.decision(grid.held, gap=0.0), Goodputs()
        offer = _offer(grid, memory, snapshot.now_s)
        priced = np.where(offer.present, offer.goodput, offer.goodput * offer.factor[:, None])
        cost = self._cost(priced)
        may = (offer.goodput > 0) & ~grid.pinned[:, None]
        job, shape = np.nonzero(may & (cost < self.lam))  # to hold nothing is better than the rest
        counted = (cost - self.stay * offer.present)[job, shape]
        options = Options(item=job, shape=offer.shapes.at(shape), cost=counted)
        nothing = np.where(grid.pinned, 0.0, self.lam)
        chosen = choose(offer.bins, options, nothing, rel_gap=self.rel_gap)
        alloc, after, objective, gap = grid.held, offer.held_goodput, None, None
        if chosen.option is not None:  # else nothing was found, and nobody is touched
            taken = np.flatnonzero(chosen.option >= 0)
            shape, gap = shape[chosen.option[taken]], chosen.outcome.gap
            alloc = _placed(grid, offer, taken, shape)
            if grid.beside:
                prices = np.where(may & (cost < self.lam), cost - self.stay * offer.present, np.inf)
                alloc, taken, shape = refilled(grid, offer, prices, alloc, (taken, shape))
                value = float((prices[taken, shape] - nothing[taken]).sum() + nothing.sum())
                gap = relative_gap(value, chosen.outcome.bound)
            after = np.where(grid.pinned, offer.held_goodput, 0.0)
            after[taken] = offer.goodput[taken, shape]
            objective = float((nothing[taken] - cost[taken, shape]).sum() - nothing.sum())
        decision = grid.decision(
            alloc,
            numbers={
                "goodput_before": offer.held_goodput,
                "goodput_after": after,
                "restart_factor": offer.factor,
                "configurations": may.sum(axis=1).astype(np.float64),
            },
            objective=objective,
            gap=gap,
            solver=chosen.counts(),
        )
        return decision, offer.memory

    def _cost(self, goodput: FloatArray) -> FloatArray:
        """A job's part of the sum that is minimised; infinite where it would have no goodput."""
        if self.p > 0:
            return np.where(goodput > 0, -(goodput**self.p), np.inf)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(goodput) if self.p == 0 else goodput**self.p)


def _offer(grid: Grid, memory: Goodputs, now_s: float) -> Offer:
    everyone, of_all = np.arange(len(grid.jobs)), np.arange(len(grid.nodes))
    bins = Bins(
        kind=grid.kind,
        size=grid.capacity,
        room=grid.capacity - grid.held[grid.pinned].sum(axis=0),
        beside=grid.beside.part(everyone, of_all, np.where(grid.pinned[:, None], grid.held, 0)),
    )
    held, largest = grid.held.sum(axis=1), int(grid.capacity.max())
    # a job that fits no shape exactly takes one up to a node larger
    shapes = Shapes.of(bins, int(np.maximum(caps(grid.jobs), held).max()) + largest)
    gpus = _allowed_gpus(grid, shapes)
    most = np.maximum(gpus.max(axis=1, initial=0), held)
    memory = memory.updated(grid.jobs, places=Places.of(grid.types, has_racks=False), most=most)
    goodput, held_goodput = _normalised(grid, memory.arrays(grid.jobs, most), shapes, gpus)
    return Offer(
        bins=bins,
        shapes=shapes,
        gpus=gpus,
        goodput=goodput,
        present=(gpus > 0) & (gpus == held[:, None]) & shapes.held(bins, grid.held),
        held_goodput=held_goodput,
        factor=np.where(grid.running, _restart_factor(grid, now_s), 1.0),
        memory=memory,
    )


def _allowed_gpus(grid: Grid, shapes: Shapes) -> Int64[IntArray, "jobs shapes"]:
    """How many GPUs a job has in a configuration; 0 where owner or cap forbid it.

    If the owner allows the number of no configuration, it is the largest that he allows below: a
    job of 3 GPUs occupies 4 and leaves one idle.
    """
    total = shapes.total
    sizes = np.arange(int(total.max(initial=0)) + 1)
    allowed = allowed_sizes(grid.jobs, len(sizes) - 1)
    largest = np.maximum.accumulate(np.where(allowed, sizes, 0), axis=1)[:, total]
    exact = largest == total
    fits = np.where(exact.any(axis=1, keepdims=True), exact, largest > shapes.below())
    gpus = np.where(fits, largest, 0)
    if grid.beside:
        gpus = np.where(possible(grid, shapes), gpus, 0)
    cap = np.maximum(caps(grid.jobs), _least(gpus))
    return np.where(gpus <= cap[:, None], gpus, 0)


def _normalised(
    grid: Grid,
    goodput_per_s: Tables,
    shapes: Shapes,
    gpus: Int64[IntArray, "jobs shapes"],
) -> tuple[Float64[FloatArray, "jobs shapes"], Float64[FloatArray, " jobs"]]:
    """Goodput over the job's least, times the GPUs of its smallest configuration.

    That of every configuration and of what each job holds. Sia knows nothing of racks.
    """
    job = np.arange(len(grid.jobs))
    spans = np.broadcast_to(shapes.number > 1, gpus.shape)
    on_one = goodput_per_s.local[job[:, None], shapes.kind, np.where(spans, 0, gpus)]
    on_many = goodput_per_s.several[job[:, None], shapes.kind, np.where(spans, gpus, 0)]
    per_s = np.where(spans, on_many, on_one)
    near = np.minimum(grid.locality_of(grid.held), Locality.ONE_RACK)
    held_per_s = goodput_per_s.at(grid.held.sum(axis=1), grid.held_kind, near)
    least_gpus, least_per_s = _least(np.where(per_s > 0, gpus, 0)), _least(per_s)
    scale = np.divide(least_gpus, least_per_s, out=np.zeros(len(job)), where=least_per_s > 0)
    return per_s * scale[:, None], held_per_s * scale


def _least(table: Array) -> Array:
    """The least entry of each row above 0; 0 if there is none."""
    least = np.where(table > 0, table, np.inf).min(axis=1, initial=np.inf)
    return np.where(np.isfinite(least), least, 0).astype(table.dtype)


def _restart_factor(grid: Grid, now_s: float) -> Float64[FloatArray, " jobs"]:
    """(T - N S) / (T + S), and 1 for a job younger than one restart takes (Sia, section 3.4)."""
    age_s = np.array([job.age_s(now_s) for job in grid.jobs])
    restart_s = restart_delays_s(grid.jobs)
    factor = realloc_factor(age_s, [job.restarts for job in grid.jobs], restart_s)
    return np.where(age_s < restart_s, 1.0, factor)


def _placed(
    grid: Grid,
    offer: Offer,
    taken: Int64[IntArray, " taken"],
    shape: Int64[IntArray, " taken"],
) -> Int64[IntArray, "jobs nodes"]:
    """GPUs on nodes; who keeps its configuration stays where it is unless it is in the way."""
    options = Options(item=taken, shape=offer.shapes.at(shape), cost=np.zeros(len(taken)))
    gpus, keeps = offer.gpus[taken, shape], offer.present[taken, shape]
    before = np.zeros_like(grid.held)
    before[taken[keeps]] = (grid.held[taken[keeps]] > 0) * options.shape.unit[keeps, None]
    alloc = arrange(offer.bins, options, before)
    part = gpus < options.shape.total
    rows = taken[part]  # who leaves GPUs of what it occupies idle
    pieces = alloc[rows]
    rest = gpus[part, None] - (np.cumsum(pieces, axis=1) - pieces)
    stays = np.asarray((pieces == before[rows]).all(axis=1) & pieces.any(axis=1))
    alloc[rows] = np.where(stays[:, None], grid.held[rows], np.clip(rest, 0, pieces))
    alloc[grid.pinned] = grid.held[grid.pinned]
    return alloc
