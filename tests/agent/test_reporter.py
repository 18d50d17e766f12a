"""News: no line is lost to a slow agent, and no trouble with it reaches the training."""

import os
from dataclasses import fields, replace
from math import inf, nan

import pytest

from headway.agent.reporter import Reporter, finite
from headway.core.model.goodput import UNREPORTED
from headway.core.types import JobReport
from headway.protocol.messages import EpochCount, WorkerNews, decode_news

REPORT = JobReport(
    throughput=UNREPORTED,
    noise_scale=12.0,
    progress_examples=640.0,
    batch_per_gpu=32,
    accum_steps=0,
    batch_size=32,
    loss=0.5,
)


def received(fd: int) -> list[WorkerNews]:
    return [decode_news(line) for line in os.read(fd, 1 << 20).splitlines()]


@pytest.mark.parametrize("broken", [nan, inf, -inf])
def test_a_number_that_is_none_is_reported_as_none(broken: float) -> None:
    """NaN hints crashed AdaptDL's allocator for every tenant, again and again."""
    read_end, write_end = os.pipe()
    reporter = Reporter(write_end)
    report = replace(REPORT, loss=broken, metric=broken, noise_scale=broken)
    reporter.send(WorkerNews(report=report))
    (news,) = received(read_end)
    assert news.report == replace(REPORT, loss=None, metric=None, noise_scale=None)
    assert finite(REPORT) == REPORT


@pytest.mark.parametrize("broken", [nan, inf, -inf])
@pytest.mark.parametrize("where", ["progress_examples", *(f.name for f in fields(UNREPORTED))])
def test_a_report_without_a_number_that_it_needs_is_not_sent(where: str, broken: float) -> None:
    """Optional ones are told as None; a fit or a progress that is NaN has no such word, and the
    agent could not have read the line. The next report is sent again."""
    read_end, write_end = os.pipe()
    reporter = Reporter(write_end)
    if where == "progress_examples":
        report = replace(REPORT, progress_examples=broken)
    else:
        report = replace(REPORT, throughput=replace(UNREPORTED, **{where: broken}))
    reporter.send(WorkerNews(report=report))
    reporter.send(WorkerNews(report=REPORT))
    assert [news.report for news in received(read_end)] == [REPORT]


def test_an_agent_that_does_not_read_holds_nobody_up_and_misses_nothing() -> None:
    read_end, write_end = os.pipe()
    reporter = Reporter(write_end)
    count = EpochCount(epoch=0, samples=9, read_least=1, read_most=1)
    sent = 2000  # more than a pipe holds
    for epoch in range(sent):
        reporter.send(WorkerNews(epochs=(replace(count, epoch=epoch),)))
    body = bytearray()
    while len(body.splitlines()) < sent or not body.endswith(b"\n"):
        body += os.read(read_end, 1 << 20)
        reporter.flush(within_s=0.0)
    epochs = [decode_news(line).epochs[0].epoch for line in body.splitlines()]
    assert epochs == list(range(sent))


def test_a_dead_agent_is_no_error() -> None:
    read_end, write_end = os.pipe()
    reporter = Reporter(write_end)
    os.close(read_end)
    for _ in range(3):
        reporter.send(WorkerNews(report=REPORT))
    reporter.flush()


def test_without_a_pipe_there_is_nothing_to_do() -> None:
    reporter = Reporter(None)
    reporter.send(WorkerNews(report=REPORT))
    reporter.flush()
