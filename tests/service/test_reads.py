"""What the history of a job tells, and what it leaves to the log."""

from dataclasses import replace

from headway.core.control.events import BatchChanged, JobSubmitted
from headway.core.control.fold import fold
from headway.core.control.state import State
from headway.core.ids import JobId
from headway.core.types import ChangeCode
from headway.service.reads import Board
from headway.testing.stores import change, spec

A = JobId("a")


def test_a_batch_that_stays_the_same_is_no_line() -> None:
    """A quarter of a minute of a job that adapts filled a screen with "the noise scale moved"."""
    same = replace(change(), old_batch_size=64, new_batch_size=64)
    changes = (
        replace(same, code=ChangeCode.NOISE_MOVED),
        replace(same, code=ChangeCode.ALLOCATION, new_batch_size=63, gpus=3),
        replace(same, code=ChangeCode.BETTER_GOODPUT, new_batch_size=126),
        replace(same, code=ChangeCode.CHECKPOINT, why="training goes on from a checkpoint"),
    )
    board, state = Board(), State(memory=None)
    for event in (
        JobSubmitted(at_s=0.0, job=spec()),
        *(BatchChanged(at_s=1.0, job_id=A, change=one) for one in changes),
    ):
        state = fold(state, event)
        board.record(event, state)
    record = board.job(A)
    assert record is not None
    assert [entry.batch_size for entry in record.history] == [None, 126, 64]
    assert record.history[-1].message == "training goes on from a checkpoint"
