"""Shares of time into rounds: who is furthest behind what it was promised runs (Gavel, 5)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

import numpy as np

from headway.core.ids import JobId
from headway.core.policy.admission import requested_gpus
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.limits import MOST_S, check_range
from headway.core.policy.remaining import Ahead, ahead
from headway.core.policy.seating import seat
from headway.core.predict.foresight import Foresight
from headway.core.types import Decision, Float64, FloatArray, Int64, IntArray, Snapshot

NOTHING_YET_S = 1e-3  # received by who has not run: before everybody who has
News = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A job's share of time, what that has come to, and what it got."""

    share: float = 0.0
    promised_s: float = 0.0
    received_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """What is remembered between rounds."""

    of: Mapping[JobId, Account] = field(default_factory=dict)
    news: News | None = None  # arrivals, departures, changes at the last division; None: none yet
    divided_s: float = 0.0
    at_s: float = 0.0
    foresight: Foresight = field(default_factory=Foresight)


@dataclass(frozen=True)
class ByShares(ABC):
    """A policy that divides time among the jobs, each in a way of its own; the rest is alike."""

    clears: ClassVar[bool] = False  # whether what was received is counted anew at every division

    reset_s: float = 0.0  # least time between divisions; the published code waits up to 1,000 s

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a time that is none."""
        check_range(f"{type(self).__name__.lower()}.reset_s", self.reset_s, 0.0, MOST_S)

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits(reads_reports=True)

    @final
    def start(self) -> Accounts:
        """Nobody has a share."""
        return Accounts()

    @final
    def decide(
        self, snapshot: Snapshot, memory: Accounts, rng: np.random.Generator
    ) -> tuple[Decision, Accounts]:
        """Divide time anew where there is news; then who is furthest behind its share runs."""
        return decide_by_shares(
            snapshot, memory, self.divide, reset_s=self.reset_s, clears=self.clears
        )

    @abstractmethod
    def divide(self, grid: Grid, forecast: Ahead) -> Float64[FloatArray, " jobs"]:
        """Each job's share of time."""


def decide_by_shares(
    snapshot: Snapshot,
    memory: Accounts,
    divide: Callable[[Grid, Ahead], Float64[FloatArray, " jobs"]],
    *,
    reset_s: float = 0.0,
    clears: bool = False,
) -> tuple[Decision, Accounts]:
    """Divide time where there is news, then run by promised over received time.

    With ``reset_s`` time is divided that many seconds after the last time at the earliest, accounts
    are cleared then, and who came since waits, even where GPUs idle: as in the published code; but
    not where nobody else is left, as everybody would wait for nobody.
    ``clears``: accounts are cleared at every division.
    """
    grid = Grid.of(snapshot, at_requested_size=True)
    if not grid.jobs:
        return grid.decision(grid.held), Accounts()
    memory = _settled(memory, grid, snapshot)
    news = (snapshot.arrivals, snapshot.departures, snapshot.changes)
    fresh = any(job.spec.job_id not in memory.of for job in grid.jobs)
    due = not memory.of or snapshot.now_s - memory.divided_s >= reset_s
    if due and (fresh or news != memory.news):
        shares = divide(grid, ahead(grid.jobs, memory.foresight, grid.largest))
        memory = _divided(memory, grid, shares, clear=clears or reset_s > 0)
        memory = replace(memory, news=news, divided_s=snapshot.now_s)
    accounts = [memory.of.get(job.spec.job_id) for job in grid.jobs]
    known = [one or Account() for one in accounts]
    # the published code counts half a round as received by everybody, so that who has most of the
    # time may have a second round before others have their first
    begun_s = snapshot.round_s / 2 if reset_s > 0 else NOTHING_YET_S
    behind = np.array(
        [
            (one.promised_s + one.share * snapshot.round_s) / (one.received_s + begun_s)
            for one in known
        ]
    )
    need = requested_gpus(grid)
    order = np.lexsort((np.arange(len(need)), ~grid.running, -behind, ~grid.pinned)).tolist()
    if reset_s > 0:
        order = [row for row in order if accounts[row] is not None or grid.pinned[row]]
    alloc = seat(grid, order, need)
    numbers = {
        "share": [one.share for one in known],
        "promised_s": [one.promised_s for one in known],
        "received_s": [one.received_s for one in known],
    }
    return grid.decision(alloc, numbers=numbers), memory


def _settled(memory: Accounts, grid: Grid, snapshot: Snapshot) -> Accounts:
    """With the time since the last round; nothing of jobs that are gone."""
    passed_s = snapshot.now_s - memory.at_s
    settled = {}
    for row, job in enumerate(grid.jobs):
        one = memory.of.get(job.spec.job_id)
        if one is not None:
            settled[job.spec.job_id] = replace(
                one,
                promised_s=one.promised_s + passed_s * one.share,
                received_s=one.received_s + passed_s * bool(grid.held[row].any()),
            )
    foresight = memory.foresight.updated(grid.jobs)
    return replace(memory, of=settled, at_s=snapshot.now_s, foresight=foresight)


def _divided(memory: Accounts, grid: Grid, shares: FloatArray, *, clear: bool) -> Accounts:
    known: Mapping[JobId, Account] = {} if clear else memory.of
    divided = {
        job.spec.job_id: replace(known.get(job.spec.job_id, Account()), share=share)
        for job, share in zip(grid.jobs, shares.tolist(), strict=True)
    }
    return replace(memory, of=divided)


def with_spare(
    shares: Float64[FloatArray, " jobs"], width: Int64[IntArray, " jobs"], gpus: float
) -> Float64[FloatArray, " jobs"]:
    """What GPUs are left go to who came first, until it has all of the time, then to the next."""
    wanted = width * (1.0 - shares)
    before = np.cumsum(wanted) - wanted
    given = np.clip(gpus - float(width @ shares) - before, 0.0, wanted)
    return np.asarray(shares + given / np.maximum(width, 1))


def equal_share(grid: Grid) -> Float64[FloatArray, " jobs"]:
    """The share of time that a job would have, had everybody the same number of GPUs."""
    each = float(grid.capacity.sum()) / max(len(grid.jobs), 1)
    return np.minimum(each / np.maximum(requested_gpus(grid), 1), 1.0)
