"""Shortest remaining time first: at every round those who are nearest to their end run."""

from dataclasses import dataclass
from typing import final

import numpy as np

from headway.core.policy.admission import requested_gpus
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.remaining import foreseen
from headway.core.policy.seating import seat
from headway.core.predict.foresight import Foresight
from headway.core.types import Decision, Snapshot


@final
@dataclass(frozen=True)
class Srtf:
    """Preemptive at round starts, at requested sizes; who stays is not moved.

    The remaining time is a forecast from what jobs declare and report. With ``by_area`` it counts
    for each GPU that the job holds meanwhile.
    """

    by_area: bool = False

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
        """Admit jobs by remaining time while GPUs last; a smaller one may fill the rest."""
        grid = Grid.of(snapshot, at_requested_size=True)
        if not grid.jobs:
            return grid.decision(grid.held), self.start()
        memory, forecast = foreseen(grid, memory)
        left_s = forecast.left_s
        need = requested_gpus(grid)
        key = left_s * need if self.by_area else left_s
        order = np.lexsort((np.arange(len(need)), ~grid.running, key, ~grid.pinned)).tolist()
        alloc = seat(grid, order, need)
        numbers = {"gpus_wanted": need.astype(np.float64), "remaining_s": left_s}
        everyone = np.ones(len(need), dtype=np.bool_)
        return grid.decision(alloc, numbers=numbers, behind=everyone), memory
