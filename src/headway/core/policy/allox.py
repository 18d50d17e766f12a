"""AlloX: processing times matched to places in the queues of GPUs at the least sum (EuroSys'20)."""

from dataclasses import dataclass
from math import ceil
from typing import final

import numpy as np
from scipy.optimize import linear_sum_assignment

from headway.core.errors import InvalidInputError
from headway.core.policy.admission import admit, place, requested_gpus
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.remaining import foreseen
from headway.core.predict.foresight import Foresight
from headway.core.types import Decision, Float64, FloatArray, Snapshot


@final
@dataclass(frozen=True)
class AlloX:
    """A job that is k-th from last on a GPU delays k jobs: cost k x processing time + age.

    The cheapest assignment of jobs to places (Hungarian algorithm) has the least average JCT. Only
    the oldest fraction ``alpha`` of those who wait takes part, so that a long job is not passed for
    ever. Nobody who runs is stopped. A job of several GPUs counts for each of them.
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a fraction that is none."""
        if not 0.0 < self.alpha <= 1.0:
            raise InvalidInputError(
                f"allox.alpha must be above 0 and at most 1, not {self.alpha:g}"
            )

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits(reads_reports=True)

    def start(self) -> Foresight:
        """Nothing seen yet."""
        return Foresight()

    def decide(
        self, snapshot: Snapshot, memory: Foresight, rng: np.random.Generator
    ) -> tuple[Decision, Foresight]:
        """Who runs goes on; of the others those who are first on a GPU start."""
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
        alloc = place(grid, admit(grid, order, need), need)
        numbers = {"remaining_s": left_s, "place_from_last": delayed}
        return grid.decision(alloc, numbers=numbers), memory


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
