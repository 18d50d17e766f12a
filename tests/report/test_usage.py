"""GPUs held over time: a small cluster by hand, and the law that nothing is lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.events import (
    Change,
    Event,
    JobFinished,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    RoundDecided,
    RoundStarted,
)
from headway.core.ids import JobId, NodeId
from headway.core.metrics import summarise
from headway.core.types import Allocation, BatchContract, GpuBounds, JobSpec, Node
from headway.report.usage import Usage
from headway.testing.histories import History, histories

A, N0, N1 = JobId("a"), NodeId("n0"), NodeId("n1")


def decided(at_s: float, generation: int, gpus: int) -> RoundDecided:
    change = Change(job_id=A, generation=generation, allocation=Allocation.of({N0: gpus}))
    return RoundDecided(at_s=at_s, round_index=generation, changes=(change,))


@pytest.fixture
def log() -> list[Event]:
    """Four GPUs: none held, then two, then four; at last half the nodes are gone."""
    spec = JobSpec(
        job_id=A,
        name="a",
        submitted_s=1000.0,
        gpus=GpuBounds(max_gpus=4),
        batch=BatchContract(initial_batch_size=32, max_batch_size=32, max_batch_per_gpu=32),
        requested_gpus=1,
        requested_batch_size=32,
    )
    return [
        NodeJoined(at_s=1000.0, node=Node(node_id=N0, gpus=4)),
        NodeJoined(at_s=1000.0, node=Node(node_id=N1, gpus=4)),
        JobSubmitted(at_s=1000.0, job=spec),
        decided(1100.0, 1, 2),
        decided(1200.0, 2, 4),
        NodeLost(at_s=1300.0, node_id=N1),
        RoundStarted(at_s=1350.0),
        JobFinished(at_s=1400.0, job_id=A),
    ]


def test_shares_by_hand(log: list[Event]) -> None:
    usage = Usage.of(log)
    assert usage.length_s == 400.0
    assert usage.shares(400.0, 4) == pytest.approx([0, 2 / 8, 4 / 8, 4 / 4])
    assert usage.shares(400.0, 2) == pytest.approx([1 / 8, 8 / 12])
    assert usage.shares(800.0, 2) == pytest.approx([10 / 28, 0])  # after the end: nothing


def test_a_chart_has_a_block_for_each_part(log: list[Event]) -> None:
    usage = Usage.of(log)
    assert usage.chart(400.0, width=4) == " ▂▄█"
    assert usage.chart(800.0, width=8) == " ▂▄█    "


def test_an_empty_log_has_an_empty_chart() -> None:
    assert Usage.of([]).chart(0.0, width=3) == "   "
    assert Usage.of([]).chart(10.0, width=3) == "   "


@given(histories(), st.integers(1, 20))
def test_all_gpu_time_is_in_the_chart(history: History, buckets: int) -> None:
    usage = Usage.of(history.log)
    shares = usage.shares(usage.length_s, buckets)
    assert np.all(shares >= 0)
    assert np.all(shares <= 1 + 1e-6)
    whole = usage.shares(usage.length_s, 1)[0]
    gpu_s = summarise(history.log).gpu_hours * 3600
    assert (whole > 0) == (gpu_s > 0)
