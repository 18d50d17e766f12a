"""The scheduler on a real clock: the one writer of the log and the one voice to the engine."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Lock
from typing import Generic, final

import numpy as np

from headway.core.control.commands import Command
from headway.core.control.events import (
    Event,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobReported,
    JobStopped,
    RoundStarted,
    RunOpened,
)
from headway.core.control.fold import fold
from headway.core.control.state import Memory, State
from headway.core.control.step import records, step
from headway.core.errors import HeadwayError, UnavailableError
from headway.core.ids import JobId
from headway.core.policy.base import Policy
from headway.engines.base import Engine, Provider, carry
from headway.protocol.messages import AgentReport, Directive
from headway.protocol.news import news, start_of
from headway.service import judge
from headway.service.clock import LogClock
from headway.service.inbox import Inbox, Make
from headway.service.reads import Board
from headway.service.reports import Reports
from headway.service.store.base import Store, StoreError
from headway.service.told import Told

_log = logging.getLogger(__name__)
ANSWER_S = 60.0  # how long a request waits for its event to be kept; a decision may take a while


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(Generic[Memory]):
    """What a runner is made of."""

    store: Store
    engine: Engine
    policy: Policy[Memory]
    opening: RunOpened  # what the log must say about this run; its time is set when it is logged
    rng: np.random.Generator
    clock: Callable[[], float]
    report_log_s: float = 5.0
    provider: Provider | None = None  # without one no policy may scale the cluster


@final
class Runner(Generic[Memory]):
    """Fetches events from the inbox and the engine, and carries commands to the engine."""

    def __init__(self, parts: Parts[Memory]) -> None:
        self._parts = parts
        self._state: State[Memory] = State(memory=parts.policy.start())
        self._told = Told(parts.store)
        self._inbox = Inbox()
        self._clock = LogClock(parts.clock)
        self._reports = Reports(parts.report_log_s)
        self._hands = Lock()  # on the engine; also keeps an agent's news before what follows
        self._tried_round_s: float | None = None
        self._retry = False  # a command could not be applied
        self.board = Board()
        self.trouble: str | None = None  # the last error that should not have been

    @property
    def state(self) -> State[Memory]:
        """All the scheduler knows; an immutable value, for any thread."""
        return self._state

    @property
    def horizon_s(self) -> float:
        """How far ahead one decision plans."""
        return self._parts.policy.traits.horizon_rounds * self._state.round_s

    @property
    def next_round_s(self) -> float | None:
        """When the next decision is due, if there is a job to decide about."""
        if not self._state.jobs:
            return None
        begun = [
            at_s for at_s in (self.board.last_round_s, self._tried_round_s) if at_s is not None
        ]
        due_s = max(begun) + self._state.round_s if begun else self._state.now_s
        return max(due_s, self._state.now_s)

    # --- for other threads

    def now_s(self) -> float:
        """The time in the log; it runs on even if the clock is set back."""
        return self._clock.now_s()

    def ask(self, make: Make) -> Event:
        """Have an event logged and acted upon; returns when it is kept.

        Raises:
            HeadwayError: it was refused, or cannot be kept.
        """
        return self._inbox.put(make).result(timeout=ANSWER_S)

    def hear(self, message: AgentReport) -> Directive:
        """Take an agent's message; its news is kept before it is answered.

        Raises:
            HeadwayError: it could not be taken; the agent sends it again.
        """
        job_id = JobId(message.job_id)
        known = self.board.job(job_id) is not None
        with self._hands:
            kept = [self._inbox.put(_at(event)) for event in news(message) if known]
            if judge.has_started(self._state.jobs.get(job_id), message):
                self._inbox.put(_at(start_of(message)))
            if job_id in self._state.jobs:
                self._reports.put(message)
            try:
                directive = self._parts.engine.hear(message)
            except Exception as error:
                self._stumble(f"the engine cannot hear job {job_id}", error)
                raise UnavailableError(f"the engine stumbled: {error}") from error
        for done in kept:
            done.result(timeout=ANSWER_S)
        return directive

    def holds(self) -> dict[JobId, tuple[int, ...]]:
        """Slots in use, by job, as the engine sees it."""
        with self._hands:
            return self._parts.engine.holds()

    # --- for the one thread that runs it

    def open(self) -> None:
        """Find out what was, take over what still runs, go on."""
        parts = self._parts
        for logged in parts.store.load():
            self._state = fold(self._state, logged.event)
            self._note(logged.event)
        self._clock.not_before(self._state.now_s)
        now_s = self.now_s()
        if not judge.same_run(self.board.opened, parts.opening):
            self._take(replace(parts.opening, at_s=now_s))
        for event in judge.node_events(self._state, parts.engine.nodes(), now_s):
            self._take(event)
        parts.engine.adopt(judge.wanted(self._state, parts.policy.traits))
        self._retry = True
        self._apply_pending()
        for stop in judge.leaving(self._state):
            parts.engine.apply(stop)

    def turn(self) -> None:
        """Once around: requests, what the engine has seen, reports, and a round if one is due.

        Raises:
            StoreError: the log cannot be written; nothing that was acknowledged is lost.
        """
        now_s = self.now_s()
        with self._hands:
            asked = self._inbox.drain()
            seen = self._observe(now_s)
        self._answer_all(asked, now_s)
        for event in seen:
            if isinstance(event, JobReported):
                self._reports.offer(event)
                continue
            for report in self._last_words(event, now_s):
                self._try(report)
            self._try(event)
        self._reports.keep(self._state.jobs)
        for report in self._reports.due(now_s):
            self._try(report)
        due_s = self.next_round_s
        if due_s is not None and now_s >= due_s:
            self._round(now_s)

    def wait(self, at_most_s: float) -> None:
        """Until there is something to do, or the engine should be asked again."""
        due_s = self.next_round_s
        left_s = at_most_s if due_s is None else due_s - self.now_s()
        self._inbox.wait(min(max(left_s, 0.0), at_most_s))

    def close(self) -> None:
        """Take no more requests; whoever waits is told."""
        self._inbox.close()

    # --- its steps

    def _observe(self, now_s: float) -> tuple[Event, ...]:
        try:
            return self._parts.engine.observe(now_s)
        except Exception as error:  # noqa: BLE001 - the loop goes on
            self._stumble("the engine cannot be observed", error)
            return ()

    def _answer_all(self, asked: list[tuple[Make, Future[Event]]], now_s: float) -> None:
        try:
            for make, done in asked:
                self._answer(make, done, now_s)
        except StoreError as error:
            for _, waiting in asked:
                if not waiting.done():
                    waiting.set_exception(error)
            raise

    def _answer(self, make: Make, done: Future[Event], now_s: float) -> None:
        try:
            event = make(now_s)
            for report in self._last_words(event, now_s):
                self._take(report)
            self._take(event)
        except StoreError:
            raise
        except HeadwayError as error:
            done.set_exception(error)
        except Exception as error:  # noqa: BLE001 - the loop goes on
            self._stumble("a request failed", error)
            done.set_exception(UnavailableError(f"the service stumbled: {error}"))
        else:
            done.set_result(event)
        self._apply_pending()

    def _try(self, event: Event) -> None:
        """Take an event that nobody waits for."""
        try:
            self._take(event)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - the loop goes on
            self._stumble(f"{type(event).__name__} could not be taken", error)
        self._apply_pending()

    def _last_words(self, event: Event, now_s: float) -> list[JobReported]:
        """What a job said before it stopped or ended."""
        if isinstance(event, JobStopped | JobFinished | JobFailed | JobCancelled):
            return self._reports.of(event.job_id, now_s)
        return []

    def _round(self, now_s: float) -> None:
        self._tried_round_s = now_s
        for report in self._reports.all(now_s):
            self._try(report)
        self._retry, self.trouble = True, None
        self._try(RoundStarted(at_s=now_s))

    def _take(self, event: Event) -> None:
        """Fold it, keep it, and keep what must be done about it - in this order."""
        told_before = self._told.before(event, active=self._active(event))
        if told_before or not judge.is_news(self._state, event):
            return
        parts = self._parts
        after, commands = step(self._state, event, parts.policy, parts.rng)
        kept = records(event, after)
        parts.store.append(kept, commands)
        self._state = after
        for record in kept:
            self._note(record)
        self._retry = self._retry or bool(commands)

    def _note(self, event: Event) -> None:
        self._told.note(event, active=self._active(event))
        self.board.record(event, self._state)

    def _active(self, event: Event) -> bool:
        return getattr(event, "job_id", None) in self._state.jobs

    def _apply_pending(self) -> None:
        """Carry the outbox to the engine; what fails is tried again at the next round."""
        if not self._retry:
            return
        self._retry = False
        store = self._parts.store
        done = [command.key for command in store.pending() if self._applied(command)]
        store.mark_applied(done)

    def _applied(self, command: Command) -> bool:
        if not judge.still_holds(self._state, command):
            return True  # a later one has taken its place
        try:
            with self._hands:
                carry(command, self._parts.engine, self._parts.provider)
        except Exception as error:  # noqa: BLE001 - the loop goes on
            self._stumble(f"{command.key} could not be applied", error)
            return False
        return True

    def _stumble(self, what: str, error: Exception) -> None:
        _log.error("%s", what, exc_info=error)
        self.trouble = f"{what}: {error}"


def _at(event: Event) -> Make:
    """The same event, at the time the runner gives it."""
    return lambda now_s: replace(event, at_s=now_s)
