"""A control group for each job, where the machine lets us: nothing that it starts gets out of it.

Not even a process that left its session, lost its parent and cleared its environment. Elsewhere the
job's mark has to do (``processes``).
"""

import hashlib
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

OLD_S = 60.0  # by then whoever was meant to go into a group has gone into it


def create(job_file: Path) -> Path | None:
    """A new group below our own (cgroup v2), or None where that is not allowed."""
    root, own = _mounted(), _ours()
    if root is None or own is None:
        return None
    name = hashlib.sha256(str(job_file).encode()).hexdigest()[:16]
    group = root / own.lstrip("/") / f"headway-{name}"
    _tidy(group.parent)
    try:
        group.mkdir(exist_ok=True)
    except OSError:
        return None
    return group if os.access(group / "cgroup.procs", os.W_OK) else None


def kill(group: Path | None) -> bool:
    """Kill all that is in a group and remove it; whether there was nothing left to kill."""
    if group is None or not group.is_dir():
        return True
    with suppress(OSError):  # a kernel before 5.14 has no such file
        (group / "cgroup.kill").write_text("1")
    for pid in _members(group):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with suppress(OSError):  # as long as somebody is in it, be it a dead one that nobody buried
        group.rmdir()
    return not group.is_dir() or not _members(group)


def _tidy(parent: Path) -> None:
    """Remove groups that could not be removed when their last process was killed."""
    for old in parent.glob("headway-*"):
        with suppress(OSError):  # somebody is in it
            if time.time() - old.stat().st_mtime > OLD_S:
                old.rmdir()


def _members(group: Path) -> list[int]:
    try:
        return [int(line) for line in (group / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def _mounted() -> Path | None:
    """Where the one tree of version 2 is mounted."""
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            fields, _, kind = line.partition(" - ")
            if kind.startswith("cgroup2 "):
                return Path(fields.split()[4])
    return None


def _ours() -> str | None:
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                return line.removeprefix("0::")
    return None
