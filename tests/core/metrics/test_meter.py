"""Example logs whose every number is computed by hand."""

from collections.abc import Iterator

import pytest

from headway.core.control.events import (
    Change,
    Event,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobReferenced,
    JobStarted,
    JobStopped,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    RoundDecided,
    RunOpened,
)
from headway.core.control.lifecycle import Phase
from headway.core.ids import JobId, NodeId
from headway.core.metrics import JobOutcome, Meter, per_job, summarise
from headway.core.types import Allocation, BatchContract, GpuBounds, JobSpec, Node

A, B, C, D, E = (JobId(name) for name in "abcde")
N0, N1 = NodeId("n0"), NodeId("n1")


def job(job_id: JobId, submitted_s: float, requested_gpus: int) -> JobSubmitted:
    spec = JobSpec(
        job_id=job_id,
        name=f"job {job_id}",
        submitted_s=submitted_s,
        gpus=GpuBounds(max_gpus=4),
        batch=BatchContract(initial_batch_size=32, max_batch_size=32, max_batch_per_gpu=32),
        requested_gpus=requested_gpus,
        requested_batch_size=32,
    )
    return JobSubmitted(at_s=submitted_s, job=spec)


def node(at_s: float, node_id: NodeId, gpus: int) -> NodeJoined:
    return NodeJoined(at_s=at_s, node=Node(node_id=node_id, gpus=gpus))


def decided(
    at_s: float, *changes: tuple[JobId, int, dict[NodeId, int]], gap: float | None = None
) -> RoundDecided:
    return RoundDecided(
        at_s=at_s,
        round_index=int(at_s),
        gap=gap,
        changes=tuple(
            Change(job_id=job_id, generation=generation, allocation=Allocation.of(gpus))
            for job_id, generation, gpus in changes
        ),
    )


def by_id(events: list[Event]) -> dict[JobId, JobOutcome]:
    return {outcome.job_id: outcome for outcome in per_job(events)}


@pytest.fixture
def two_jobs() -> list[Event]:
    """Four GPUs. ``a`` asks for 2 at 0 s, ``b`` for 4 at 100 s; they end at 400 s and 600 s."""
    return [
        RunOpened(at_s=0.0, policy="toy", round_s=50.0),
        node(0.0, N0, 4),
        JobReferenced(at_s=0.0, job_id=A, egalitarian_s=320.0, exclusive_s=200.0),
        job(A, 0.0, requested_gpus=2),
        decided(50.0, (A, 1, {N0: 2}), gap=0.25),
        JobStarted(at_s=80.0, job_id=A, generation=1),
        job(B, 100.0, requested_gpus=4),
        decided(150.0, (B, 1, {N0: 1}), (A, 2, {N0: 3}), gap=0.0),
        decided(200.0, gap=0.125),
        JobFinished(at_s=400.0, job_id=A),
        decided(450.0, (B, 2, {N0: 4})),
        JobFinished(at_s=600.0, job_id=B),
        JobReferenced(at_s=600.0, job_id=B, egalitarian_s=625.0, exclusive_s=400.0),
    ]


def test_durations_and_gpu_time_of_each_job(two_jobs: list[Event]) -> None:
    jobs = by_id(two_jobs)
    a, b = jobs[A], jobs[B]
    assert (a.name, a.submitted_s, a.started_s, a.finished_s) == ("job a", 0.0, 50.0, 400.0)
    assert (a.jct_s, a.queueing_s, a.restarts, a.max_gpus) == (400.0, 50.0, 1, 3)
    assert a.gpu_hours * 3600 == 2 * 100 + 3 * 250
    assert (b.submitted_s, b.started_s, b.finished_s) == (100.0, 150.0, 600.0)
    assert (b.jct_s, b.queueing_s, b.restarts, b.max_gpus) == (500.0, 50.0, 1, 4)
    assert b.gpu_hours * 3600 == 1 * 300 + 4 * 150
    assert (a.ended, b.ended) == (Phase.FINISHED, Phase.FINISHED)
    assert a.provisioned_gpu_hours * 3600 == pytest.approx(4 * 100 + 2 * 300)
    assert b.provisioned_gpu_hours * 3600 == pytest.approx(2 * 300 + 4 * 200)


