"""Headway: a market over worker counts: Pollux's goodput, and Shockwave's promise to each job."""

from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np

from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.limits import ASSUMED_RESTART_S, check_ranges, restart_delays_s
from headway.core.policy.market import Market
from headway.core.policy.promise import Promise
from headway.core.policy.shares import job_weights, parse_tenants
from headway.core.policy.speedups import Speedups
from headway.core.predict.trust import USUAL, Trust
from headway.core.solve.pinned import EXACT_UP_TO_GPUS, solve
from headway.core.solve.problem import Problem
from headway.core.types import Decision, Float64, FloatArray, Snapshot

LOOKAHEAD_DELAYS = 4.0  # a decision lasts at least so many of the delays that it may cost
RANGES = {
    "q": (1.0, 20.0),
    "b": (0.0, 2.0),
    "near": (0.0, 2.0),
    "near_calm": (0.0, 2.0),
    "makespan": (0.0, 100.0),
    "lookahead_s": (1.0, 1e6),
    "most_lookahead_s": (1.0, 1e6),
    "calm": (0.0, 10.0),
    "delays": (0.0, 100.0),
    "spread": (0.0, 1.0),
    "doubt": (0.0, 2.0),
    "usual_s": (1.0, 1e9),
    "rel_gap": (0.0, 1.0),
    "exact_up_to_gpus": (0, 1 << 20),
}


