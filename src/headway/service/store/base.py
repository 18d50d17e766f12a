"""What a store is: an append-only log of events, and an outbox of commands beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from headway.core.control.commands import Command
from headway.core.control.events import (
    BatchChanged,
    EpochRead,
    Event,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobSubmitted,
)
from headway.core.errors import UnavailableError
from headway.core.ids import JobId
from headway.protocol import eventlog


class StoreError(UnavailableError):
    """The event log cannot be opened, read or written."""


@dataclass(frozen=True, slots=True)
class Logged:
    """An event and its place in the log; places count from 1 without a gap."""

    sequence: int
    event: Event


class Store(Protocol):
    """Where events are kept. One writer; any number of readers, from any thread."""

    def append(self, events: Sequence[Event], commands: Sequence[Command] = ()) -> int:
        """Keep these events and the commands they led to: all of them or none.

        Returns the place of the last event. A command whose key is there already is left as it is.

        Raises:
            InvalidInputError: an event that may be there once only is there already.
            StoreError: the store cannot be written; nothing of this was kept.
        """
        ...

    def load(
        self, after: int = 0, limit: int | None = None, job_id: JobId | None = None
    ) -> Iterable[Logged]:
        """Events in their order, from the one that follows place ``after``."""
        ...

    def pending(self) -> tuple[Command, ...]:
        """Commands that no engine is known to have applied, in their order."""
        ...

    def mark_applied(self, keys: Sequence[str]) -> None:
        """An engine has applied the commands with these keys."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


def job_of(event: Event) -> JobId | None:
    """The one job an event is about, if it is about one."""
    if isinstance(event, JobSubmitted):
        return event.job.job_id
    return getattr(event, "job_id", None)


def once(event: Event) -> str | None:
    """A key that no two events share, for events that may be in a log once only.

    A job is submitted once and ends once. News of an agent that sends it again, because it did not
    hear the answer, is the same news whenever it comes.
    """
    match event:
        case JobSubmitted():
            return f"{event.job.job_id}/submitted"
        case JobFinished() | JobFailed() | JobCancelled():
            return f"{event.job_id}/ended"
        case BatchChanged():
            return f"{event.job_id}/change/{_digest(repr(event.change))}"
        case EpochRead():
            counts = (event.epoch, event.samples, event.read_least, event.read_most)
            return f"{event.job_id}/epoch/{'/'.join(map(str, counts))}"
        case _:
            return None


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


def line(event: Event) -> str:
    """What is stored: the line of the event log."""
    return eventlog.encode(event).decode()
