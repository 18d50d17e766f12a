"""Tiresias: two queues by attained GPU time, first come first served in each (NSDI'19)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from headway.core.ids import JobId
from headway.core.policy.admission import requested_gpus
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.limits import MOST_S, check_range
from headway.core.policy.seating import seat
from headway.core.types import Decision, JobView, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What is remembered of one job."""

    second: bool = False  # in the second queue
    promoted_gpu_s: float = 0.0  # what it had attained when it was last promoted
    runs: bool = False
    since_s: float = 0.0  # when its present run, or the wait after one, began
    last_run_s: float = 0.0  # how long its last run was


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of active jobs."""

    of: Mapping[JobId, Turn] = field(default_factory=dict)


@final
@dataclass(frozen=True)
class Tiresias:
    """Discretised two-dimensional least attained service (Tiresias, section 3.2).

    A job starts in the first queue and falls to the second once it has attained ``threshold_gpu_s``
    (GPUs times seconds). Each round the first queue is served, then the second, each by submission
    and at requested sizes; who no longer fits is stopped, a smaller job may take what is left.
    Order inside a queue does not depend on service, so two equal jobs do not take turns. Pollux's
    evaluation of it has a threshold of 16 GPU-hours and no promotion; on workload-6 it published
    3,470 s average JCT and 0.27 restarts a job, here they are 3,446 s and 0.24.

    ``starvation`` K > 0 promotes a job of the second queue that has waited K times as long as its
    last run, and counts its service anew (the paper's PromoteKnob); 0 never does.
    """

    threshold_gpu_s: float = 57_600.0
    starvation: float = 0.0

    def __post_init__(self) -> None:
        """Raise InvalidInputError for settings below 0 or beyond sense."""
        check_range("tiresias.threshold_gpu_s", self.threshold_gpu_s, 0.0, MOST_S)
        check_range("tiresias.starvation", self.starvation, 0.0, MOST_S)

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits()

    def start(self) -> Turns:
        """Nobody has had a turn."""
        return Turns()

    def decide(
        self, snapshot: Snapshot, memory: Turns, rng: np.random.Generator
    ) -> tuple[Decision, Turns]:
        """The first queue, then the second, while GPUs last."""
        grid = Grid.of(snapshot, at_requested_size=True)
        turns = [
            self._queued(job, memory.of.get(job.spec.job_id, Turn()), snapshot.now_s)
            for job in grid.jobs
        ]
        second = np.array([turn.second for turn in turns], dtype=np.bool_)
        need = requested_gpus(grid)
        order = np.lexsort((np.arange(len(need)), second, ~grid.pinned)).tolist()
        alloc = seat(grid, order, need)
        decision = grid.decision(
            alloc,
            numbers={
                "gpus_wanted": need.astype(np.float64),
                "attained_gpu_s": [job.attained_gpu_s for job in grid.jobs],
                "queue": np.where(second, 2.0, 1.0),
            },
            behind=np.ones(len(need), dtype=np.bool_),
        )
        turned = {
            job.spec.job_id: _turned(turn, snapshot.now_s, runs=bool(alloc[row].any()))
            for row, (job, turn) in enumerate(zip(grid.jobs, turns, strict=True))
        }
        return decision, Turns(turned)

    def _queued(self, job: JobView, turn: Turn, now_s: float) -> Turn:
        """Demoted if it has attained enough since it was last promoted, or promoted if it starves.

        A job that lost its GPUs since the last round has waited from the time of this one.
        """
        if turn.runs and not job.allocation:
            turn = _turned(turn, now_s, runs=False)
        starves = turn.second and not turn.runs and turn.last_run_s > 0 and self.starvation > 0
        if starves and now_s - turn.since_s >= self.starvation * turn.last_run_s:
            return replace(turn, second=False, promoted_gpu_s=job.attained_gpu_s)
        attained_gpu_s = job.attained_gpu_s - turn.promoted_gpu_s
        return replace(turn, second=turn.second or attained_gpu_s >= self.threshold_gpu_s)


def _turned(turn: Turn, now_s: float, *, runs: bool) -> Turn:
    """A run or a wait begins."""
    if runs == turn.runs:
        return turn
    last_run_s = now_s - turn.since_s if turn.runs else turn.last_run_s
    return replace(turn, runs=runs, since_s=now_s, last_run_s=last_run_s)
