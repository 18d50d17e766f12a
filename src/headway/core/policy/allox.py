"""AlloX: processing times matched to places in the queues of GPUs at the least sum (EuroSys'20)."""

from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import final

import numpy as np
from scipy.optimize import linear_sum_assignment

from headway.core.errors import InvalidInputError
from headway.core.policy.admission import requested_gpus
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.limits import MOST_S, check_range
from headway.core.policy.remaining import Ahead, foreseen
from headway.core.policy.seating import seat
from headway.core.policy.timeshares import Account, Accounts, decide_by_shares
from headway.core.predict.foresight import Foresight
from headway.core.types import Decision, Float64, FloatArray, Snapshot


@final
@dataclass(frozen=True)
class AlloX:
    """A job that is k-th from last on a GPU delays k jobs: cost k x processing time + age.

    The cheapest assignment of jobs to places (Hungarian algorithm) has the least average JCT. Only
    the oldest fraction ``alpha`` of those who wait takes part, so that a long job is not passed for
    ever. Nobody who runs is stopped. A job of several GPUs counts for each of them.

    With ``reset_s`` it is what the code published with Shockwave has under this name: who is first
    on a GPU gets all of the time over its width until its end, the others fill what idles, and
    places are given anew after that many seconds at the earliest.
    """

    alpha: float = 1.0
    reset_s: float = 0.0

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a fraction that is none."""
        if not 0.0 < self.alpha <= 1.0:
            raise InvalidInputError(
                f"allox.alpha must be above 0 and at most 1, not {self.alpha:g}"
            )
        check_range("allox.reset_s", self.reset_s, 0.0, MOST_S)

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits(reads_reports=True)

    def start(self) -> Foresight | Accounts:
        """Nothing seen yet."""
        return Accounts() if self.reset_s > 0 else Foresight()

    def decide(
        self, snapshot: Snapshot, memory: Foresight | Accounts, rng: np.random.Generator
    ) -> tuple[Decision, Foresight | Accounts]:
        """Who runs goes on; of the others those who are first on a GPU start."""
        if isinstance(memory, Accounts):
            divide = partial(self._first, snapshot, memory)
            return decide_by_shares(snapshot, memory, divide, reset_s=self.reset_s)
        grid = Grid.of(snapshot, at_requested_size=True)
        if not grid.jobs:
            return grid.decision(grid.held), self.start()
        memory, forecast = foreseen(grid, memory)
        left_s = forecast.left_s
        need = requested_gpus(grid)
        age_s = np.array([job.age_s(snapshot.now_s) for job in grid.jobs])
        waiting = np.flatnonzero(~grid.running)
        oldest = waiting[: ceil(self.alpha * len(waiting))]  # jobs are in the order of submission
        delayed = np.zeros(len(need))
        delayed[oldest] = places_from_last(
            left_s[oldest] * need[oldest], age_s[oldest], max(int(grid.capacity.sum()), 1)
        )
        rows = np.arange(len(need))
        order = np.lexsort((rows, left_s * need, -delayed, ~grid.running, ~grid.pinned)).tolist()
        alloc = seat(grid, order, need)
        numbers = {"remaining_s": left_s, "place_from_last": delayed}
        return grid.decision(alloc, numbers=numbers), memory

    def _first(
        self, snapshot: Snapshot, memory: Accounts, grid: Grid, forecast: Ahead
    ) -> Float64[FloatArray, " jobs"]:
        """Shares of who is first on a GPU, and of who once was; a wide job stays among the rest."""
        known = [memory.of.get(job.spec.job_id, Account()) for job in grid.jobs]
        shares = np.array([one.share for one in known])
        waiting = np.flatnonzero(shares < 1.0)
        free = int(grid.capacity.sum()) - (len(shares) - len(waiting))
        oldest = waiting[: max(ceil(self.alpha * len(waiting)), free)]
        if free > 0 and len(oldest):
            age_s = np.array([grid.jobs[row].age_s(snapshot.now_s) for row in oldest.tolist()])
            place = places_from_last(forecast.left_s[oldest], age_s, free)
            first = oldest[np.argsort(-place, kind="stable")[:free]]
            shares[first] = 1.0 / requested_gpus(grid)[first]
        return shares


def places_from_last(
    work_s: Float64[FloatArray, " jobs"], age_s: Float64[FloatArray, " jobs"], gpus: int
) -> Float64[FloatArray, " jobs"]:
    """How many jobs, itself included, each delays in the cheapest assignment; GPUs are alike.

    So all that counts is the place: each place exists once for every GPU.
    """
    jobs = len(work_s)
    if not jobs:
        return np.zeros(0)
    places = np.repeat(np.arange(1.0, -(-jobs // gpus) + 1), gpus)
    cost = places * work_s[:, None] + age_s[:, None]
    row, column = linear_sum_assignment(cost)
    found = np.zeros(jobs)
    found[row] = places[column]
    return found
