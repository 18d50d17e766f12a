"""Traces of three generations; a job's epochs are exact and its rule is known, its future not."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from headway.core.errors import InvalidInputError
from headway.core.types import BatchMode
from headway.traces.base import JobProfile
from headway.traces.rows import read_text
from headway.traces.sniff import format_of, read_profiles, read_workload

Write = Callable[[str | bytes], Path]
HEAD = "LM (batch size 10)\tpython3 main.py"
SEVEN = f"{HEAD}\t--steps\t1\t11936\t6.5\t1"
TEN = f"{HEAD}\tlm\t--steps\t1\t11936\t2\t3\t-1.000000\t7"
TWELVE = f"{HEAD}\tlm\t--steps\t1\t134583\t1\tgns\t1\t-1.000000\t1418\t55"


@pytest.fixture
def profiles(tmp_path: Path) -> Mapping[str, JobProfile]:
    rows = ", ".join(
        f'"(\'LM (batch size {size})\', {workers})": {{"null": {1000 / size}}}'
        for size in (10, 20, 40, 80)
        for workers in (1, 2)
    )
    path = tmp_path / "speeds.json"
    path.write_text(f'{{"v100": {{{rows}}}}}')
    return read_profiles(path)


def test_seven_columns(table: Write, profiles: Mapping[str, JobProfile]) -> None:
    path = table(SEVEN + "\n")
    assert format_of(path) == "gavel"
    read = read_workload(path, profiles)
    (job,) = read.jobs
    assert (job.submitted_s, job.requested_gpus, job.batch.mode) == (6.5, 1, BatchMode.FIXED)
    assert (job.batch.initial_batch_size, job.batch.max_batch_size) == (10, 10)
    assert job.adaptation is not None
    assert (job.adaptation.rule, job.adaptation.epochs, job.adaptation.samples_per_epoch) == (
        "static",
        2.0,
        59_675,
    )


def test_ten_columns(table: Write, profiles: Mapping[str, JobProfile]) -> None:
    """Batch sizes are per worker, and each worker passes over the whole data set."""
    (job,) = read_workload(table(TEN + "\n"), profiles).jobs
    assert (job.submitted_s, job.weight, job.requested_gpus) == (7.0, 3.0, 2)
    assert not job.gpus.elastic
    assert job.batch.initial_batch_size == 20
    assert job.adaptation is not None
    assert (job.adaptation.epochs, job.adaptation.samples_per_epoch) == (2.0, 2 * 59_675)


def test_twelve_columns(table: Write, profiles: Mapping[str, JobProfile]) -> None:
    """The first job of the published 120: 134,583 steps of 5,968 an epoch, not rounded."""
    read = read_workload(table(TWELVE + "\n"), profiles)
    (job,) = read.jobs
    trajectory = read.trajectories[job.job_id]
    assert job.batch.mode is BatchMode.SCHEDULE
    assert trajectory.stages == ((0, 10), (11, 20), (21, 40), (22, 10))
    assert trajectory.epochs == pytest.approx(134_583 / 5_968)
    assert job.work_examples == job.work_samples == trajectory.work_examples
    assert job.adaptation is not None
    assert job.adaptation.configurations == (
        10,
        20,
        40,
        80,
    )  # of the rule, not of this job's future
    assert job.adaptation.starts == ()


def test_a_job_without_a_speed_is_dropped_and_a_note_says_why(
    table: Write, profiles: Mapping[str, JobProfile]
) -> None:
    wide = SEVEN.removesuffix("1") + "8"
    other = SEVEN.replace("LM (batch size 10)", "A3C")
    read = read_workload(table(f"{SEVEN}\n{wide}\n{other}\n"), profiles)
    assert [job.name for job in read.jobs] == ["0-lm"]
    dropped = [note for note in read.notes if "dropped" in note]
    assert "line 2: dropped, LM was not measured at 10 on 8 GPUs" in dropped[0]
    assert "line 3: dropped, A3C has no profile" in dropped[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SEVEN + "\n" + TEN, "line 2: 10 fields, but line 1 has 7"),
        ("a\tb\n", "line 1: 2 fields between tabs; a trace has 7, 10 or 12"),
        (SEVEN.replace("11936", "x"), "total_steps must be a whole number"),
        (SEVEN.replace("11936", "0"), "total_steps must be at least 1"),
        (SEVEN.replace("6.5", "-1"), "arrival_s must be a number that is not negative"),
        (SEVEN.replace(" (batch size 10)", ""), "job_type must be like 'LM"),
        (TWELVE.replace("134583", "2147483647"), "make more than 300000 epochs"),
        (TWELVE.replace("gns", "magic"), "mode must be one of static, accordion, gns"),
        (SEVEN.replace("LM (batch size 10)", "A3C"), "no job can be run, A3C has no profile"),
    ],
)
def test_bad_input_names_the_field(
    table: Write, profiles: Mapping[str, JobProfile], text: str, said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        read_workload(table(text + "\n"), profiles, "gavel")


def test_every_published_trace_is_read(shared_data: Path) -> None:
    """DATA 1.1: 8,720 jobs in ten files, 159 in five, and 120, 220, 900 and 900."""
    gavel, shockwave = shared_data / "gavel", shared_data / "shockwave"
    known = read_profiles(gavel / "simulation_throughputs.json.gz")
    for folder, jobs in ((gavel / "msr_seed0", 8_720), (gavel / "physical_cluster", 159)):
        read = [read_workload(path, known) for path in sorted(folder.iterdir())]
        dropped = sum(note.count("dropped") for each in read for note in each.notes)
        assert sum(len(each.jobs) for each in read) + dropped == jobs
    known = read_profiles(shockwave / "tacc_throughputs.json.gz")
    traces = sorted((shockwave / "traces").iterdir())
    assert [len(read_workload(path, known).jobs) for path in traces] == [120, 220, 900, 900]


def test_static_durations_are_those_of_the_trace(shared_data: Path) -> None:
    """Column 11 of a Shockwave trace is the run time alone at the initial batch size."""
    shockwave = shared_data / "shockwave"
    known = read_profiles(shockwave / "tacc_throughputs.json.gz")
    read = read_workload(shockwave / "traces" / "120jobs.trace.gz", known)
    lines = read_text(shockwave / "traces" / "120jobs.trace.gz").splitlines()
    durations = [float(line.split("\t")[10]) for line in lines]
    for job, duration_s in zip(sorted(read.jobs, key=lambda job: job.name), durations, strict=True):
        size, trajectory = job.batch.initial_batch_size, read.trajectories[job.job_id]
        shape = (job.requested_gpus,)
        per_gpu = size / job.requested_gpus
        _, step_s = read.profile_of(job.job_id).times_s(shape, np.array([per_gpu]))
        run_s = trajectory.work_examples / trajectory.rate_per_s(size, float(step_s[0]))
        assert run_s == pytest.approx(duration_s, abs=1.5)


@pytest.mark.parametrize("priority", ["1e308", "1e-320", "0", "-1", "nan"])
def test_a_priority_beyond_sense_is_refused(
    table: Write, profiles: Mapping[str, JobProfile], priority: str
) -> None:
    """1e308 made a workload that could not be read again, 1e-320 shares that are no numbers."""
    path = table(TEN.replace("\t3\t", f"\t{priority}\t"))
    with pytest.raises(InvalidInputError, match="priority must be"):
        read_workload(path, profiles, "gavel")
