"""The course of a run: one job by hand, and that it agrees with the meter."""

import pytest
from hypothesis import given

from headway.core.control.events import (
    BatchChanged,
    Change,
    Event,
    JobFinished,
    JobStopped,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    RoundDecided,
)
from headway.core.ids import JobId, NodeId
from headway.core.metrics import per_job
from headway.core.types import Allocation, BatchChange, BatchContract, GpuBounds, JobSpec, Node
from headway.report.course import Course
from headway.testing.histories import History, histories

A, N0, N1 = JobId("a"), NodeId("n0"), NodeId("n1")


def decided(at_s: float, generation: int, **gpus: int) -> RoundDecided:
    allocation = Allocation.of({NodeId(node): count for node, count in gpus.items()})
    change = Change(job_id=A, generation=generation, allocation=allocation)
    return RoundDecided(at_s=at_s, round_index=generation, changes=(change,))


def batch(at_s: float, old: int, new: int) -> BatchChanged:
    change = BatchChange(
        samples=0,
        gpus=2,
        batch_per_gpu=new // 2,
        accum_steps=0,
        old_batch_size=old,
        new_batch_size=new,
        lr_factor=1.0,
        lr_rule="adascale",
        noise_scale=None,
        noise_scale_error=None,
        predicted_gain=1.0,
        why="goodput",
    )
    return BatchChanged(at_s=at_s, job_id=A, change=change)


@pytest.fixture
def log() -> list[Event]:
    spec = JobSpec(
        job_id=A,
        name="first",
        submitted_s=1000.0,
        gpus=GpuBounds(max_gpus=4),
        batch=BatchContract(initial_batch_size=32, max_batch_size=128, max_batch_per_gpu=64),
        requested_gpus=1,
        requested_batch_size=64,
    )
    return [
        NodeJoined(at_s=1000.0, node=Node(node_id=N0, gpus=4)),
        NodeJoined(at_s=1000.0, node=Node(node_id=N1, gpus=4)),
        JobSubmitted(at_s=1000.0, job=spec),
        decided(1100.0, 1, n0=2),
        decided(1200.0, 2, n0=2, n1=2),
        JobStopped(at_s=1201.0, job_id=A, generation=1),  # late: of the old workers
        NodeLost(at_s=1300.0, node_id=N1),
        decided(1350.0, 3, n0=3),
        JobFinished(at_s=1400.0, job_id=A),
    ]


def test_gpus_over_time_by_hand(log: list[Event]) -> None:
    job = Course.of(log).by_job[A]
    assert job.gpus == [(100, 2), (200, 4), (300, 0), (350, 3), (400, 0)]
    assert (job.name, job.started_s, job.ended_s) == ("first", 100, 400)
    assert job.gpu_s(400) == 2 * 100 + 4 * 100 + 3 * 50


def test_before_its_first_report_a_job_has_the_batch_it_came_with(log: list[Event]) -> None:
    assert Course.of(log).by_job[A].batches() == [(100, 64)]
    assert Course.of(log[:3]).by_job[A].batches() == []


def test_a_change_tells_the_batch_size_before_it(log: list[Event]) -> None:
    log[5:5] = [batch(1220.0, 32, 48), batch(1250.0, 48, 96)]
    assert Course.of(log).by_job[A].batches() == [(100, 32), (220, 48), (250, 96)]


@given(histories())
def test_gpu_time_is_what_the_meter_measured(history: History) -> None:
    course = Course.of(history.log)
    for outcome in per_job(history.log):
        held_s = course.by_job[outcome.job_id].gpu_s(course.usage.length_s)
        assert held_s / 3600 == pytest.approx(outcome.gpu_hours, rel=1e-6, abs=1e-9)


@given(histories())
def test_the_largest_come_first(history: History) -> None:
    course = Course.of(history.log)
    found = [job.gpu_s(course.usage.length_s) for job in course.largest(3)]
    assert found == sorted(found, reverse=True)
    assert len(found) == min(3, len(course.by_job))
