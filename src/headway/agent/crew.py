"""The workers of one generation: their pipes, their exits, and what is to be made of these."""

import os
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

from headway.protocol.environment import YIELDED

PIPE_BYTES = 1 << 20  # so that a worker does not wait while the agent is busy elsewhere
AFTERMATH_LINES = 5  # that may follow the last line of a traceback


class Verdict(StrEnum):
    """How a generation has ended."""

    FINISHED = "finished"
    FAILED = "failed"
    YIELDED = "yielded"


class Pipe:
    """The agent's end of a pipe, read without waiting, line by line."""

    def __init__(self) -> None:
        self.end, self.far_end = os.pipe()
        os.set_blocking(self.end, False)
        self.open = True
        self._far_is_ours = True
        self._rest = b""

    def let_go(self) -> None:
        """The far end is somebody else's alone from now on."""
        if self._far_is_ours:
            os.close(self.far_end)
        self._far_is_ours = False

    @property
    def ours(self) -> tuple[int, ...]:
        """What the agent holds of it."""
        return (self.end, self.far_end) if self._far_is_ours else (self.end,)

    def lines(self) -> Iterator[bytes]:
        """The lines that are complete by now; at the end of the pipe also an incomplete one."""
        while self.open:
            try:
                read = os.read(self.end, 1 << 16)
            except BlockingIOError:
                return
            self.open = bool(read)
            *whole, self._rest = (self._rest + read).split(b"\n")
            yield from whole
        if self._rest:
            yield self._rest
            self._rest = b""


@dataclass
class Complaint:
    """The one line of a worker's error output that says why it failed."""

    last: str = ""
    tracebacks_at_s: float | None = None  # when the first began
    _error: str = ""
    _inside: bool = False
    _recent: deque[bool] = field(default_factory=lambda: deque(maxlen=AFTERMATH_LINES + 1))

    def feed(self, line: str) -> None:
        """Take the next line of error output."""
        if not line.strip():
            return
        self.last = line.strip()
        ends = self._inside and not line[0].isspace()
        if ends:
            self._error = self.last
        self._recent.append(ends)
        self._inside = (self._inside and not ends) or line.startswith("Traceback ")
        if self._inside and self.tracebacks_at_s is None:
            self.tracebacks_at_s = time.monotonic()

    @property
    def line(self) -> str:
        return self._error if any(self._recent) else self.last


@dataclass
class Worker:
    """One process and what came of it."""

    rank: int
    stderr: Pipe
    news: Pipe | None
    slot: int = 0
    pid: int = 0  # not yet started
    ready: bool = False  # a newcomer that can join at any moment
    code: int | None = None  # negative: the signal that killed it
    struck: bool = False  # by a signal that neither the agent nor the script sent
    complaint: Complaint = field(default_factory=Complaint)

    @property
    def bad(self) -> bool:
        """Whether it has failed."""
        return self.code not in {None, 0, YIELDED}

    @property
    def pipes(self) -> tuple[Pipe, ...]:
        return (self.stderr,) if self.news is None else (self.stderr, self.news)

    def tell(self) -> str:
        """Why it failed, in one line."""
        if self.code is not None and self.code < 0:
            how = f"was killed by {signal.strsignal(-self.code)} (signal {-self.code})"
        else:
            how = f"exited with {self.code}"
        if self.code == YIELDED:
            how += ", the code for yielding, but nobody had asked for that"
        return f"worker {self.rank} {how}" + (f": {self.complaint.line}" if self._spoke else "")

    @property
    def _spoke(self) -> bool:
        return bool(self.complaint.line) and (self.code or 0) > 0


