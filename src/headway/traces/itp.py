"""Imports the jobs of Microsoft's ITP clusters (2021) as they were published with ElasticFlow.

One table for each cluster: ``job_id, submission_time, duration, num_gpu``, in seconds from the
start of the recording (microsoft/elasticflow-traces, MIT). Columns that its authors made up
(model, iterations, deadline, batch size) are not used.
"""

from collections.abc import Iterable
from pathlib import Path

from headway.traces.recorded import Recorded, Recording
from headway.traces.rows import MOST_S, Row, header, read_text, rows_with_gpus

COLUMNS = ("job_id", "submission_time", "duration", "num_gpu")


def matches(names: Iterable[str]) -> bool:
    """Whether a header is that of these traces."""
    return set(COLUMNS) <= set(names)


def read_recording(path: Path) -> Recording:
    """All jobs of a cluster.

    Raises:
        InvalidInputError: with the line, the field and the fix.
    """
    text = read_text(path)
    notes = [f"column {name} is not used" for name in header(path, text) if name not in COLUMNS]
    busy, dropped = rows_with_gpus(path, text, COLUMNS, "num_gpu")
    jobs: dict[str, Recorded] = {}
    for row, gpus in busy:
        job = _job(row, gpus)
        if job.name in jobs:
            raise row.wrong("job_id", f"{job.name!r} is taken by an earlier row; drop one")
        jobs[job.name] = job
    return Recording(
        name=path.name.split(".")[0], jobs=tuple(jobs.values()), notes=(*notes, *dropped)
    )


def _job(row: Row, gpus: int) -> Recorded:
    return Recorded(
        name=row.text("job_id"),
        submitted_s=row.number("submission_time", most=MOST_S),
        duration_s=row.number("duration", above=0.0, most=MOST_S),
        gpus=gpus,
    )
