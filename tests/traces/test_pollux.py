"""The importer of Pollux's files: what it makes of good ones, and what it says about bad ones."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.core.types import BatchMode
from headway.traces.base import JobProfile
from headway.traces.pollux import read_profiles, read_workload

Write = Callable[[str | bytes], Path]
HEADER = "name,time,application,num_replicas,batch_size\n"


@pytest.fixture
def profiles(profile_folder: Path) -> dict[str, JobProfile]:
    return dict(read_profiles(profile_folder))


def test_a_job_is_adaptive_elastic_and_asks_for_what_the_row_says(
    table: Write, good_table: str, profiles: dict[str, JobProfile]
) -> None:
    jobs = read_workload(table(good_table), profiles).jobs
    assert [job.name for job in jobs] == ["a", "b"], "in order of submission"
    b = jobs[1]
    assert (b.submitted_s, b.requested_gpus, b.requested_batch_size) == (20.5, 2, 32)
    assert (b.gpus.min_gpus, b.gpus.max_gpus, b.gpus.sizes) == (1, 8, None), "64 / 8 examples"
    assert (b.batch.mode, b.batch.initial_batch_size) == (BatchMode.ADAPTIVE, 16)
    assert (b.batch.min_batch_per_gpu, b.batch.max_batch_per_gpu) == (8, 32)


def test_a_compressed_file_is_the_same(
    table: Write, good_table: str, profiles: dict[str, JobProfile]
) -> None:
    plain = read_workload(table(good_table), profiles)
    packed = read_workload(table(gzip.compress(good_table.encode())), profiles)
    assert plain == packed


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        (HEADER, "has a header but no rows"),
        (b"\xff\xfe\x00\x01", "not text"),
        (gzip.compress(b"name,time", mtime=0)[:-9], "damaged gzip"),
        ("name,time,application,num_replicas\na,1,toy,1\n", "column batch_size is missing"),
        (HEADER + "a,1,toy,1,16\nb,1,toy,1\n", "line 3: batch_size is missing"),
        (HEADER + "a,1,to", "line 2: num_replicas is missing"),
        (HEADER + "a,1,toy,1,16,9\n", "line 2: 6 fields"),
        (HEADER + "a,-1,toy,1,16\n", "line 2: time must be a number that is not negative"),
        (HEADER + "a,soon,toy,1,16\n", "line 2: time must be a number, not 'soon'"),
        (HEADER + "a,nan,toy,1,16\n", "line 2: time"),
        (HEADER + "a,inf,toy,1,16\n", "line 2: time"),
        (HEADER + "a,1,toy,0,16\n", "line 2: num_replicas must be at least 1, not 0"),
        (HEADER + "a,1,toy,1.5,16\n", "line 2: num_replicas must be a whole number"),
        (HEADER + "a,1,toy,-2,16\n", "line 2: num_replicas must be at least 1"),
        (HEADER + "a,1,gpt9,1,16\n", "line 2: application 'gpt9' has no profile; there are toy"),
        (HEADER + "a,1,toy,1,8\n", "line 2: batch_size of toy must be from 16 to 64, not 8"),
        (HEADER + "a,1,toy,1,x\n", "line 2: batch_size must be a whole number"),
        (HEADER + ",1,toy,1,16\n", "line 2: name is empty"),
        (HEADER + "a,1,toy,1,16\na,2,toy,1,16\n", "line 3: name 'a' is taken"),
        ("name,name,time,application,num_replicas,batch_size\na,a,1,toy,1,16\n", "named twice"),
    ],
)
def test_bad_input_is_named_with_its_line_and_field(
    table: Write, profiles: dict[str, JobProfile], content: str | bytes, said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said.replace("(", r"\(")):
        read_workload(table(content), profiles)


def test_a_file_that_is_not_there_and_a_folder(
    tmp_path: Path, profiles: dict[str, JobProfile]
) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read: No such file"):
        read_workload(tmp_path / "nothing.csv", profiles)
    with pytest.raises(InvalidInputError, match="is a folder"):
        read_workload(tmp_path, profiles)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("placements.csv", "placement,local_bsz,step_time,sync_time\n1x,8,1,0\n", "placement must"),
        ("placements.csv", "placement,local_bsz,step_time,sync_time\n1,8,0,0\n", "step_time must"),
        ("placements.csv", "placement,local_bsz,step_time,sync_time\n1,8,1,2\n", "longer than"),
        ("scalability.csv", "num_nodes\n4\n", "column num_replicas is missing"),
        ("validation-16.csv", "progress,grad_sqr,grad_var\n5,1,1\n5,1,1\n", "must grow"),
        ("validation-x.csv", "progress,grad_sqr,grad_var\n5,1,1\n", "validation-BATCHSIZE"),
    ],
)
def test_a_bad_profile_is_named(profile_folder: Path, file: str, content: str, said: str) -> None:
    (profile_folder / "toy" / file).write_text(content)
    with pytest.raises(InvalidInputError, match=said):
        read_profiles(profile_folder)


def test_a_folder_without_profiles(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="holds no Pollux profiles"):
        read_profiles(tmp_path)


def test_the_published_workloads_are_read_whole(shared_data: Path) -> None:
    """160 jobs in 8 h, ncf held on one GPU."""
    profiles = dict(read_profiles(shared_data / "pollux" / "profiles"))
    found = read_workload(shared_data / "pollux" / "workloads" / "workload-6.csv", profiles)
    assert len(found.jobs) == 160
    assert found.jobs[-1].submitted_s <= 8 * 3600
    ncf = [job for job in found.jobs if found.profile_names[job.job_id] == "ncf"]
    assert {job.gpus.max_gpus for job in ncf} == {1}


def test_realistic_workloads_ask_for_the_trace_s_gpus_at_m0_each(shared_data: Path) -> None:
    """Pollux (OSDI'21), section 5.2: GPU counts as in the trace, batch size M0 times GPUs.

    One of them asks for four GPUs for ncf, which is held on one here, its batch as in the row.
    """
    data = shared_data / "pollux"
    known = dict(read_profiles(data / "profiles"))
    tuned = read_workload(data / "workloads" / "workload-6.csv", known)
    found = read_workload(data / "workloads-realistic" / "workload-6.csv", known)
    assert [job.submitted_s for job in found.jobs] == [job.submitted_s for job in tuned.jobs]
    narrowed = [
        job
        for job in found.jobs
        if job.requested_batch_size != job.requested_gpus * job.batch.initial_batch_size
    ]
    assert [(job.requested_gpus, job.requested_batch_size) for job in narrowed] == [(1, 1024)]
    assert len(found.notes) == 1
    assert {job.requested_gpus for job in found.jobs} == {1, 4, 8}
    assert sum(job.requested_gpus for job in found.jobs) < sum(
        job.requested_gpus for job in tuned.jobs
    )