@dataclass
class Crew:
    """The processes of one generation."""

    generation: int
    workers: list[Worker]
    alone: bool  # one program that knows nothing of yielding
    started_s: float = field(default_factory=time.monotonic)
    asked: bool = False  # told to yield
    forced: bool = False  # and then made to: SIGTERM or SIGKILL was sent
    condemned: bool = False  # killed because one had failed
    switches: bool = False  # its workers can become another generation without leaving
    stepped: bool = False  # all its workers have made a step
    crossing: bool = False  # told to become another generation
    unproven: bool = False  # it has switched and not made a step since
    falling_back: bool = False  # a switch has failed: whoever can saves, then all start again
    coming: list[Worker] = field(default_factory=list)  # newcomers that get ready
    parted: list[Worker] = field(default_factory=list)  # not of it any more, but not gone yet

    @property
    def everyone(self) -> list[Worker]:
        return [*self.workers, *self.coming, *self.parted]

    def seated(self, pids: list[int]) -> None:
        """All processes are started; their ends of the pipes are theirs alone from now on."""
        unseated = [worker for worker in self.everyone if not worker.pid]
        for worker, pid in zip(unseated, pids, strict=True):
            worker.pid = pid
            for pipe in worker.pipes:
                pipe.let_go()
        if not self.coming:
            self.started_s = time.monotonic()

    def exited(self, pid: int, status: int) -> None:
        """A child of the agent is gone; it may be a stranger's child."""
        for worker in self.everyone:
            if worker.pid == pid:
                worker.code = os.waitstatus_to_exitcode(status)
                # a script that lost the others may abort
                own = self.forced or worker.code == -signal.SIGABRT
                worker.struck = worker.code < 0 and not own

    @property
    def all_out(self) -> bool:
        return all(worker.code is not None for worker in self.workers)

    @property
    def broken(self) -> bool:
        """One has failed of itself; the others would wait for it for ever.

        While a crew yields, those who are a little late may trip over those who have left; and who
        is killed then, or crashes on its way out, costs no more than a restart.
        """
        if self.falling_back or self.crossing:
            return False
        left = any(worker.code == YIELDED for worker in self.workers)
        if self.asked and (left or self.forced or self._killed):
            return False
        return left or any(worker.bad for worker in self.workers)

    @property
    def _killed(self) -> bool:
        return any(worker.code is not None and worker.code < 0 for worker in self.workers)

    def condemn(self) -> None:
        """Kill the others of a broken crew."""
        self.condemned = True
        self.send(signal.SIGKILL)

    def fall_back(self) -> None:
        """Its workers are to save and leave; who cannot any more is not blamed."""
        self.asked = self.falling_back = True

    def send(self, what: signal.Signals) -> None:
        """Send a signal to every session that a worker leads."""
        self.forced = True
        send(self.everyone, what)

    def verdict(self) -> Verdict:
        """What to make of the exits, once all are out."""
        codes = {worker.code for worker in self.workers}
        if self.falling_back and codes != {0}:
            return Verdict.YIELDED
        if self.condemned:
            return Verdict.FAILED
        if self.asked and (self.forced or YIELDED in codes or self._killed):
            return Verdict.YIELDED
        return Verdict.FINISHED if codes == {0} else Verdict.FAILED

    def culprit(self) -> Worker:
        """Whoever failed first: the others' errors are but its echo."""
        bad = [worker for worker in self.workers if worker.code]
        struck = [worker for worker in bad if worker.struck]
        blamed = [worker for worker in bad if worker.complaint.tracebacks_at_s is not None]
        suspects = struck or blamed or bad
        return min(suspects, key=lambda worker: worker.complaint.tracebacks_at_s or 0.0)

    def read(self) -> tuple[list[tuple[Worker, bytes]], list[bytes]]:
        """What has come through the pipes: lines of news, and of error output."""
        errors: list[bytes] = []
        news: list[tuple[Worker, bytes]] = []
        for worker in self.everyone:
            lines = list(worker.stderr.lines())
            for line in lines:
                worker.complaint.feed(line.decode(errors="replace"))
            errors += lines
            news += [(worker, line) for line in (worker.news.lines() if worker.news else ())]
        return news, errors

    def ends(self) -> list[int]:
        """What to wait for."""
        return [pipe.end for worker in self.everyone for pipe in worker.pipes if pipe.open]

    def close(self) -> None:
        for worker in self.everyone:
            close(worker)


def send(workers: Iterable[Worker], what: signal.Signals) -> None:
    """A signal to the session of each that is alive."""
    for worker in workers:
        if worker.code is None and worker.pid:
            with suppress(ProcessLookupError):
                os.killpg(worker.pid, what)


def close(worker: Worker) -> None:
    """Nothing more is to be heard of it."""
    for pipe in worker.pipes:
        pipe.let_go()
        os.close(pipe.end)
