"""Pollux: co-adaptive scheduling by goodput (OSDI'21), solved exactly instead of searched."""

from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from headway.core.errors import InvalidInputError
from headway.core.model.speedup import fair_gpus
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.limits import (
    LEAST_QUANTUM,
    MOST_S,
    caps,
    check_range,
    check_ranges,
    realloc_factor,
    restart_delays_s,
    urgency,
)
from headway.core.policy.plans import Plans
from headway.core.policy.shares import job_weights, parse_tenants, power_sum_factors
from headway.core.policy.speedups import Speedups
from headway.core.policy.tables import Goodputs, Places
from headway.core.predict.kinds import Kinds
from headway.core.solve.genetic import Found, search
from headway.core.solve.pinned import EXACT_UP_TO_GPUS, Plan, solve
from headway.core.solve.problem import Problem
from headway.core.types import (
    Decision,
    Float64,
    FloatArray,
    Snapshot,
)

RANGES = {  # of the settings that have one; a power of 1e9 left jobs without GPUs for ever
    "p": (-20.0, 20.0),
    "eps": (1e-9, 1.0),
    "margin": (0.0, 1.0),
    "spread": (0.0, 1.0),
    "rel_gap": (0.0, 1.0),
    "exact_up_to_gpus": (0, 1 << 20),
    "population": (2, 10_000),
    "generations": (0, 100_000),
}
SEARCHES = ("exact", "genetic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What one decision leaves to the next."""

    goodputs: Goodputs = field(default_factory=Goodputs)
    plans: Plans = field(default_factory=Plans)  # that a search goes on from
    kinds: Kinds = field(default_factory=Kinds)


@final
@dataclass(frozen=True)
class Pollux:
    """Maximise FITNESS_p, the power mean of the jobs' speedups (Eqn. 14), over all placements.

    FITNESS_p is monotone in a sum over jobs, so the policy is a table of costs: (s + eps)^p for
    p < 0, -log(s + eps) for p = 0, -s^p for p > 0. A running job's speedup s is multiplied by
    REALLOC_FACTOR for whatever differs from exactly what it holds.

    That factor nears 1 for an old job, which then moves for next to nothing; ``margin`` damps this
    without hindering growth. On the five published workloads 0.1 / 0.15 give 2,735 / 2,729 s
    average JCT and 2,706 / 2,598 restarts.

    What was never tried on several nodes is assumed to be as fast there as on one, and the search
    would take either; ``spread`` breaks such ties for one node. With agents that are optimistic
    0 / 0.03 / 0.05 give 2,814 / 2,807 / 2,803 s.

    To the power mean who waits is all one, so without more the same jobs may wait for ever. Hence
    those of equal weight take turns (``urgency``); for p > 0, where to let a job wait costs
    nothing, they do not. 160 jobs on 16 GPUs: average JCT 14,109 s and rho up to 46 without, 12,859
    s and 3.6 with (docs/design/0022).
    """

    p: float = -1.0
    eps: float = 1e-3  # the speedup of a job without GPUs, for p <= 0
    margin: float = 0.15  # share of its speedup that a job moved or shrunk, not grown, is denied
    spread: float = 0.05  # share of its speedup that a new placement on several nodes is denied
    turn_gpu_s: float = 300.0  # until a job yields to one that waits; 0: never, as in the paper
    fair_on_one_node: bool = True  # as the published code; else on as few nodes as it needs
    rel_gap: float = 1e-4
    exact_up_to_gpus: int = EXACT_UP_TO_GPUS
    tenants: str = ""  # weights, as in vision:2,speech:1; none: each job counts by its own weight
    kinds: bool = True  # jobs start at the sizes that their kind has shown; not the paper's
    avoid_interference: bool = True  # at most one job that spans several nodes on a node
    search: str = "exact"  # or genetic: the paper's search, for comparison; it proves no gap
    population: int = 100  # of that search
    generations: int = 100

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a setting beyond which the arithmetic means nothing."""
        check_ranges(self, "pollux", RANGES)
        check_range("pollux.turn_gpu_s", self.turn_gpu_s, LEAST_QUANTUM, MOST_S, off=True)
        if self.search not in SEARCHES:
            raise InvalidInputError(
                f"pollux.search must be {' or '.join(SEARCHES)}, not {self.search!r}"
            )
        parse_tenants(self.tenants)

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits(adapts_batch_size=True, resizes=True, reads_reports=True)

    def start(self) -> Past:
        """Nothing computed yet."""
        return Past()

    def decide(
        self, snapshot: Snapshot, memory: Past, rng: np.random.Generator
    ) -> tuple[Decision, Past]:
        """Sizes and places of all jobs at once, with the gap to the best possible."""
        kinds, lent = memory.kinds.learned(snapshot) if self.kinds else (memory.kinds, snapshot)
        grid = Grid.of(lent, at_requested_size=False)
        if not grid.jobs:
            return grid.decision(grid.held, gap=0.0), Past(kinds=kinds)
        total = int(grid.capacity.sum())
        fair = np.array([fair_gpus(job.spec.gpus, total, len(grid.jobs)) for job in grid.jobs])
        cap, held = caps(grid.jobs), grid.held.sum(axis=1)
        most = np.minimum(np.maximum(np.maximum(cap, held), fair), total)
        places = Places.of(grid.types, has_racks=grid.has_racks)
        share = fair if self.fair_on_one_node else None
        goodputs = memory.goodputs.updated(grid.jobs, places=places, most=most, fair=share)
        speedups = Speedups.of_goodput(
            grid, goodputs.arrays(grid.jobs, most), fair, cap, one_node=self.fair_on_one_node
        )
        factor = realloc_factor(
            [job.age_s(snapshot.now_s) for job in grid.jobs],
            [job.restarts for job in grid.jobs],
            restart_delays_s(grid.jobs),
        )
        factor = np.where(grid.running, factor, 1.0)
        weight = job_weights(grid.jobs, parse_tenants(self.tenants))
        terms = power_sum_factors(weight, self.p)
        problem = self._problem(grid, speedups, factor, terms)
        plan, plans, urgent = self._taking_turns(grid, problem, memory.plans, rng)
        # Without a plan (present holdings that no longer fit together) nobody is touched.
        alloc = grid.held if plan.alloc is None else plan.alloc
        kept = (alloc == grid.held).all(axis=1)
        after = np.where(kept, speedups.keep, speedups.of(alloc))
        decision = grid.decision(
            alloc,
            numbers={
                "speedup_before": speedups.keep,
                "speedup_after": after,
                "realloc_factor": factor,
                **({"weight": weight} if (weight != 1.0).any() else {}),
                **({} if urgent is None else {"urgency": urgent}),
            },
            objective=self._fitness(np.where(kept, after, after * factor), terms),
            gap=plan.gap if np.isfinite(plan.gap) and plan.alloc is not None else None,
            solver=plan.counts(),
        )
        return decision, Past(goodputs=goodputs, plans=plans, kinds=kinds)

    def _taking_turns(
        self, grid: Grid, problem: Problem, plans: Plans, rng: np.random.Generator
    ) -> tuple[Plan | Found, Plans, Float64[FloatArray, " jobs"] | None]:
        """The placement, what goes on from it, and how urgent jobs are where somebody waits."""
        never = self.turn_gpu_s == 0 or not problem.cost_none.any()  # for p > 0 waiting is free
        if never or grid.needs_gpus <= int(grid.capacity.sum()):  # as a rule there is room for all
            found, plans = self._searched(grid, problem, plans, rng)
            if never or found.alloc is None or found.alloc.any(axis=1).all():
                return found, plans, None
        urgent = urgency([job.attained_gpu_s for job in grid.jobs], self.turn_gpu_s)
        by_turns = replace(problem, cost_none=problem.cost_none * urgent)
        return *self._searched(grid, by_turns, plans, rng), urgent

    def _searched(
        self, grid: Grid, problem: Problem, plans: Plans, rng: np.random.Generator
    ) -> tuple[Plan | Found, Plans]:
        """The placement, and what the next search goes on from."""
        if self.search == "exact":
            limit = self.exact_up_to_gpus
            return solve(problem, rel_gap=self.rel_gap, exact_up_to_gpus=limit), plans
        found = search(
            problem,
            plans.on(grid),
            rng,
            population=self.population,
            generations=self.generations,
        )
        return found, Plans.of(grid, found.plans)

    def _problem(
        self,
        grid: Grid,
        speedups: Speedups,
        factor: Float64[FloatArray, " jobs"],
        terms: Float64[FloatArray, " jobs"],
    ) -> Problem:
        """Costs of everything each job may do."""
        each, moves = terms[:, None, None], factor[:, None, None]

        def moved(speedup: Float64[FloatArray, "jobs kinds sizes"]) -> FloatArray:
            grows = speedups.grows(speedup.shape[2])
            counted = speedup * moves * np.where(grows, 1.0, 1.0 - self.margin)
            return np.asarray(each * self._cost(counted))

        return speedups.problem(
            none=terms * self._cost(np.zeros(len(grid.jobs))),
            moved=moved,
            keep=terms * self._cost(speedups.keep),
            spread=self.spread,
            share_spanning=not self.avoid_interference,
        )

    def _cost(self, speedup: FloatArray) -> FloatArray:
        """A job's share of the sum that is minimised in place of FITNESS_p."""
        if self.p > 0:
            return np.asarray(-(speedup**self.p))
        if self.p == 0:
            return np.asarray(-np.log(speedup + self.eps))
        return np.asarray((speedup + self.eps) ** self.p)

    def _fitness(
        self, speedup: Float64[FloatArray, " jobs"], terms: Float64[FloatArray, " jobs"]
    ) -> float:
        """FITNESS_p (Eqn. 14) with weights; for p = 0 the geometric mean."""
        mean = float((terms * np.abs(self._cost(speedup))).mean()) if self.p else 0.0
        if self.p == 0:
            return float(np.exp((terms * np.log(speedup + self.eps)).mean()))
        return mean ** (1 / self.p) if mean else 0.0
