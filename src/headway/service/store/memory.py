"""The reference: what a store does, with lists."""

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import final

from headway.core.control.commands import Command
from headway.core.control.events import Event
from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.service.store.base import Logged, job_of, once


@final
class MemoryStore:
    """Keeps everything until the process ends."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._once: set[str] = set()
        self._commands: dict[str, Command] = {}
        self._applied: set[str] = set()
        self._lock = Lock()

    def append(self, events: Sequence[Event], commands: Sequence[Command] = ()) -> int:
        """See ``Store``."""
        with self._lock:
            new: set[str] = set()
            for key in filter(None, map(once, events)):
                if key in self._once or key in new:
                    raise InvalidInputError(f"{key} is in the log already")
                new.add(key)
            self._once |= new
            self._events.extend(events)
            for command in commands:
                self._commands.setdefault(command.key, command)
            return len(self._events)

    def load(
        self, after: int = 0, limit: int | None = None, job_id: JobId | None = None
    ) -> Iterable[Logged]:
        """See ``Store``."""
        with self._lock:
            events = tuple(self._events)
        wanted = [
            Logged(place, event)
            for place, event in enumerate(events, start=1)
            if place > after and job_id in (None, job_of(event))
        ]
        return wanted[:limit]

    def pending(self) -> tuple[Command, ...]:
        """See ``Store``."""
        with self._lock:
            return tuple(c for key, c in self._commands.items() if key not in self._applied)

    def mark_applied(self, keys: Sequence[str]) -> None:
        """See ``Store``."""
        with self._lock:
            self._applied.update(keys)

    def close(self) -> None:
        """Nothing is held."""
