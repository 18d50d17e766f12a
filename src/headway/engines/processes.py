"""The processes of a job: its agent, and whatever carries the job's mark.

Every process of a job inherits HEADWAY_JOB_FILE, also one that left its session or lost its parent.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from headway.engines import cgroup
from headway.protocol.environment import JOB_FILE
from headway.protocol.jobdir import AgentRecord, JobDir

SAME_START_S = 1.0  # the kernel's clock and ours may be set apart a little


@dataclass
class Agent:
    """The process of an agent, started by this service or by one before it."""

    pid: int
    started_s: float | None = None  # None: it is our own child, and cannot be mistaken
    child: "subprocess.Popen[bytes] | None" = None
    group: Path | None = None

    @classmethod
    def start(
        cls, where: JobDir, options: Sequence[str], env: Mapping[str, str], cwd: str
    ) -> "Agent":
        """Start the agent of a job. It lives on when the service dies, in a session of its own."""
        group = cgroup.create(where.job_file)
        options = [*options, *([f"--group={group}"] if group else [])]
        with where.log_file.open("ab") as log:
            child = subprocess.Popen(
                # -P: no file of the user's folder can take the place of a module
                [sys.executable, "-P", "-m", "headway.agent", *options],
                env={**env, JOB_FILE: str(where.job_file)},
                cwd=cwd if os.path.isdir(cwd) else where.path,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return cls(pid=child.pid, child=child, group=group)

    @classmethod
    def recorded(cls, record: AgentRecord | None) -> "Agent":
        """The agent that a file names; without a file one that is not alive."""
        if record is None:
            return cls(pid=0, started_s=0.0)
        group = Path(record.group) if record.group else None
        return cls(pid=record.pid, started_s=record.started_s, group=group)

    @property
    def exit_code(self) -> int | None:
        """Where it is our child and has ended."""
        return None if self.child is None else self.child.poll()

    def alive(self) -> bool:
        """Whether this very process is there, not just one of its number."""
        if self.child is not None:
            return self.child.poll() is None
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - (self.started_s or 0.0)) < SAME_START_S
            return same and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False

    def kill(self) -> None:
        """Kill it and all that descends from it."""
        if not self.alive():
            return
        with suppress(psutil.Error):
            process = psutil.Process(self.pid)
            family = [process, *process.children(recursive=True)]
            for member in family:
                _kill(member)

    def let_go(self) -> None:
        """It is not ours to wait for any more."""
        if self.child is not None and self.child.poll() is None:
            self.child.returncode = 0


def marked(job_file: Path | None = None) -> dict[Path, list[psutil.Process]]:
    """Living processes by the job file that they carry; of all jobs, or of one."""
    found: dict[Path, list[psutil.Process]] = {}
    for process in psutil.process_iter():
        try:
            mark = process.environ().get(JOB_FILE)
            alive = mark and process.status() != psutil.STATUS_ZOMBIE
        except (psutil.Error, OSError):
            continue  # gone by now, or another user's
        if mark and alive and job_file in {None, Path(mark)}:
            found.setdefault(Path(mark), []).append(process)
    return found


def sweep(job_file: Path, group: Path | None) -> bool:
    """Kill what is in a job's group or carries its mark; whether there was nothing to kill."""
    empty = cgroup.kill(group)
    remains = marked(job_file).get(job_file, [])
    for process in remains:
        _kill(process)
    return empty and not remains


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.Error):
        process.send_signal(signal.SIGKILL)