@final
@dataclass(frozen=True)
class Headway:
    """Minimise sum_j E_j^b (T_j / E_j)^q (E_j / R_j)^near (1 + makespan g_j), each round anew.

    E_j is the age at which job j would end in the egalitarian cluster, by a virtual clock that
    runs from its submission; T_j the age at which it is to end with what it is given: that goodput
    for a look-ahead, less the restart that it costs, and its share from then on. Any job without
    GPUs is a look-ahead late, so nobody starves, and nothing else is needed where jobs outnumber
    GPUs. Who is behind its clock weighs rho^(q - 1), as by Shockwave's budgets with k = q - 1; b
    sets what the time of long jobs counts against that of short ones: 0 counts all slowdowns
    alike, 1 all seconds. Where jobs need more GPUs than there are, each the least that it runs on,
    b is divided by how many times as many: there long jobs wait for many short ones at little
    loss. R_j is what is left at its share: there to let one go that is nearly done makes all others
    wait the least (Smith 1956). ``near`` counts by the share of the GPUs needed that are not there.
    Where all can run, that makes long jobs end later than they must; but once none comes or ends
    for long, all that are left are long, and T^2 alone would have them end all at once
    (``near_calm``). g_j is how many GPUs it has on average until its end over its share of now: a
    second that it is spared now is as many GPU-seconds of the cluster's end (``makespan``;
    Promise.cost).

    A job that runs again what others of its kind have run starts at the sizes that they have
    shown (``predict.kinds``). Remaining work is what a job declares, by the forecast of its regimes
    or of its noise scale; one that goes beyond it is trusted less, and so are its like.
    """

    q: float = 2.0
    b: float = 0.9
    near: float = 0.75  # power of E over what is left, where more GPUs are needed than there
    near_calm: float = 0.35  # the same where none has come or ended for long
    makespan: float = 0.35  # what a percent of it counts over one of the average completion time
    lookahead_s: float = 600.0
    most_lookahead_s: float = 3_600.0
    calm: float = 0.5  # look-ahead over the time since a job last came or ended
    delays: float = 2.0  # restart delays that a move must be worth
    spread: float = 0.05  # share of its goodput that a new placement on several nodes is denied
    doubt: float = USUAL  # standard deviation of log(true / declared work) until it is seen
    usual_s: float = 14_400.0  # time over which the usual number of jobs is taken
    rel_gap: float = 1e-4
    exact_up_to_gpus: int = EXACT_UP_TO_GPUS
    tenants: str = ""  # weights, as in vision:2,speech:1; none: each job counts by its own weight
    avoid_interference: bool = True  # at most one job that spans several nodes on a node

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a setting beyond which the arithmetic means nothing."""
        check_ranges(self, "headway", RANGES)
        parse_tenants(self.tenants)

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits(adapts_batch_size=True, resizes=True, reads_reports=True)

    def start(self) -> Market:
        """Nothing seen yet."""
        return Market(trust=Trust(usual=self.doubt))

    def decide(
        self, snapshot: Snapshot, memory: Market, rng: np.random.Generator
    ) -> tuple[Decision, Market]:
        """Sizes and places of all jobs at once, with the gap to the best possible."""
        kinds, lent = memory.kinds.learned(snapshot)
        grid = Grid.of(lent, at_requested_size=False)
        memory = replace(memory, kinds=kinds).seen(snapshot, grid.jobs, self.usual_s)
        if not grid.jobs:
            return grid.decision(grid.held, gap=0.0), memory.idle(snapshot.now_s)
        weight = job_weights(grid.jobs, parse_tenants(self.tenants))
        # with 30 s in rounds of 5 s no short job was ever moved, so that nobody learned better
        assumed_s = min(ASSUMED_RESTART_S, snapshot.round_s / 2)
        delay_s = self.delays * restart_delays_s(grid.jobs, assumed_s=assumed_s)
        calm_s = min(self.calm * (snapshot.now_s - memory.news_s), self.most_lookahead_s)
        least_s = np.maximum(self.lookahead_s, LOOKAHEAD_DELAYS * delay_s)
        lookahead_s = np.maximum(least_s, calm_s)
        promise, paces, memory = memory.promised(grid, weight, snapshot.now_s, lookahead_s)
        promise = promise.to_the_next_end(paces.keep, least_s)
        problem = self._problem(grid, promise, paces, delay_s, calm_s / self.most_lookahead_s)
        plan = solve(problem, rel_gap=self.rel_gap, exact_up_to_gpus=self.exact_up_to_gpus)
        # Without a plan (present holdings that no longer fit together) nobody is touched.
        alloc = grid.held if plan.alloc is None else plan.alloc
        decision = grid.decision(
            alloc,
            numbers=_numbers(promise, weight),
            objective=plan.objective if plan.alloc is not None else None,
            gap=plan.gap if np.isfinite(plan.gap) and plan.alloc is not None else None,
            solver=plan.counts(),
        )
        return decision, memory

    def _problem(
        self,
        grid: Grid,
        promise: Promise,
        paces: Speedups,
        delay_s: Float64[FloatArray, " jobs"],
        calm: float,
    ) -> Problem:
        """Costs of everything each job may do; a pinned one may only stay."""
        crowd = max(grid.needs_gpus / int(grid.capacity.sum()), 1.0)
        near = max(self.near * (1.0 - 1.0 / crowd), self.near_calm * calm)
        of = partial(promise.cost, b=self.b / crowd, q=self.q, near=near, makespan=self.makespan)

        def cost(pace: FloatArray, delay_s: Float64[FloatArray, " jobs"] | float) -> FloatArray:
            return of(promise.finish_s(pace, delay_s))

        stopped_s = promise.finish_s(np.zeros(len(grid.jobs)))
        stopped_s = stopped_s + np.where(grid.running, delay_s, 0.0)
        return paces.problem(
            none=of(stopped_s),
            moved=lambda pace: cost(pace, delay_s),
            keep=cost(paces.keep, 0.0),
            spread=self.spread,
            share_spanning=not self.avoid_interference,
        )


def _numbers(
    promise: Promise, weight: Float64[FloatArray, " jobs"]
) -> dict[str, Float64[FloatArray, " jobs"]]:
    """What each job is promised, in figures of a reason; times are ages."""
    numbers = {
        "rho_hat": promise.rho_hat,
        "egalitarian_s": promise.egalitarian_s,
        "finish_s": promise.age_s + promise.left_s,
        "finish_error_s": promise.error * promise.left_s,
    }
    if not promise.known.all():
        numbers["guess"] = np.where(promise.known, 0.0, 1.0)
    return numbers | ({"weight": weight} if (weight != 1.0).any() else {})
