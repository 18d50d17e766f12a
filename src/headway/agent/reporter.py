"""News from worker 0 to its agent; never raises into training, never makes it wait."""

import os
import select
import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from math import isfinite
from typing import Any, TypeVar, final

from headway.agent.tracking import Run, Tracker
from headway.core.errors import InvalidInputError
from headway.core.types import BatchChange, JobReport
from headway.protocol.messages import WorkerNews, decode_news, encode

R = TypeVar("R", JobReport, BatchChange)
A = TypeVar("A")
_MOST_WAITING = 1 << 20  # bytes kept for an agent that does not read


@final
class Reporter:
    """Lines into a pipe. What the agent does not read at once waits; a dead agent is no error."""

    def __init__(self, fd: int | None) -> None:
        self._fd = fd
        self._waiting = bytearray()
        if fd is not None:
            os.set_blocking(fd, False)

    def send(self, news: WorkerNews) -> None:
        """One line, now or later."""
        if self._fd is None:
            return
        # training must survive whatever is wrong with a report, the one thing it does not need
        try:
            line = encode(clean(news)) + b"\n"
            if not readable(line):
                return
            if len(self._waiting) + len(line) <= _MOST_WAITING:
                self._waiting += line
            self._write()
        except Exception:  # noqa: BLE001
            self._fd = None

    def flush(self, within_s: float = 2.0) -> None:
        """At the end: give the agent a moment to read the rest."""
        while self._fd is not None and self._waiting:
            try:
                _, writable, _ = select.select([], [self._fd], [], within_s)
                if not writable:
                    return
                self._write()
            except (OSError, ValueError):
                self._fd = None

    def _write(self) -> None:
        if self._fd is None or not self._waiting:
            return
        try:
            written = os.write(self._fd, self._waiting)
            del self._waiting[:written]
        except BlockingIOError:
            return


@final
class Trackers:
    """The owner's trackers. One that fails is told nothing more; training goes on."""

    def __init__(self) -> None:
        self._run: Run | None = None
        self._waiting: list[Tracker] = []
        self._begun: list[Tracker] = []

    def add(self, tracker: Tracker, run: Run) -> None:
        """It begins when there is something to tell, which may be never in this process."""
        self._run = run
        self._waiting.append(tracker)

    def go_on(self, samples: int) -> None:
        """This worker goes on from there: what others told of later samples is told anew."""
        if self._run is not None:
            self._run = replace(self._run, samples=samples)

    def tell(self, what: Callable[[Tracker], None]) -> None:
        """Each of them."""
        waiting, self._waiting = self._waiting, []
        for tracker in waiting:
            if self._run is not None and _survives(tracker.begin, self._run):
                self._begun.append(tracker)
        self._begun = [tracker for tracker in self._begun if _survives(what, tracker)]

    def end(self) -> None:
        for tracker in self._begun:
            _survives(lambda one: one.end(), tracker)
        self._begun = []


def _survives(call: Callable[[A], None], argument: A) -> bool:
    """Whether somebody else's code went well."""
    try:
        call(argument)
    except Exception as error:  # noqa: BLE001
        warnings.warn(f"headway: a tracker failed and is told no more: {error!r}", stacklevel=2)
        return False
    return True


def clean(news: WorkerNews) -> WorkerNews:
    """The same without a number that JSON has no word for."""
    return replace(
        news,
        report=None if news.report is None else finite(news.report),
        changes=tuple(finite(change) for change in news.changes),
    )


def readable(line: bytes) -> bool:
    """Whether the agent could make anything of it: not where a required number is none."""
    try:
        decode_news(line)
    except InvalidInputError:
        return False
    return True


def finite(record: R) -> R:
    """Optional numbers that are not finite become None."""
    lost: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, float) and not isfinite(value):
            lost[field.name] = None
    return replace(record, **lost)
