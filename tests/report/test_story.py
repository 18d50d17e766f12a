"""What happened to each job, told from its events alone."""

from headway.core.control.events import (
    Change,
    EpochRead,
    Event,
    JobFailed,
    JobFinished,
    JobReported,
    JobStarted,
    JobSubmitted,
    RoundDecided,
)
from headway.core.ids import JobId, NodeId
from headway.core.types import (
    Allocation,
    BatchContract,
    GpuBounds,
    JobReport,
    JobSpec,
    ThroughputParams,
)
from headway.report.story import JobStory, Stories, over_time

A = JobId("a")
PRIOR = ThroughputParams(
    alpha_grad_s=0.1,
    beta_grad_s=0.01,
    alpha_local_s=0,
    beta_local_s=0,
    alpha_node_s=0,
    beta_node_s=0,
    gamma=1,
)


def submitted(at_s: float) -> JobSubmitted:
    batch = BatchContract(initial_batch_size=32, max_batch_size=32, max_batch_per_gpu=32)
    spec = JobSpec(
        job_id=A,
        name="digits",
        submitted_s=at_s,
        gpus=GpuBounds(max_gpus=4),
        batch=batch,
        requested_gpus=1,
        requested_batch_size=32,
    )
    return JobSubmitted(at_s=at_s, job=spec)


def decided(at_s: float, generation: int, gpus: int) -> RoundDecided:
    change = Change(job_id=A, generation=generation, allocation=Allocation.of({NodeId("n"): gpus}))
    return RoundDecided(at_s=at_s, round_index=generation, changes=(change,))


def reported(at_s: float, batch_size: int, metric: float | None) -> JobReported:
    report = JobReport(
        throughput=PRIOR,
        noise_scale=50.0,
        progress_examples=1.0,
        batch_per_gpu=batch_size,
        accum_steps=0,
        batch_size=batch_size,
        metric=metric,
    )
    return JobReported(at_s=at_s, job_id=A, report=report)


def story(*events: Event) -> JobStory:
    return Stories(events).by_job[A]


def test_only_a_change_that_finds_the_job_running_is_a_resize() -> None:
    told = story(
        submitted(1),
        decided(2, 1, 1),
        decided(3, 2, 2),  # before its first step: not a resize of a running job
        JobStarted(at_s=4, job_id=A, generation=2),
        decided(5, 3, 4),
        JobStarted(at_s=6, job_id=A, generation=3),
        decided(7, 4, 0),
        JobFinished(at_s=9, job_id=A),
    )
    assert (told.resizes, told.gpus, told.jct_s, told.started_s) == (2, [0, 1, 2, 4, 0], 8, 2)


def test_a_batch_size_is_told_when_it_changes_and_the_last_metric_stays() -> None:
    told = story(submitted(0), reported(1, 32, 0.5), reported(2, 32, 0.9), reported(3, 64, None))
    assert (told.batch_sizes, told.metric) == ([32, 64], 0.9)


def test_an_epoch_that_lost_or_repeated_a_sample_is_named() -> None:
    def epoch(number: int, least: int, most: int) -> EpochRead:
        return EpochRead(
            at_s=1, job_id=A, epoch=number, samples=9, read_least=least, read_most=most
        )

    told = story(submitted(0), epoch(0, 1, 1), epoch(1, 0, 1), epoch(2, 1, 2))
    assert told.inexact_epochs == [1, 2]


def test_a_failed_job_has_a_reason_and_no_completion_time() -> None:
    told = story(submitted(0), JobFailed(at_s=3, job_id=A, message="no module named x"))
    assert (told.end, told.message, told.jct_s) == ("failed", "no module named x", None)


def test_a_long_story_is_shortened_in_the_middle() -> None:
    assert over_time([1, 2, 4]) == "1→2→4"
    assert over_time(list(range(10)), keep=4) == "0→1→…→8→9"
