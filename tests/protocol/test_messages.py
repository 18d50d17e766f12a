"""Messages survive the wire; what is no message is refused in one line."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway.core.errors import InvalidInputError
from headway.protocol.messages import (
    VERSION,
    AgentPhase,
    AgentReport,
    Directive,
    EpochCount,
    Message,
    WorkerNews,
    WorkerOrders,
    decode_directive,
    decode_news,
    decode_orders,
    decode_report,
    encode,
)
from headway.testing.batches import batch_changes, batch_contracts
from headway.testing.snapshots import report
from headway.testing.strategies import job_reports

COUNTS = st.integers(0, 10**6)
EPOCHS = st.builds(EpochCount, epoch=COUNTS, samples=COUNTS, read_least=COUNTS, read_most=COUNTS)
NEWS = {
    "report": st.none() | job_reports(),
    "changes": st.lists(batch_changes(), max_size=2).map(tuple),
    "epochs": st.lists(EPOCHS, max_size=2).map(tuple),
}
REPORTS = st.builds(
    AgentReport,
    job_id=st.text(max_size=8),
    phase=st.sampled_from(AgentPhase),
    generation=COUNTS,
    sequence=COUNTS,
    message=st.text(max_size=20),
    **NEWS,
)
DIRECTIVES = st.builds(
    Directive,
    generation=COUNTS,
    slots=st.lists(st.integers(0, 63), max_size=8).map(tuple),
    adapts=st.booleans(),
    cancel=st.booleans(),
    report_every_s=st.floats(0.1, 60),
)
ORDERS = st.builds(
    WorkerOrders,
    job_id=st.text(max_size=8),
    generation=COUNTS,
    job_dir=st.text(max_size=8),
    batch=batch_contracts(),
    requested_batch_size=st.integers(1, 4096),
    adapts=st.booleans(),
    work_examples=st.none() | st.floats(1, 1e9),
)
DECODERS = [decode_report, decode_directive, decode_orders, decode_news]
Decode = Callable[[bytes], Message]


@given(REPORTS, DIRECTIVES, ORDERS, st.builds(WorkerNews, stepped=st.booleans(), **NEWS))
def test_every_message_comes_back_as_it_went(
    message: AgentReport, directive: Directive, orders: WorkerOrders, news: WorkerNews
) -> None:
    assert decode_report(encode(message)) == message
    assert decode_directive(encode(directive)) == directive
    assert decode_orders(encode(orders)) == orders
    assert decode_news(encode(news)) == news
    assert all(b"\n" not in encode(one) for one in (message, directive, orders, news))


@pytest.mark.parametrize("decode", DECODERS)
@given(body=st.binary(max_size=40).filter(lambda body: not body.strip().startswith(b"{")))
@example(body=b"")
@example(body=b"null")
@example(body=b'{"generation": "two"}')
@example(body=b'{"stepped": 3}')
@example(body=b'{"mood": ' + b"[" * 5000)
def test_what_is_no_message_is_refused_by_its_name(decode: Decode, body: bytes) -> None:
    kinds = "AgentReport|Directive|WorkerOrders|WorkerNews"
    if decode is decode_news and body == b'{"generation": "two"}':
        return  # news have no generation: an unknown field, and so ignored
    with pytest.raises(InvalidInputError, match=f"^({kinds}): [^\n]+$"):
        decode(body)


def test_a_newer_side_may_say_more() -> None:
    """A service is updated while its agents run on; they ignore what they do not know."""
    directive = Directive(generation=1, slots=(0,), adapts=False)
    newer = encode(directive)[:-1] + b', "mood": "happy"}'
    assert decode_directive(newer) == directive
    assert directive.version == VERSION


def test_a_field_that_is_missing_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"AgentReport: .*`job_id`"):
        decode_report(b'{"phase": "idle", "generation": 0}')
    with pytest.raises(InvalidInputError, match=r"AgentReport: .*\$\.phase"):
        decode_report(b'{"job_id": "a", "phase": "dancing", "generation": 0}')


@pytest.mark.parametrize("done", ["-1", "1e308"])
def test_progress_that_is_none_is_refused(done: str) -> None:
    """A job was -0 % done; and sums of it overflowed where the policy decides."""
    told = AgentReport(
        job_id="a",
        phase=AgentPhase.RUNNING,
        generation=1,
        report=replace(report(), progress_examples=0.0),
    )
    body = encode(told).replace(b'"progress_examples":0.0', b'"progress_examples":' + done.encode())
    with pytest.raises(InvalidInputError, match=r"progress_examples must be a number from 0 to"):
        decode_report(body)