def test_the_four_readings_of_rho(two_jobs: list[Event]) -> None:
    """Four GPUs; 2 wanted before 100 s, then 6 until 400 s, then 4."""
    jobs = by_id(two_jobs)
    a, b = jobs[A], jobs[B]
    assert (a.rho, b.rho) == (400 / 320, 500 / 625)
    own_a = (100 * 1.0 + 300 * 6 / 4) / 400  # 2 of 4 wanted counts as 1
    own_b = (300 * 6 / 4 + 200 * 1.0) / 500
    assert a.rho_own == pytest.approx(400 / (200 * own_a))
    assert b.rho_own == pytest.approx(500 / (400 * own_b))
    crowd_a = (100 * 1 / 4 + 300 * 2 / 4) / 400  # jobs, not GPUs, and no floor
    crowd_b = (300 * 2 / 4 + 200 * 1 / 4) / 500
    assert a.rho_jobs == pytest.approx(400 / (200 * crowd_a))
    assert b.rho_jobs == pytest.approx(500 / (400 * crowd_b))
    assert (a.rho_static, b.rho_static) == (400 / 200, 500 / 400)  # 2 jobs on 4 GPUs: factor 1


def test_every_field_of_the_summary(two_jobs: list[Event]) -> None:
    summary = summarise(two_jobs)
    assert (summary.jobs, summary.finished, summary.restarts) == (2, 2, 2)
    assert (summary.avg_jct_s, summary.p50_jct_s) == (450.0, 450.0)
    assert summary.p99_jct_s == pytest.approx(499.0)
    assert (summary.makespan_s, summary.avg_queueing_s) == (600.0, 50.0)
    assert (summary.worst_rho, summary.mean_rho) == (1.25, pytest.approx(1.025))
    assert summary.p95_rho == pytest.approx(0.8 + 0.95 * 0.45)
    assert summary.unfair_fraction == 0.5
    own = (400 / (200 * 1.375), 500 / (400 * 1.3))
    assert (summary.worst_rho_own, summary.unfair_fraction_own) == (pytest.approx(own[0]), 0.5)
    assert summary.mean_rho_own == pytest.approx(sum(own) / 2)
    assert summary.p95_rho_own == pytest.approx(own[1] + 0.95 * (own[0] - own[1]))
    of_jobs = (400 / (200 * 0.4375), 500 / (400 * 0.4))
    assert summary.worst_rho_jobs == pytest.approx(of_jobs[0])
    assert summary.mean_rho_jobs == pytest.approx(sum(of_jobs) / 2)
    assert summary.p95_rho_jobs == pytest.approx(of_jobs[1] + 0.95 * (of_jobs[0] - of_jobs[1]))
    assert summary.unfair_fraction_jobs == 1.0
    assert (summary.worst_rho_static, summary.mean_rho_static) == (2.0, 1.625)
    assert summary.p95_rho_static == pytest.approx(1.25 + 0.95 * 0.75)
    assert summary.unfair_fraction_static == 1.0
    assert summary.utilisation == pytest.approx((950 + 900) / (4 * 600))
    assert summary.gpu_hours == pytest.approx(1850 / 3600)
    assert summary.gap_max == 0.25
    assert summary.node_hours * 3600 == pytest.approx(600)
    assert summary.provisioned_gpu_hours * 3600 == pytest.approx(4 * 600)


@pytest.fixture
def rough() -> list[Event]:
    """Nodes come and go, and jobs end in every way there is."""
    return [
        RunOpened(at_s=1000.0, policy="toy", round_s=100.0),  # as in a service: not from zero
        node(1000.0, N0, 2),
        *(job(job_id, 1000.0, requested_gpus=1) for job_id in (A, B, C, D)),
        decided(1100.0, (A, 1, {N0: 1}), (B, 1, {N0: 1})),
        node(1200.0, N1, 2),
        decided(1200.0, (C, 1, {N1: 2})),
        NodeLost(at_s=1300.0, node_id=N0),  # a and b lose their workers
        decided(1400.0, (A, 2, {N1: 1}), (C, 2, {N1: 1})),
        JobFailed(at_s=1500.0, job_id=C, message="out of memory"),
        JobCancelled(at_s=1500.0, job_id=D),
        JobStopped(at_s=1550.0, job_id=A, generation=1),  # news of workers long gone
        JobFinished(at_s=1600.0, job_id=A),
        JobFinished(at_s=1600.0, job_id=C),  # too late: it has failed
        decided(1700.0, (B, 2, {N1: 2})),
        JobStopped(at_s=1800.0, job_id=B, generation=2),
        RunOpened(at_s=1900.0, policy="toy", round_s=100.0),
    ]


def test_what_is_paid_for_is_what_is_there_until_the_last_completion(rough: list[Event]) -> None:
    """n0 from 1,000 s to 1,300 s, n1 from 1,200 s on; the last job finishes at 1,600 s."""
    summary = summarise(rough)
    assert summary.node_hours * 3600 == pytest.approx(300 + 400)
    assert summary.provisioned_gpu_hours * 3600 == pytest.approx(2 * 700)


