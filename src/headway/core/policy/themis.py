"""Themis: the jobs that are worst off bid for GPUs, and of them those who gain most get them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import final

import numpy as np

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.policy.admission import requested_gpus
from headway.core.policy.base import Traits
from headway.core.policy.fairness import Crowd
from headway.core.policy.grid import Grid
from headway.core.policy.limits import MOST_S, check_range
from headway.core.policy.remaining import Ahead, foreseen
from headway.core.policy.seating import seat
from headway.core.policy.timeshares import Accounts, decide_by_shares, equal_share, with_spare
from headway.core.predict.foresight import Foresight
from headway.core.types import BoolArray, Decision, Float64, FloatArray, Snapshot

HALVINGS = 60  # of the interval in which the least worst rho lies


@dataclass(frozen=True, slots=True, kw_only=True)
class Leases:
    """What is remembered: until when jobs may keep their GPUs, and what rho-hat needs."""

    ends_s: Mapping[JobId, float] = field(default_factory=dict)
    crowd: Crowd = field(default_factory=Crowd)
    foresight: Foresight = field(default_factory=Foresight)


@final
@dataclass(frozen=True)
class Themis:
    """The fraction ``f`` of jobs with the worst finish-time fairness bids (NSDI'20, section 5).

    Of the bidders those with the least work left go first, as their rho falls most for each
    GPU-second; then the others, by rho. A large f serves efficiency, a small one fairness, and
    none is best throughout. Who holds a lease bids for nothing and keeps its GPUs.

    With ``reset_s`` it is what Gavel and Shockwave compare themselves with under this name: shares
    of time that make the worst rho least, divided anew after that many seconds at the earliest.
    """

    f: float = 0.8
    lease_s: float = 0.0  # how long GPUs are kept; with 0 each round is an auction
    reset_s: float = 0.0

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a fraction or a time that is none."""
        check_range("themis.lease_s", self.lease_s, 0.0, MOST_S)
        check_range("themis.reset_s", self.reset_s, 0.0, MOST_S)
        if not 0.0 < self.f <= 1.0:
            raise InvalidInputError(f"themis.f must be above 0 and at most 1, not {self.f:g}")

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits(reads_reports=True)

    def start(self) -> Leases | Accounts:
        """Nobody has a lease."""
        return Accounts() if self.reset_s > 0 else Leases()

    def decide(
        self, snapshot: Snapshot, memory: Leases | Accounts, rng: np.random.Generator
    ) -> tuple[Decision, Leases | Accounts]:
        """Leases are kept; the rest of the GPUs goes by auction."""
        if isinstance(memory, Accounts):
            divide = partial(_least_worst, snapshot)
            return decide_by_shares(snapshot, memory, divide, reset_s=self.reset_s)
        grid = Grid.of(snapshot, at_requested_size=True)
        if not grid.jobs:
            return grid.decision(grid.held), self.start()
        foresight, forecast = foreseen(grid, memory.foresight)
        crowd = memory.crowd.grown(snapshot, grid.jobs)
        rho_hat, need = crowd.rho_hat(grid.jobs, forecast), requested_gpus(grid)
        ends_s = [memory.ends_s.get(job.spec.job_id, snapshot.now_s) for job in grid.jobs]
        leased = grid.pinned | (grid.running & (np.array(ends_s) > snapshot.now_s))
        rows = np.arange(len(need))
        worst = np.lexsort((rows, -rho_hat, leased))
        bids = np.zeros(len(need), dtype=np.bool_)
        bids[worst[: ceil(self.f * int((~leased).sum()))]] = True
        key = np.where(bids, forecast.left_s * need, -rho_hat)
        order = np.lexsort((rows, ~grid.running, key, ~bids, ~leased, ~grid.pinned)).tolist()
        alloc = seat(grid, order, need)
        numbers = {"rho_hat": rho_hat, "bids": bids.astype(np.float64)}
        decision = grid.decision(alloc, numbers=numbers)
        leases = self._leases(grid, np.asarray(alloc.any(axis=1)), leased, ends_s, snapshot.now_s)
        return decision, Leases(ends_s=leases, crowd=crowd, foresight=foresight)

    def _leases(
        self, grid: Grid, runs: BoolArray, leased: BoolArray, ends_s: list[float], now_s: float
    ) -> dict[JobId, float]:
        return {
            job.spec.job_id: ends_s[row] if leased[row] else now_s + self.lease_s
            for row, job in enumerate(grid.jobs)
            if runs[row]
        }


def _least_worst(snapshot: Snapshot, grid: Grid, forecast: Ahead) -> Float64[FloatArray, " jobs"]:
    """Shares with the least rho that all can have; what is left in the order of submission.

    rho = (age + remaining / share) / (exclusive / equal share), so each rho asks for a share.
    """
    left_s, width = forecast.left_s, requested_gpus(grid)
    gpus = max(float(grid.capacity.sum()), 1.0)
    age_s = np.array([job.age_s(snapshot.now_s) for job in grid.jobs])
    alone_s = forecast.exclusive_s / np.maximum(equal_share(grid), 1e-9)
    low = high = float(((age_s + left_s) / alone_s).max(initial=0.0))  # with all of the time

    def shares(rho: float) -> Float64[FloatArray, " jobs"]:
        return np.asarray(left_s / np.maximum(rho * alone_s - age_s, left_s))

    while float(width @ shares(high)) > gpus:
        low, high = high, 2.0 * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        fits = float(width @ shares(middle)) <= gpus
        low, high = (low, middle) if fits else (middle, high)
    return with_spare(shares(high), width, gpus)
