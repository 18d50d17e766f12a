"""What the API asks of the runner: the one door to the one writer."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition
from typing import final

from headway.core.control.events import Event
from headway.core.errors import UnavailableError

Make = Callable[[float], Event]
"""An event, once the runner has given it its time."""


@final
class Inbox:
    """A queue for many threads; a request is answered when its event is on the disk."""

    def __init__(self) -> None:
        self._items: list[tuple[Make, Future[Event]]] = []
        self._closed = False
        self._changed = Condition()

    def put(self, make: Make) -> Future[Event]:
        """Ask for an event; the future says when it is kept, or why not."""
        done: Future[Event] = Future()
        with self._changed:
            if self._closed:
                done.set_exception(UnavailableError("the service is stopping; try again"))
                return done
            self._items.append((make, done))
            self._changed.notify_all()
        return done

    def drain(self) -> list[tuple[Make, Future[Event]]]:
        """Everything that was asked for since the last call."""
        with self._changed:
            items, self._items = self._items, []
        return items

    def wait(self, timeout_s: float) -> None:
        """Until something is asked for, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._closed, timeout_s)

    def close(self) -> None:
        """Nothing more is taken; who still waits is told."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for _, done in self.drain():
            done.set_exception(UnavailableError("the service is stopping; try again"))