def test_lost_nodes_failures_and_jobs_that_never_end(rough: list[Event]) -> None:
    jobs = by_id(rough)
    assert {key: jobs[key].gpu_hours * 3600 for key in (A, B, C, D)} == {
        A: pytest.approx(200 + 200),
        B: pytest.approx(200 + 2 * 100),
        C: pytest.approx(2 * 200 + 100),
        D: 0.0,
    }
    assert {key: jobs[key].ended for key in (A, B, C, D)} == {
        A: Phase.FINISHED,
        B: None,
        C: Phase.FAILED,
        D: Phase.CANCELLED,
    }
    assert [jobs[key].restarts for key in (A, B, C, D)] == [1, 1, 1, 0]
    assert (jobs[A].jct_s, jobs[B].jct_s, jobs[C].jct_s) == (600.0, None, None)
    assert (jobs[C].queueing_s, jobs[D].queueing_s) == (200.0, None)
    assert all(outcome.rho is None for outcome in jobs.values())  # nobody was referenced


def test_utilisation_counts_the_gpus_that_were_there_until_the_last_completion(
    rough: list[Event],
) -> None:
    summary = summarise(rough)
    there = 200 * 2 + 100 * 4 + 300 * 2
    assert summary.makespan_s == 600.0
    assert summary.utilisation == pytest.approx((400 + 200 + 500) / there)
    assert summary.gpu_hours == pytest.approx((400 + 400 + 500) / 3600)
    assert (summary.jobs, summary.finished, summary.avg_jct_s) == (4, 1, 600.0)
    assert summary.gap_max is None


def test_static_contention_counts_all_jobs_of_the_log() -> None:
    """Eight jobs on two GPUs: the static world is four times slower, whoever was there when."""
    jobs = [JobId(f"j{index}") for index in range(8)]
    events: list[Event] = [node(0.0, N0, 2)]
    for index, job_id in enumerate(jobs):
        at_s = 100.0 * index
        events += [
            JobReferenced(at_s=at_s, job_id=job_id, egalitarian_s=90.0, exclusive_s=90.0),
            job(job_id, at_s, requested_gpus=1),
            decided(at_s, (job_id, 1, {N0: 1})),
            JobFinished(at_s=at_s + 90.0, job_id=job_id),
        ]
    summary = summarise(events)
    assert summary.worst_rho_static == pytest.approx(1 / 4)
    assert summary.worst_rho_own == pytest.approx(1)  # never more than one at a time
    assert summary.worst_rho_jobs == pytest.approx(2)  # half a job a GPU, and no floor
    assert summary.worst_rho == 1


def test_time_without_any_gpu_is_no_contention() -> None:
    events: list[Event] = [
        node(0.0, N0, 2),
        job(A, 0.0, requested_gpus=4),
        NodeLost(at_s=100.0, node_id=N0),
        node(300.0, N0, 2),
        JobFinished(at_s=400.0, job_id=A),
        JobReferenced(at_s=400.0, job_id=A, egalitarian_s=100.0, exclusive_s=100.0),
    ]
    (outcome,) = per_job(events)
    assert outcome.rho_own == pytest.approx(400 / (100 * 2))
    assert outcome.rho_jobs == pytest.approx(400 / (100 * 0.5))


def test_a_job_that_comes_back_under_its_old_name_counts_twice() -> None:
    events: list[Event] = [
        node(0.0, N0, 1),
        job(A, 0.0, requested_gpus=1),
        JobCancelled(at_s=10.0, job_id=A),
        job(A, 20.0, requested_gpus=1),
        JobFinished(at_s=50.0, job_id=A),
    ]
    first, second = per_job(events)
    assert (first.ended, second.ended) == (Phase.CANCELLED, Phase.FINISHED)
    assert (second.submitted_s, second.jct_s) == (20.0, 30.0)


def test_an_empty_log_has_no_numbers_and_no_error() -> None:
    summary = summarise([])
    assert (summary.jobs, summary.finished, summary.restarts, summary.gpu_hours) == (0, 0, 0, 0)
    assert summary.makespan_s is None
    assert summary.utilisation is None
    assert summary.worst_rho_static is None
    assert per_job([]) == ()


def test_a_meter_reads_an_iterator_once_and_may_be_asked_at_any_time(
    two_jobs: list[Event],
) -> None:
    def stream() -> Iterator[Event]:
        yield from two_jobs

    assert summarise(stream()) == summarise(two_jobs)
    meter = Meter()
    finished = []
    for event in two_jobs:
        meter.add(event)
        finished.append(meter.summary().finished)
    assert finished == [0] * 9 + [1, 1, 2, 2]
    assert meter.summary() == summarise(two_jobs)
