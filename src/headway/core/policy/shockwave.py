"""Shockwave: a window of rounds planned by generalised Nash welfare over time (NSDI'23)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from headway.core.ids import JobId
from headway.core.policy.admission import requested_gpus
from headway.core.policy.base import Traits
from headway.core.policy.fairness import Crowd, budgets
from headway.core.policy.grid import Grid
from headway.core.policy.limits import check_ranges, restart_delays_s
from headway.core.policy.remaining import Ahead, ahead
from headway.core.policy.seating import seat
from headway.core.policy.shares import job_weights, parse_tenants
from headway.core.predict.foresight import Foresight
from headway.core.solve.planning import plan
from headway.core.solve.window import Window
from headway.core.types import (
    BoolArray,
    Decision,
    Float64,
    FloatArray,
    Int64,
    IntArray,
    Snapshot,
)

LEAST_UTILITY = 1e-6  # share of work done at which the logarithm is cut off
ORDER_MAY_COST = 0.1  # of the objective; only the first rounds of a plan are carried out
RANGES = {
    "k": (0.0, 20.0),
    "lam": (0.0, 1e6),
    "window_rounds": (1, 1_000),
    "resolve_rounds": (1, 1_000),
    "least_budget": (1e-9, 1.0),
    "most_budget": (1.0, 1e12),
    "finish": (0.0, 10.0),
    "tail": (0.1, 10.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What is remembered: the rounds that are still to come, and what the plan was made from."""

    rounds: Mapping[JobId, tuple[bool, ...]] = field(default_factory=dict)
    news: tuple[int, int, int] | None = None  # arrivals, departures, changes; None: no plan
    used: int = 0  # rounds of it that are over
    objective: float | None = None
    gap: float | None = None
    crowd: Crowd = field(default_factory=Crowd)
    foresight: Foresight = field(default_factory=Foresight)


@final
@dataclass(frozen=True)
class Shockwave:
    """Maximise sum_j rho_hat_j^k log UTIL_j / (N M) - lambda H / Z0 over a window (Eq. 2).

    UTIL_j is the share of the job's work that is done when the window ends, by regimes; H the least
    makespan that is possible then, Z0 the same if nobody ran. The plan is made anew when jobs
    or nodes come or go, a batch size changes, or after ``resolve_rounds``. A job that waits loses
    its restart delay in the first round that it would run. Budgets are scaled to a mean of 1.

    Only how many rounds a job runs matters for the objective, and of a plan that is soon made anew
    only the first rounds are carried out: so in them who has most budget for the work left goes
    first (Smith's rule). GPUs that idle go to whoever fits, by budget.

    Two things are not the paper's. ``finish``: a budget grows as exclusive over remaining time to
    this power, since a logarithm of progress alone gives a job that is nearly done hardly anything,
    and it would wait with seconds to go (the published code has rho^100 for that). ``tail``: in H
    the longest job counts for more than the mean load, for forecasts err and a long job cannot be
    hurried later.

    ``lam`` is greater than the paper's usual 1e-3, which does next to nothing before H / Z0, and
    less than in the published code, which has it before an H in seconds, where that term comes
    first. Coming first is dear where a wide job is much longer than the load: on Pollux's
    workload-6 3 / 0.3 / 0.03 / 0 give 8,758 / 6,752 / 3,551 / 3,371 s average JCT at makespans
    within 5 %, and on Shockwave's traces 0.03 and 3 the same (docs/design/0015).
    """

    k: float = 5.0  # power of rho_hat: what being late is worth
    lam: float = 0.03  # lambda: what a makespan shorter by H is worth
    window_rounds: int = 20
    resolve_rounds: int = 20
    least_budget: float = 1.0
    most_budget: float = 1e3
    finish: float = 1.5  # power of exclusive over remaining time in a budget
    tail: float = 1.2  # what the longest job counts for in H, against the mean load
    relaunch: bool = True  # price the restart of a job that waits
    tenants: str = ""  # budgets, as in vision:2,speech:1; none: each job counts by its own weight

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a setting beyond which the arithmetic means nothing."""
        check_ranges(self, "shockwave", RANGES)

        parse_tenants(self.tenants)

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits(reads_reports=True, horizon_rounds=self.window_rounds)

    def start(self) -> Planned:
        """No plan."""
        return Planned()

    def decide(
        self, snapshot: Snapshot, memory: Planned, rng: np.random.Generator
    ) -> tuple[Decision, Planned]:
        """The next round of the plan, or the first of a new one."""
        grid = Grid.of(snapshot, at_requested_size=True)
        if not grid.jobs:
            return grid.decision(grid.held), Planned()
        foresight = memory.foresight.updated(grid.jobs)
        crowd = memory.crowd.grown(snapshot, grid.jobs)
        forecast = ahead(grid.jobs, foresight, grid.largest)
        rho_hat = crowd.rho_hat(grid.jobs, forecast)
        budget = self._budgets(grid, forecast, rho_hat, snapshot.round_s)
        need = requested_gpus(grid)
        news = (snapshot.arrivals, snapshot.departures, snapshot.changes)
        if memory.news != news or memory.used >= min(self.window_rounds, self.resolve_rounds):
            memory = self._planned(grid, forecast, budget, snapshot.round_s)
        now, rounds = _now(grid, memory)
        alloc = seat(grid, _order(grid, now, budget, forecast), need)
        # the plan does not know single nodes: where one has too little, nothing is proven
        as_planned = not grid.beside or bool(alloc[now].any(axis=1).all())
        decision = grid.decision(
            alloc,
            numbers={
                "rho_hat": rho_hat,
                "budget": budget,
                "remaining_s": forecast.left_s,
                "planned_rounds": rounds,
            },
            objective=memory.objective,
            gap=memory.gap if as_planned else None,
        )
        later = replace(memory, news=news, used=memory.used + 1, crowd=crowd, foresight=foresight)
        return decision, later

    def _budgets(
        self, grid: Grid, forecast: Ahead, rho_hat: FloatArray, round_s: float
    ) -> Float64[FloatArray, " jobs"]:
        """rho_hat^k within bounds, more for who is nearly done, times the owner's weight."""
        nearness = forecast.exclusive_s / np.maximum(forecast.left_s, round_s / 2)
        weight = job_weights(grid.jobs, parse_tenants(self.tenants))
        return budgets(
            rho_hat,
            power=self.k,
            least=self.least_budget,
            most=self.most_budget,
            weight=weight * np.maximum(nearness, 1.0) ** self.finish,
        )

    def _planned(self, grid: Grid, forecast: Ahead, budget: FloatArray, round_s: float) -> Planned:
        """A new plan; who may not be preempted runs in all of it, and is left out of the sum."""
        need = requested_gpus(grid)
        room = int(grid.capacity.sum() - need[grid.pinned].sum())
        others = need[:, None] * grid.beside.each
        rooms = grid.beside.room.sum(axis=0) - others[grid.pinned].sum(axis=0)
        rows = np.flatnonzero(~grid.pinned & (need <= room) & (others <= rooms).all(axis=1))
        if not len(rows):
            return Planned(gap=0.0)
        scarce = others[rows].sum(axis=0) > rooms  # of the rest there is enough for all at once
        window = self._window(grid, forecast, budget, rows, (room, round_s))
        window = replace(window, others=others[rows][:, scarce], rooms=rooms[scarce])
        rank = _rank(budget, need, forecast)[rows]
        made = plan(window, grid.running[rows], rank, order_may_cost=ORDER_MAY_COST)
        rounds = {
            grid.jobs[row].spec.job_id: tuple(runs)
            for row, runs in zip(rows.tolist(), made.runs.tolist(), strict=True)
        }
        return Planned(rounds=rounds, objective=made.objective, gap=made.gap)

    def _window(
        self,
        grid: Grid,
        forecast: Ahead,
        budget: FloatArray,
        rows: Int64[IntArray, " rows"],
        room: tuple[int, float],
    ) -> Window:
        gpus, round_s = room
        delay_s = restart_delays_s(grid.jobs)[rows] * (self.relaunch & ~grid.running[rows])
        ran_s = np.arange(self.window_rounds + 1) * round_s - delay_s[:, None]
        left_s = forecast.left_s[rows, None]
        ran_s = np.clip(ran_s, 0.0, left_s)
        value = np.log(np.maximum(_utility(forecast, rows, ran_s), LEAST_UTILITY))
        left_s = left_s - ran_s
        width = requested_gpus(grid)[rows]
        idle_s = max(
            self.tail * float(left_s[:, 0].max()), float(width @ left_s[:, 0]) / gpus
        )  # Z0
        share = budget[rows, None] / budget[rows].mean()
        return Window(
            value=share * value / (len(rows) * gpus),
            left=left_s,
            width=width,
            capacity=gpus,
            price=self.lam / idle_s,
            tail=self.tail,
        )


