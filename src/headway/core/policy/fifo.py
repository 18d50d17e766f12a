"""First come, first served: every job at its requested size, in the order of submission."""

from dataclasses import dataclass
from typing import final

import numpy as np

from headway.core.policy.admission import pack_fastest
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.types import Decision, Snapshot


@final
@dataclass(frozen=True)
class Fifo:
    """Nobody who runs is moved; nobody starts before one who came earlier."""

    backfill: bool = False  # let a later job that fits start before an earlier one that does not

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits()

    def start(self) -> None:
        """Nothing to remember."""

    def decide(
        self, snapshot: Snapshot, memory: None, rng: np.random.Generator
    ) -> tuple[Decision, None]:
        """Keep those who run; start those who wait, until one does not fit."""
        grid = Grid.of(snapshot, at_requested_size=True)
        wanted = [job.spec.requested_gpus for job in grid.jobs]
        alloc = grid.held.copy()
        behind = np.zeros(len(wanted), dtype=np.bool_)
        room = grid.room(alloc)
        for row in np.flatnonzero(~grid.running).tolist():
            placed = pack_fastest(grid, room.free(row), wanted[row])
            if placed is not None:
                alloc[row] = placed
                room.take(row, placed)
            elif not self.backfill:
                behind[row + 1 :] = True
                break
        return grid.decision(alloc, numbers={"gpus_wanted": wanted}, behind=behind), None
