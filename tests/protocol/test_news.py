"""An agent's message and the events that it is kept as."""

from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.events import BatchChanged, EpochRead
from headway.core.types import BatchChange
from headway.protocol.messages import AgentPhase, AgentReport, EpochCount
from headway.protocol.news import news
from headway.testing.batches import batch_changes


@given(st.lists(batch_changes(), max_size=3), st.lists(st.integers(0, 9), max_size=3))
def test_every_change_and_every_epoch_is_kept(
    changes: list[BatchChange], epochs: list[int]
) -> None:
    counts = tuple(
        EpochCount(epoch=epoch, samples=10 + epoch, read_least=1, read_most=1 + epoch)
        for epoch in epochs
    )
    message = AgentReport(
        job_id="a",
        phase=AgentPhase.RUNNING,
        generation=1,
        changes=tuple(changes),
        epochs=counts,
    )
    kept = news(message)
    assert [one.change for one in kept if isinstance(one, BatchChanged)] == changes
    assert [
        (one.epoch, one.samples, one.read_least, one.read_most)
        for one in kept
        if isinstance(one, EpochRead)
    ] == [(one.epoch, one.samples, one.read_least, one.read_most) for one in counts]
    assert {one.job_id for one in kept} <= {"a"}
