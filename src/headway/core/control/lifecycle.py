"""The phases of a job and the legal moves between them.

::

    QUEUED ──▶ STARTING ──▶ RUNNING ──▶ FINISHED
      ▲           │  ▲         │  │
      │           ▼  └─resize──┘  ▼
      └──────── STOPPING      FAILED, CANCELLED  (from any phase that is not an end)
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from headway.core.control.events import Event, JobCancelled, JobFailed, JobFinished
from headway.core.errors import IllegalMoveError
from headway.core.ids import JobId


class Phase(StrEnum):
    """Where a job is in its life."""

    QUEUED = "queued"  # holds nothing
    STARTING = "starting"  # holds GPUs, has not yet made a step on these
    RUNNING = "running"
    STOPPING = "stopping"  # told to give its GPUs back
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        return self in ENDS

    @property
    def holds(self) -> bool:
        """Whether the scheduler counts GPUs as held by a job in this phase."""
        return self in {Phase.STARTING, Phase.RUNNING}


ENDED_BY: Mapping[type[Event], Phase] = MappingProxyType(
    {JobFinished: Phase.FINISHED, JobFailed: Phase.FAILED, JobCancelled: Phase.CANCELLED}
)
ENDS = frozenset(ENDED_BY.values())
MOVES: dict[Phase, frozenset[Phase]] = {
    Phase.QUEUED: ENDS | {Phase.STARTING},
    Phase.STARTING: ENDS | {Phase.STARTING, Phase.RUNNING, Phase.STOPPING, Phase.QUEUED},
    Phase.RUNNING: ENDS | {Phase.STARTING, Phase.STOPPING, Phase.QUEUED},
    Phase.STOPPING: ENDS | {Phase.STARTING, Phase.QUEUED},
    Phase.FINISHED: frozenset(),
    Phase.FAILED: frozenset(),
    Phase.CANCELLED: frozenset(),
}


def move(job_id: JobId, now: Phase, to: Phase) -> Phase:
    """The new phase.

    Raises:
        IllegalMoveError: the lifecycle has no such move.
    """
    if to not in MOVES[now]:
        raise IllegalMoveError(f"job {job_id} is {now} and cannot become {to}")
    return to
