"""The clock of a log: it runs on where the log ends, even if the machine's clock is set back."""

from collections.abc import Callable
from threading import Lock
from typing import final


@final
class LogClock:
    """Follows a clock, and never goes back: what that is set back by is added from then on.

    A time that only stood still until the clock had caught up would hold up the rounds for as long.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ahead_s = 0.0  # of the clock
        self._last_s = float("-inf")
        self._lock = Lock()

    def not_before(self, at_s: float) -> None:
        """The log has an event of this time; the clock may have been set back since."""
        with self._lock:
            self._last_s = max(self._last_s, at_s)

    def now_s(self) -> float:
        """The time to give to what happens now, to any thread."""
        with self._lock:
            now_s = self._clock() + self._ahead_s
            if now_s < self._last_s:
                self._ahead_s += self._last_s - now_s
                now_s = self._last_s
            self._last_s = now_s
            return now_s
