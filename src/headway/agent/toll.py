"""What measuring costs: seconds of the host and, where there is one, of the device."""

import time
from collections.abc import Callable
from typing import Protocol, Self, final

import torch


class Mark(Protocol):
    """A point in the work of a device, such as a CUDA event."""

    def record(self) -> object: ...

    def elapsed_time(self, later: Self, /) -> float:
        """Milliseconds; both must have been passed."""
        ...


@final
class Toll:
    """Adds up spans. A device runs behind the host, so its spans are read later, all at once."""

    def __init__(self, clock: Callable[[], float], mark: Callable[[], Mark] | None) -> None:
        self._clock = clock
        self._mark = mark
        self._host_s = 0.0
        self._began_s = 0.0
        self._first: Mark | None = None
        self._spans: list[tuple[Mark, Mark]] = []

    def begin(self) -> None:
        self._began_s = self._clock()
        self._first = self._marked()

    def end(self) -> None:
        last = self._marked()
        if self._first is not None and last is not None:
            self._spans.append((self._first, last))
        self._host_s += self._clock() - self._began_s

    def read(self) -> float:
        """Seconds since the last call: the slower of host and device. The host must have waited
        for a result that the last span gave."""
        device_s = sum(first.elapsed_time(last) for first, last in self._spans) / 1e3
        host_s, self._host_s, self._spans = self._host_s, 0.0, []
        return max(host_s, device_s)

    def _marked(self) -> Mark | None:
        if self._mark is None:
            return None
        mark = self._mark()
        mark.record()
        return mark


def toll() -> Toll:
    """For the device that this process computes on."""
    return Toll(time.perf_counter, _event if torch.cuda.is_available() else None)


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
