"""Every kind of event survives the log; what is no event is refused by line."""

import json
from dataclasses import replace
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.core.control.events import Event, JobFinished, NodeJoined, RunOpened
from headway.core.control.fold import rebuild
from headway.core.control.state import State
from headway.core.errors import InvalidInputError
from headway.core.ids import JobId, NodeId
from headway.core.types import Node
from headway.protocol.eventlog import decode, encode, read
from headway.testing.histories import History, histories
from headway.testing.strategies import events

GOOD = encode(JobFinished(at_s=1.5, job_id=JobId("a")))


@given(events())
def test_an_event_comes_back_as_it_went(event: Event) -> None:
    line = encode(event)
    assert b"\n" not in line
    assert decode(line) == event
    assert encode(decode(line)) == line


@given(events())
def test_a_line_is_plain_json_that_says_what_and_when(event: Event) -> None:
    fields = json.loads(encode(event))
    assert (fields["event"], fields["at_s"]) == (type(event).__name__, event.at_s)


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5)), st.randoms())
def test_equal_events_give_equal_bytes(settings: dict[str, str], random: Random) -> None:
    """Two runs are the same when their logs are; the order of a dictionary is no difference."""
    items = list(settings.items())
    random.shuffle(items)
    event = RunOpened(at_s=0.0, policy="las", round_s=60.0, settings=settings)
    assert encode(event) == encode(replace(event, settings=dict(items)))


@given(histories(max_events=25))
def test_a_log_read_back_gives_the_same_state(history: History) -> None:
    lines = [encode(event) + b"\n" for event in history.log]
    live = history.states[-1]
    assert tuple(read(lines)) == history.log
    assert rebuild(read(lines), State(memory=live.memory)) == replace(live, decided=None)


@given(st.binary(max_size=40))
@example(b"")
@example(b"[]")
@example(b"1")
@example(b"{}")
@example(b'{"event": {}}')
@example(b'{"event": "Unheard", "at_s": 0}')
@example(b'{"event": "JobFinished", "job_id": "a"}')
@example(b'{"event": "JobFinished", "job_id": 3, "at_s": 0}')
@example(b'{"event": "JobFinished", "job_id": "a", "at_s": "soon"}')
@example(b'{"event": "JobFinished", "job_id": "a", "at_s": 0')
@example(b"\xff\xfe")
@example(b'{"event": "\xff"}')
@example(b"[" * 5000)
def test_what_is_no_event_is_refused_and_nothing_worse(line: bytes) -> None:
    with pytest.raises(InvalidInputError, match="not an event"):
        decode(line)


@pytest.mark.parametrize("bad", [b"{", b"[]", b'{"event": "Unheard"}', GOOD[:-1]])
def test_a_bad_line_is_named_by_its_number(bad: bytes) -> None:
    lines = [GOOD, b"\n", bad, GOOD]
    log = read(lines)
    assert next(log) == decode(GOOD)
    with pytest.raises(InvalidInputError, match=r"^line 3: not an event"):
        next(log)


def test_blank_lines_are_skipped_and_unknown_fields_ignored() -> None:
    """A newer version may say more than this one understands."""
    newer = GOOD[:-1] + b', "mood": "happy"}'
    assert list(read([b"\n", GOOD, b"  \n", newer])) == [decode(GOOD)] * 2


def test_a_log_of_before_simulations_said_what_they_assume_still_reads() -> None:
    old = (
        b'{"at_s":0.0,"event":"RunOpened","policy":"las","round_s":60.0,"seed":1,'
        b'"settings":{},"version":1}'
    )
    assert decode(old) == RunOpened(at_s=0.0, policy="las", round_s=60.0, seed=1)


def test_what_nobody_says_about_cpus_and_memory_is_not_written() -> None:
    """So logs of runs without them are those of versions that did not know them, byte by byte."""
    node = Node(node_id=NodeId("n0"), gpus=4)
    plain = encode(NodeJoined(at_s=0.0, node=node))
    assert b"cpus" not in plain
    assert b"memory" not in plain
    line = encode(NodeJoined(at_s=0.0, node=replace(node, cpus=8.0, memory_gb=0.5)))
    assert json.loads(line)["node"]["cpus"] == 8.0
    assert decode(line) == NodeJoined(at_s=0.0, node=replace(node, cpus=8.0, memory_gb=0.5))
