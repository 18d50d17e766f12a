"""What ``simulate --out`` keeps beside the event logs: a per-job table each, and one report."""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from headway.core.errors import UnavailableError
from headway.protocol.eventlog import read
from headway.report import Entry, Usage, jobs_csv, markdown_report
from headway.sim.results import LOG, Result

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
    try:
        for result in results:
            (out / result.policy / JOBS).write_text(jobs_csv(result.jobs), encoding="utf-8")
        page = markdown_report(facts, [_entry(out, result) for result in results])
        (out / REPORT).write_text(page, encoding="utf-8")
    except OSError as error:
        raise UnavailableError(
            f"{error.filename or out} cannot be written: {error.strerror}"
        ) from None


def _entry(out: Path, result: Result) -> Entry:
    with (out / result.policy / LOG).open("rb") as log:
        usage = Usage.of(read(log))
    return Entry(policy=result.policy, summary=result.summary, usage=usage, tenants=result.tenants)
