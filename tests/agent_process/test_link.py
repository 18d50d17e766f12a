"""News of the workers reaches the service once it listens, and each piece in one message."""

from hypothesis import given
from hypothesis import strategies as st

from headway.agent.link import Outbox
from headway.protocol.messages import AgentPhase, EpochCount, WorkerNews


def epoch(number: int) -> EpochCount:
    return EpochCount(epoch=number, samples=1, read_least=1, read_most=1)


@given(st.lists(st.sampled_from(["news", "lost", "answered"])))
def test_nothing_is_lost_and_nothing_is_said_twice(moves: list[str]) -> None:
    """A message that got no answer is sent again as it was: its sequence tells the repetition."""
    outbox, told, heard = Outbox("a"), 0, {}
    for move in moves:
        if move == "news":
            outbox.news.add(WorkerNews(epochs=(epoch(told),)))
            told += 1
            continue
        message = outbox.next(AgentPhase.RUNNING, 1)
        assert heard.setdefault(message.sequence, message) == message
        if move == "answered":
            outbox.answered()
    last = outbox.last(AgentPhase.FINISHED, 1, "")
    assert last.sequence > max(heard, default=0)
    acknowledged = [m for m in heard.values() if m is not outbox.unanswered]
    numbers = [e.epoch for message in (*acknowledged, last) for e in message.epochs]
    assert numbers == list(range(told))
