"""Imports Microsoft's Philly trace (2017) in the form in which Pollux's authors published it.

A table of ``timestamp, duration, num_gpus, gpu_time, cluster``, one row for each job whose duration
is known: local time without a zone, seconds, GPUs held, their product, and the virtual cluster,
which is here the tenant. Rows are in no order (petuum/adaptdl, branch osdi21-artifact, from
msr-fiddle/philly-traces; CC-BY-4.0).
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from headway.traces.recorded import Recorded, Recording
from headway.traces.rows import MOST_S, Row, read_text, rows_with_gpus

COLUMNS = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")


def matches(names: Iterable[str]) -> bool:
    """Whether a header is that of this trace."""
    return set(COLUMNS) <= set(names)


def read_recording(path: Path) -> Recording:
    """All jobs; time begins at midnight before the first of them.

    Raises:
        InvalidInputError: with the line, the field and the fix.
    """
    busy, dropped = rows_with_gpus(path, read_text(path), COLUMNS, "num_gpus")
    jobs = [(_at(row), _job(row, gpus)) for row, gpus in busy]
    midnight = min(at for at, _ in jobs).replace(hour=0, minute=0, second=0)
    return Recording(
        name=path.name.split(".")[0],
        jobs=tuple(replace(job, submitted_s=(at - midnight).total_seconds()) for at, job in jobs),
        notes=(f"hour 0 is {midnight.date()} 00:00", *dropped),
    )


def _job(row: Row, gpus: int) -> Recorded:
    return Recorded(
        name=f"job-{row.where.rpartition(' ')[2]}",
        submitted_s=0.0,
        duration_s=row.number("duration", above=0.0, most=MOST_S),
        gpus=gpus,
        tenant=row.text("cluster"),
    )


def _at(row: Row) -> datetime:
    text = row.text("timestamp")
    try:
        # its zone is not told, and only differences count
        return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    except ValueError:
        raise row.wrong(
            "timestamp", f"must be like 2017-10-09 06:13:03, not {text[:40]!r}"
        ) from None
