"""What ``simulate --out`` keeps beside the event logs: a per-job table each, and one report."""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from headway.core.errors import UnavailableError
from headway.protocol.eventlog import read
from headway.report import Entry, Usage, jobs_csv, markdown_report
from headway.sim.results import LOG, PART, Result

JOBS = "jobs.csv"
REPORT = "report.md"


@contextlib.contextmanager
def alone_in(out: Path | None) -> Iterator[None]:
    """The only one who writes to a folder; where it cannot be locked, nobody is kept away.

    Raises:
        UnavailableError: another process writes there, or the folder cannot be made.
    """
    if out is None:
        yield
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        folder = os.open(out, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise UnavailableError(f"--out {out} cannot be written: {error.strerror}") from None
    try:
        with contextlib.suppress(OSError):  # some network file systems have no locks
            _lock(folder, out)
        yield
    finally:
        os.close(folder)


def _lock(folder: int, out: Path) -> None:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UnavailableError(
            f"--out {out}: another simulation writes there; wait for it or name another folder"
        ) from None


def keep(out: Path, facts: Mapping[str, str], results: Sequence[Result]) -> None:
    """Write ``POLICY/jobs.csv`` and ``report.md``; the event logs are there already.

    Raises:
        UnavailableError: a file cannot be written.
    """
    for result in results:
        write_whole(out / result.policy / JOBS, jobs_csv(result.jobs))
    page = markdown_report(facts, [_entry(out, result) for result in results])
    write_whole(out / REPORT, page)


def write_whole(path: Path, text: str) -> None:
    """Whole or not at all: an interrupted run leaves what was there before.

    Raises:
        UnavailableError: it cannot be written.
    """
    special = path.exists() and not path.is_file()  # as /dev/stdout, which nothing may replace
    part = path if special else path.with_name(path.name + PART)
    try:
        part.write_text(text, encoding="utf-8")
        if not special:
            part.replace(path)
    except OSError as error:
        raise UnavailableError(f"{path} cannot be written: {error.strerror}") from None


def _entry(out: Path, result: Result) -> Entry:
    try:
        with (out / result.policy / LOG).open("rb") as log:
            usage = Usage.of(read(log))
    except OSError as error:
        raise UnavailableError(f"{error.filename} cannot be read: {error.strerror}") from None
    return Entry(policy=result.policy, summary=result.summary, usage=usage)
