"""Gandiva-Fair: stride scheduling by tickets; GPU time in proportion to them (EuroSys'20)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np

from headway.core.ids import JobId
from headway.core.policy.admission import requested_gpus
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.limits import LEAST_QUANTUM, MOST_S, check_range
from headway.core.policy.remaining import Ahead
from headway.core.policy.seating import seat
from headway.core.policy.timeshares import Accounts, decide_by_shares
from headway.core.types import Decision, Float64, FloatArray, Snapshot


@dataclass(frozen=True, slots=True)
class Passes:
    """How far each job has come in its own stride: GPU-seconds for each ticket."""

    of: Mapping[JobId, float] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class GandivaFair:
    """Each round the jobs with the least pass run; a run adds GPU-seconds over tickets to it.

    A job's tickets are its owner's weight. A new job starts at the least pass there is, so it
    neither owes nor is owed anything for the time before. No GPU serves two jobs, and with one type
    of GPU there is nothing to trade. With a quantum, equals take turns only so often.

    With ``reset_s`` it is what the code published with Shockwave has under this name: equal shares
    of time whatever the widths, divided anew after that many seconds at the earliest.
    """

    quantum_gpu_s: float = 0.0
    reset_s: float = 0.0

    def __post_init__(self) -> None:
        """Raise InvalidInputError for a quantum that is none."""
        check_range(
            "gandiva-fair.quantum_gpu_s", self.quantum_gpu_s, LEAST_QUANTUM, MOST_S, off=True
        )
        check_range("gandiva-fair.reset_s", self.reset_s, 0.0, MOST_S)

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits()

    def start(self) -> Passes | Accounts:
        """Nobody has run."""
        return Accounts() if self.reset_s > 0 else Passes()

    def decide(
        self, snapshot: Snapshot, memory: Passes | Accounts, rng: np.random.Generator
    ) -> tuple[Decision, Passes | Accounts]:
        """Admit jobs by their pass while GPUs last; a smaller one may fill the rest."""
        if isinstance(memory, Accounts):
            return decide_by_shares(snapshot, memory, _equally, reset_s=self.reset_s)
        grid = Grid.of(snapshot, at_requested_size=True)
        need = requested_gpus(grid)
        known = [memory.of.get(job.spec.job_id) for job in grid.jobs]
        least = min((one for one in known if one is not None), default=0.0)
        passes = np.array([least if one is None else one for one in known])
        key = np.floor(passes / self.quantum_gpu_s) if self.quantum_gpu_s > 0 else passes
        order = np.lexsort((np.arange(len(need)), ~grid.running, key, ~grid.pinned)).tolist()
        alloc = seat(grid, order, need)
        tickets = np.array([job.spec.weight for job in grid.jobs])
        passes = passes + alloc.sum(axis=1) * snapshot.round_s / tickets
        numbers = {"pass": passes, "tickets": tickets}
        after = {job.spec.job_id: float(passes[row]) for row, job in enumerate(grid.jobs)}
        return grid.decision(alloc, numbers=numbers), Passes(after)


def _equally(grid: Grid, forecast: Ahead) -> Float64[FloatArray, " jobs"]:
    """GPUs over jobs, whatever their widths."""
    jobs = len(grid.jobs)
    return np.full(jobs, min(float(grid.capacity.sum()) / max(jobs, 1), 1.0))