def _utility(
    forecast: Ahead, rows: Int64[IntArray, " rows"], ran_s: Float64[FloatArray, "rows counts"]
) -> Float64[FloatArray, "rows counts"]:
    """Share of the work that is done after running so long, regime by regime."""
    share, regime_s = forecast.share[rows], forecast.regime_s[rows]
    done = np.repeat(1.0 - share.sum(axis=1, keepdims=True), ran_s.shape[1], axis=1)
    begins_s = np.cumsum(regime_s, axis=1) - regime_s
    for regime in np.flatnonzero((regime_s > 0).any(axis=0)).tolist():
        length_s = np.maximum(regime_s[:, [regime]], 1e-12)
        done += share[:, [regime]] * np.clip((ran_s - begins_s[:, [regime]]) / length_s, 0.0, 1.0)
    return done


def _rank(budget: FloatArray, need: IntArray, forecast: Ahead) -> Float64[FloatArray, " jobs"]:
    """Smith's rule: budget for each GPU-second that is left."""
    return np.asarray(budget / (need * forecast.left_s))


def _now(grid: Grid, memory: Planned) -> tuple[BoolArray, Float64[FloatArray, " jobs"]]:
    """Who is to run in this round, and in how many of those to come."""
    ahead_of = [memory.rounds.get(job.spec.job_id, ())[memory.used :] for job in grid.jobs]
    now = np.array([bool(runs) and runs[0] for runs in ahead_of], dtype=np.bool_)
    return now, np.array([float(sum(runs)) for runs in ahead_of])


def _order(grid: Grid, now: BoolArray, budget: FloatArray, forecast: Ahead) -> list[int]:
    """Who may not be preempted, who is planned for now, and who fills what idles: by budget."""
    need = requested_gpus(grid)
    planned = np.where(now, -_rank(budget, need, forecast), -budget)
    order = np.lexsort((np.arange(len(need)), ~grid.running, planned, ~now, ~grid.pinned))
    return [int(row) for row in order]
