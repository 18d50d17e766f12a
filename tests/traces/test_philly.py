"""Philly's table: rows in any order, times of a clock without a zone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.traces.philly import matches, read_recording

Write = Callable[[str | bytes], Path]
HEAD = "timestamp,duration,num_gpus,gpu_time,cluster\n"
ROWS = """2017-10-09 06:13:03,2951.0,2,5902.0,6214e9
2017-10-08 23:00:00,100,1,100,6c71a0
2017-10-08 23:30:00,100,0,0,6c71a0
"""


def test_time_begins_at_midnight_before_the_first_job(table: Write) -> None:
    read = read_recording(table(HEAD + ROWS))
    later, first = read.jobs
    assert (first.name, first.submitted_s, first.tenant) == ("job-3", 23 * 3600.0, "6c71a0")
    assert later.submitted_s == 24 * 3600.0 + 6 * 3600.0 + 13 * 60.0 + 3.0
    assert (later.gpus, later.duration_s, later.gpu_hours) == (2, 2951.0, 5902 / 3600)
    assert read.notes == ("hour 0 is 2017-10-08 00:00", "1 job dropped: num_gpus is 0")


def test_it_is_known_by_its_header() -> None:
    assert matches(HEAD.strip().split(","))
    assert not matches(["timestamp", "duration"])


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("yesterday,1,1,1,a\n", r"jobs.csv line 2: timestamp must be like 2017-10-09 06:13:03"),
        ("2017-10-09 06:13:03,0,1,0,a\n", r"line 2: duration must be more than 0"),
        ("2017-10-09 06:13:03,1,one,1,a\n", r"line 2: num_gpus must be a whole number"),
        ("2017-10-09 06:13:03,1,1,1,\n", r"line 2: cluster is empty"),
        ("2017-10-09 06:13:03,1,1\n", r"line 2: gpu_time is missing"),
        ("2017-10-09 06:13:03,1,0,0,a\n", r"num_gpus of every job is 0"),
        ("", r"has a header but no rows"),
    ],
)
def test_mistakes_name_line_field_and_fix(table: Write, rows: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        read_recording(table(HEAD + rows))


def test_the_published_trace(shared_data: Path) -> None:
    read = read_recording(shared_data / "philly" / "philly_jobs.csv.gz")
    assert len(read.jobs) == 55_288
    assert max(job.submitted_s for job in read.jobs) / 86400 == pytest.approx(109.3, abs=0.1)
