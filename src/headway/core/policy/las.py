"""Least attained service: at every round those who have had the least GPU time so far run."""

from dataclasses import dataclass
from typing import final

import numpy as np

from headway.core.policy.admission import requested_gpus
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.limits import LEAST_QUANTUM, MOST_S, check_range
from headway.core.policy.seating import seat
from headway.core.types import Decision, Snapshot


@final
@dataclass(frozen=True)
class Las:
    """Preemptive at round starts, at requested sizes; who stays is not moved.

    Service counts in whole quanta. With a quantum of 0 two equal jobs would stop and start each
    other every round; within a quantum those who run come first, then those who came first.
    """

    quantum_gpu_s: float = 3_600.0

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a quantum that is none."""
        check_range("las.quantum_gpu_s", self.quantum_gpu_s, LEAST_QUANTUM, MOST_S, off=True)

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits()

    def start(self) -> None:
        """Nothing to remember."""

    def decide(
        self, snapshot: Snapshot, memory: None, rng: np.random.Generator
    ) -> tuple[Decision, None]:
        """Admit jobs by attained service while GPUs last; a smaller one may fill the rest."""
        grid = Grid.of(snapshot, at_requested_size=True)
        need = requested_gpus(grid)
        alloc = seat(grid, self._queue(grid), need)
        attained_gpu_s = np.array([job.attained_gpu_s for job in grid.jobs])
        numbers = {"gpus_wanted": need.astype(np.float64), "attained_gpu_s": attained_gpu_s}
        everyone = np.ones(len(need), dtype=np.bool_)
        return grid.decision(alloc, numbers=numbers, behind=everyone), None

    def _queue(self, grid: Grid) -> list[int]:
        """Rows by service; those who may not be preempted are always first."""
        service = np.array([job.attained_gpu_s for job in grid.jobs])
        if self.quantum_gpu_s > 0:
            service = np.floor(service / self.quantum_gpu_s)
        order = np.lexsort((np.arange(len(service)), ~grid.running, service, ~grid.pinned))
        return [int(row) for row in order]
