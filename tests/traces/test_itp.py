"""The tables of ITP's clusters."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.traces.itp import matches, read_recording

Write = Callable[[str | bytes], Path]
HEAD = "job_id,submission_time,duration,num_gpu\n"


def test_jobs_are_those_of_the_table(table: Write) -> None:
    (job,) = read_recording(table(HEAD + "a-1,5016,2066,8\n")).jobs
    assert (job.name, job.submitted_s, job.duration_s, job.gpus) == ("a-1", 5016.0, 2066.0, 8)


def test_what_its_authors_made_up_is_not_used(table: Write) -> None:
    text = "job_id,submission_time,num_iteration,model_name,duration,num_gpu\n"
    read = read_recording(table(text + "a,1,5,vgg,60,1\nb,2,5,vgg,60,0\n"))
    assert [job.name for job in read.jobs] == ["a"]
    assert read.notes == (
        "column num_iteration is not used",
        "column model_name is not used",
        "1 job dropped: num_gpu is 0",
    )
    assert matches(text.strip().split(","))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,1,60,1\na,2,60,1\n", r"line 3: job_id 'a' is taken by an earlier row"),
        ("a,-1,60,1\n", r"line 2: submission_time must be a number that is not negative"),
        ("a,1,60,-1\n", r"line 2: num_gpu must be at least 0"),
        ("a,1,,1\n", r"line 2: duration is empty"),
        ("a,1,60,0\n", r"num_gpu of every job is 0"),
    ],
)
def test_mistakes_name_line_field_and_fix(table: Write, rows: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        read_recording(table(HEAD + rows))


def test_a_published_cluster(shared_data: Path) -> None:
    read = read_recording(shared_data / "microsoft-itp" / "raw" / "cluster01.csv.gz")
    assert read.jobs[0].gpus == 64
    assert read.jobs[0].duration_s == 2429.0
