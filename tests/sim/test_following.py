"""Jobs that change their batch size by epoch: exact epochs, a record of each change, no zombies."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.adaptation import Adaptation
from headway.core.control.events import (
    BatchChanged,
    Event,
    JobFinished,
    JobReferenced,
    JobReported,
)
from headway.core.ids import NodeId
from headway.core.model.split import split_batch
from headway.core.policy import make
from headway.core.types import Allocation, BatchMode, JobSpec
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup
from headway.sim.hardware import Site
from headway.sim.truth import JobTruth, Speeds
from headway.traces.base import Workload
from headway.traces.sniff import read_profiles, read_workload
from headway.traces.trajectory import Trajectory

SAMPLES = 1_000  # of an epoch; the toy reads 100 a second on each GPU


def trajectory_of(*sizes: int, epochs: float | None = None) -> Trajectory:
    return Trajectory.of(sizes, epochs=epochs or float(len(sizes)), samples_per_epoch=SAMPLES)


def follower(kit, name: str, trajectory: Trajectory, *, submitted_s: float = 0.0) -> JobSpec:
    adaptation = Adaptation(
        rule="gns",
        model="toy",
        configurations=tuple(dict.fromkeys(trajectory.batch_sizes)),
        epochs=trajectory.epochs,
        samples_per_epoch=trajectory.samples_per_epoch,
    )
    job = kit.job(name, submitted_s=submitted_s, mode=BatchMode.SCHEDULE)
    batch = replace(job.batch, initial_batch_size=trajectory.batch_sizes[0], max_batch_size=1024)
    return replace(
        job,
        batch=batch,
        requested_batch_size=trajectory.batch_sizes[0],
        work_examples=trajectory.work_examples,
        adaptation=adaptation,
    )


def workload_of(kit, *pairs: tuple[JobSpec, Trajectory]) -> Workload:
    made = kit.workload(*(job for job, _ in pairs))
    return replace(made, trajectories={job.job_id: trajectory for job, trajectory in pairs})


def log_of(kit, policy, *pairs: tuple[JobSpec, Trajectory], noise: float = 0.0) -> list[Event]:
    setup = Setup(
        workload=workload_of(kit, *pairs),
        cluster=parse_cluster("2x1"),
        round_s=7.0,
        restart_s=3.0,
        noise=noise,
    )
    return kit.run(setup, policy)[0]


SIZES = st.lists(st.sampled_from([8, 16, 48, 64]), min_size=1, max_size=12)


@given(sizes=SIZES, part=st.floats(0.05, 1.0), cuts=st.lists(st.floats(0.1, 60), max_size=20))
def test_progress_is_exact_however_time_is_cut(
    kit, sizes: list[int], part: float, cuts: list[float]
) -> None:
    """The published simulator rounds epochs up at each change; here it ends when its epochs do."""
    trajectory = trajectory_of(*sizes, epochs=len(sizes) - 1 + part)
    job = JobTruth(follower(kit, "a", trajectory), kit.toy(), Speeds(), trajectory)
    held = Allocation.of({NodeId("n0"): 1})
    job.hold(held, 1, site=Site((1,)), told=held.placement, now_s=0.0, restart_s=2.0)
    job.tune(split_batch(job.spec.batch, job.batch_size, 1))
    expected_s = 2.0 + sum(
        epochs * trajectory.steps_per_epoch(size) * size / 100.0
        for epochs, size in zip(trajectory.stage_epochs, trajectory.batch_sizes, strict=True)
    )
    now_s, ended_s = 0.0, None
    for cut in [*cuts, 1e6]:
        now_s += cut
        ended_s = job.advance(now_s)
        if ended_s is not None:
            break
    assert ended_s == pytest.approx(expected_s)
    assert job.progress == pytest.approx(trajectory.work_examples)
    assert job.samples == pytest.approx(trajectory.work_examples)
    assert [turn.epoch for turn in job.turns] == [first for first, _ in trajectory.stages[1:]]


@given(sizes=SIZES, seed=st.integers(0, 99))
@settings(max_examples=25)
def test_each_change_is_recorded_once_and_a_done_job_is_done(
    kit, sizes: list[int], seed: int
) -> None:
    """One published job of 720 s stayed for 18,622 s: done by its steps, and never removed."""
    trajectory = trajectory_of(*sizes)
    pairs = [(follower(kit, name, trajectory), trajectory) for name in "abc"]
    log = log_of(kit, kit.shuffle(often=0.3), *pairs)
    for job, _ in pairs:
        mine = [event for event in log if getattr(event, "job_id", None) == job.job_id]
        changed = [event.change for event in mine if isinstance(event, BatchChanged)]
        assert [change.new_batch_size for change in changed] == list(trajectory.batch_sizes[1:])
        assert [change.samples for change in changed] == [
            pytest.approx(first * SAMPLES, abs=1) for first, _ in trajectory.stages[1:]
        ]
        assert sum(isinstance(event, JobFinished) for event in mine) == 1
    assert [event.at_s for event in log] == sorted(event.at_s for event in log)


def test_the_exclusive_time_follows_the_course(kit) -> None:
    """rho's denominator follows the job's own batch sizes, not the static run of the trace."""
    trajectory = trajectory_of(48, 48, 64, epochs=2.5)
    job = follower(kit, "a", trajectory)
    log = log_of(kit, make("fifo", {}), (job, trajectory))
    (fair,) = [event for event in log if isinstance(event, JobReferenced)]
    (done,) = [event for event in log if isinstance(event, JobFinished)]
    alone_s = 2 * 21 * 0.48 + 0.5 * 16 * 0.64
    assert fair.exclusive_s == pytest.approx(alone_s)
    assert fair.egalitarian_s == pytest.approx(alone_s)  # two GPUs, and it takes one
    assert done.at_s == pytest.approx(3.0 + alone_s)


def test_an_agent_reports_the_regimes_that_have_begun_and_nothing_that_will(kit) -> None:
    trajectory = trajectory_of(*[16] * 4, *[32] * 4, *[64] * 4)
    log = log_of(kit, make("optimus", {}), (follower(kit, "a", trajectory), trajectory))
    reports = [event.report for event in log if isinstance(event, JobReported)]
    assert len(reports) > 10
    for report in reports:
        done = report.progress_examples / SAMPLES
        begun = [first for first, _ in trajectory.stages if first <= done]
        assert [regime.began_epoch for regime in report.regimes] == begun
        assert report.regimes[-1].batch_size == report.batch_size
        assert report.regimes[-1].epoch_s == pytest.approx(
            trajectory.steps_per_epoch(report.batch_size) * report.batch_size / 100
        )
        assert report.epoch == int(done)
        assert report.noise_scale is None


def test_each_regime_keeps_the_time_that_was_measured_in_it(kit) -> None:
    """The agent woke after a change and gave the new speed to the regime that was over.

    So a forecast took the times of two batch sizes for each other's: on the published trace for
    256 GPUs a job of 12,700 s was foreseen at 9,100 s, and the makespan was 6 % longer for it.
    """
    trajectory = trajectory_of(*[16] * 4, *[64] * 4, *[16] * 4)
    log = log_of(kit, make("optimus", {}), (follower(kit, "a", trajectory), trajectory))
    reports = [event.report for event in log if isinstance(event, JobReported)]
    measured = {
        (regime.batch_size, regime.epoch_s)
        for report in reports
        for regime in report.regimes
        if regime.epoch_s is not None
    }
    alone = {size: trajectory.steps_per_epoch(size) * size / 100 for size in trajectory.batch_sizes}
    assert {size for size, _ in measured} == set(alone)
    for size, epoch_s in measured:
        assert epoch_s == pytest.approx(alone[size])


def test_what_an_agent_measures_of_its_epochs_has_its_noise(kit) -> None:
    trajectory = trajectory_of(*[16] * 12)
    log = log_of(kit, make("optimus", {}), (follower(kit, "a", trajectory), trajectory), noise=0.1)
    reports = [event.report for event in log if isinstance(event, JobReported)]
    times = np.array([report.regimes[0].epoch_s for report in reports])
    assert times.std() > 0
    assert times == pytest.approx(np.full(len(times), 63 * 0.16), rel=0.5)


def test_the_published_workload_runs_to_its_end(kit, shared_data) -> None:
    """120 jobs on 32 one-GPU servers, 120 s rounds, 20 s restart: the area is 19,869 s and the
    longest tail 20,518 s in whole epochs; every job ends, and none before it could."""
    data = shared_data / "shockwave"
    profiles = read_profiles(data / "tacc_throughputs.json.gz")
    read = read_workload(data / "traces" / "120jobs.trace.gz", profiles)
    setup = Setup(workload=read, cluster=parse_cluster("32x1"), round_s=120.0, restart_s=20.0)
    log, _ = kit.run(setup, make("fifo", {}))
    fair = {event.job_id: event.exclusive_s for event in log if isinstance(event, JobReferenced)}
    ends = {event.job_id: event.at_s for event in log if isinstance(event, JobFinished)}
    spec = {job.job_id: job for job in read.jobs}
    assert len(ends) == 120
    assert all(end - spec[key].submitted_s >= fair[key] + 20.0 for key, end in ends.items())
    area_s = sum(fair[key] * job.requested_gpus for key, job in spec.items()) / 32
    tail_s = max(fair[key] + job.submitted_s for key, job in spec.items())
    assert area_s == pytest.approx(19_869, rel=0.01)
    assert tail_s == pytest.approx(20_518, rel=0.01)
