"""The directory of a job: what its engine and its agent leave there for whoever comes later.

Every file is replaced as a whole, so that a reader never sees half of one.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from headway.core.errors import InvalidInputError
from headway.core.types import JobSpec
from headway.protocol.environment import AGENT_FILE, LOG_FILE, RESULT_FILE
from headway.protocol.messages import AgentReport

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """Which process is a job's agent; the start time tells it from a later one of that number."""

    pid: int
    started_s: float
    group: str | None = None  # its control group, which all processes of the job share


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotRecord:
    """What an engine gave to a job: the last directive, and all slots that may be in use."""

    generation: int
    slots: tuple[int, ...]  # of that generation
    adapts: bool
    held: tuple[int, ...] = field(default=())  # also those that its last workers may still use


@dataclass(frozen=True, slots=True)
class JobDir:
    """The files of one job."""

    path: Path

    @property
    def job_file(self) -> Path:
        return self.path / "job.json"

    @property
    def log_file(self) -> Path:
        return self.path / LOG_FILE

    def write_job(self, job: JobSpec) -> None:
        self._write("job.json", job)

    def job(self) -> JobSpec | None:
        return self._read("job.json", JobSpec)

    def write_agent(self, agent: AgentRecord) -> None:
        self._write(AGENT_FILE, agent)

    def agent(self) -> AgentRecord | None:
        return self._read(AGENT_FILE, AgentRecord)

    def write_slots(self, slots: SlotRecord) -> None:
        self._write("slots.json", slots)

    def slots(self) -> SlotRecord | None:
        return self._read("slots.json", SlotRecord)

    def write_result(self, result: AgentReport) -> None:
        """The last report of a job that has ended, with all news that nobody acknowledged."""
        self._write(RESULT_FILE, result)

    def result(self) -> AgentReport | None:
        return self._read(RESULT_FILE, AgentReport)

    def _write(self, name: str, content: object) -> None:
        self.path.mkdir(parents=True, exist_ok=True)  # somebody may have deleted it
        write_whole(self.path / name, msgspec.json.encode(content))

    def _read(self, name: str, kind: type[T]) -> T | None:
        """The content of a file, or nothing where there is none.

        Raises:
            InvalidInputError: something else has written into the file.
        """
        try:
            return msgspec.json.decode((self.path / name).read_bytes(), type=kind)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as error:
            raise InvalidInputError(f"{self.path / name}: {error}") from None


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file as a whole."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_bytes(content)
    fresh.replace(path)
