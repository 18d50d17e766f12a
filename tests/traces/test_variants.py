"""Elastic, rigid, a window: what changes of a workload and what must not."""

from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.core.types import BatchMode
from headway.traces.assign import alone_s
from headway.traces.base import Workload, adaptive_job, workload
from headway.traces.catalogue import CATALOGUE
from headway.traces.neutral import read_workload, written
from headway.traces.recorded import Window
from headway.traces.rows import read_text
from headway.traces.sniff import read_profiles
from headway.traces.sniff import read_workload as read_any
from headway.traces.variants import elastic, rigid, within


def some(count: int = 10) -> Workload:
    models = ("bert", "cifar10")
    jobs = []
    for index in range(count):
        model = models[index % len(models)]
        job = adaptive_job(
            f"{model}-{index}",
            CATALOGUE[model],
            submitted_s=600.0 * index,
            requested_gpus=8,
            requested_batch_size=CATALOGUE[model].contract.max_batch_size // 2,
        )
        jobs.append((job, model))
    return workload("some", jobs, CATALOGUE)


def test_rigid_jobs_are_as_long_as_before_and_cannot_change() -> None:
    before, after = some(), rigid(some(), 0.5, seed=1)
    assert after.notes == ("5 of 10 jobs rigid, drawn with seed 1",)
    changed = [(old, new) for old, new in zip(before.jobs, after.jobs, strict=True) if old != new]
    assert len(changed) == 5
    for old, new in changed:
        profile = before.profile_of(old.job_id)
        assert new.gpus.allowed(64) == (8,)
        assert new.batch.mode is BatchMode.FIXED
        assert new.work_samples == pytest.approx(old.work_samples, rel=1e-12)
        assert alone_s(new, profile) == pytest.approx(alone_s(old, profile), rel=1e-9)


def test_rigid_is_drawn_by_seed_and_its_share_is_checked() -> None:
    assert rigid(some(), 0.5, seed=1) == rigid(some(), 0.5, seed=1)
    assert rigid(some(), 0.5, seed=1) != rigid(some(), 0.5, seed=2)
    assert rigid(some(), 0.0, seed=1).jobs == some().jobs
    with pytest.raises(InvalidInputError, match=r"--rigid must be a share from 0 to 1, not 1.5"):
        rigid(some(), 1.5, seed=0)


@pytest.mark.parametrize("make", [lambda: rigid(some(), 0.5, 1), lambda: elastic(some(), 1)])
def test_what_was_made_is_written_down_without_loss(make: object, tmp_path: Path) -> None:
    made = make()  # type: ignore[operator]
    path = tmp_path / "some.csv"
    path.write_text(written(made))
    assert read_workload(path, CATALOGUE).jobs == made.jobs


def test_elastic_keeps_times_and_owners() -> None:
    before = some()
    after = elastic(before, seed=0)
    for old, new in zip(before.jobs, after.jobs, strict=True):
        lasts_s = alone_s(old, before.profile_of(old.job_id))
        assert alone_s(new, after.profile_of(new.job_id)) == pytest.approx(lasts_s, rel=1e-9)
        assert (new.submitted_s, new.name, new.requested_gpus) == (old.submitted_s, old.name, 8)


def test_a_window_of_a_workload() -> None:
    cut = within(some(), Window(from_h=1.0, hours=0.5))
    assert [job.name for job in cut.jobs] == ["bert-6", "cifar10-7", "bert-8"]
    assert [job.submitted_s for job in cut.jobs] == [0.0, 600.0, 1200.0]
    with pytest.raises(InvalidInputError, match="no job is submitted in the 1 hours from hour 9"):
        within(some(), Window(from_h=9.0, hours=1.0))


def test_shockwaves_jobs_take_as_long_as_in_the_trace(shared_data: Path) -> None:
    """The last but one column has the time of a job whose batch does not change."""
    folder = shared_data / "shockwave"
    trace = folder / "traces" / "120jobs.trace.gz"
    rows = [line.split("\t") for line in read_text(trace).splitlines()]
    before = read_any(trace, read_profiles(folder / "tacc_throughputs.json.gz"))
    after = elastic(before, seed=0)
    assert not after.trajectories
    static = [
        (float(row[10]), alone_s(job, after.profile_of(job.job_id)))
        for row, job in zip(rows, after.jobs, strict=True)
        if row[7] == "static"
    ]
    assert len(static) == 4
    for published_s, lasts_s in static:
        assert lasts_s == pytest.approx(published_s, abs=1.0)


def test_a_rigid_job_has_a_batch_that_feeds_its_gpus() -> None:
    """Three GPUs with at least 4 examples each were left with a batch of 8; it never ran."""
    profile = CATALOGUE["yolov3"]
    job = adaptive_job("narrow", profile, submitted_s=0.0, requested_gpus=3, requested_batch_size=8)
    (kept,) = rigid(workload("some", [(job, "yolov3")], CATALOGUE), 1.0, seed=0).jobs
    assert kept.batch.initial_batch_size == kept.requested_batch_size
    assert kept.requested_batch_size >= 3 * profile.contract.min_batch_per_gpu
