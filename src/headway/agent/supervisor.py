"""The agent of one job: makes its workers what the service wants, and tells how they are.

One thread, one loop, no waiting for anybody: ``turn`` does what can be done now. Forking is left to
the caller, because a new worker must not carry this loop's frames with it.
"""

import os
import select
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace

from headway.agent.crew import Crew, Verdict, Worker
from headway.agent.forkserver import Seat
from headway.agent.leftovers import kill_descendants, see_off
from headway.agent.link import Outbox, post
from headway.agent.passage import Outcome, Passage
from headway.agent.seats import Table
from headway.core.errors import InvalidInputError
from headway.core.types import JobReport
from headway.protocol.messages import AgentPhase, Directive, WorkerNews, decode_news

ASK_EVERY_S = 0.5
FAREWELL_S = 30.0  # how long a job that has ended waits for somebody to be told; then a file tells
SETTLED_S = 1.0  # a program that reports no steps runs once it has been alive for so long


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long to be patient."""

    grace_s: float = 30.0  # for a checkpoint, before SIGTERM
    term_s: float = 5.0  # after SIGTERM, before SIGKILL


@dataclass
class Supervisor:
    """The workers of one job and the wish of the service."""

    table: Table
    outbox: Outbox
    limits: Limits
    phase: AgentPhase = AgentPhase.IDLE
    generation: int = 0  # of the workers that are alive, or were last
    done: bool = False
    leaving: bool = False  # told by a signal to go: yield, then end
    message: str = ""
    _crew: Crew | None = None
    _wanted: Directive | None = None
    _ask_at_s: float = 0.0
    _ended_s: float | None = None  # when the job came to its end
    _ordered_s: float | None = None  # when the workers were last told to yield
    _restart_s: float | None = None  # the last measured restart delay
    _passage: Passage = field(init=False)
    _again: bool = False  # start the wanted generation, though it was alive before
    _told: tuple[AgentPhase, int] | None = field(default=None)  # what the service knows

    def __post_init__(self) -> None:
        self._passage = Passage(self.table, self.limits.grace_s)

    def turn(self) -> tuple[Seat, ...]:
        """Listen, act, tell; what comes back is to be forked and handed to ``seated``."""
        self._listen()
        childless = self._reap()
        if self._crew is not None:
            self._drive(self._crew, childless=childless)
        seats = self._next()
        if not seats:
            self._talk()
            if self.leaving and self._crew is None:
                self.done = True
        return seats

    def seated(self, pids: list[int]) -> None:
        """The processes of the last seats."""
        if self._crew is not None:
            self._crew.seated(pids)

    def _listen(self) -> None:
        """Wait for a line or for the next thing to do, whichever comes first."""
        poll = select.poll()
        for end in self._crew.ends() if self._crew else ():
            poll.register(end, select.POLLIN)
        patience_s = 0.2 if self.phase in {AgentPhase.RUNNING, AgentPhase.IDLE} else 0.02
        wait_s = min(patience_s, max(0.0, self._ask_at_s - time.monotonic()))
        poll.poll(wait_s * 1000)
        self._read()

    def _read(self) -> None:
        if self._crew is None:
            return
        news, errors = self._crew.read()
        if errors:
            _log(b"\n".join(errors))
        for worker, line in news:
            try:
                self._hear(decode_news(line), worker)
            except InvalidInputError as error:
                _log(f"headway: news that cannot be read: {error}".encode())

    def _hear(self, news: WorkerNews, worker: Worker) -> None:
        crew = self._crew
        worker.ready = worker.ready or news.ready
        if crew is not None and self._passage.joined(news.joined):
            self.generation = crew.generation
        if news.stepped and crew is not None:
            crew.switches, crew.unproven, crew.stepped = news.switches, False, True
            self._measure(news.stall_s)
            self._running()
        report = news.report and self._with_restart(news.report)
        self.outbox.news.add(replace(news, report=report))

    def _measure(self, stall_s: float | None) -> None:
        """The restart delay; workers that have switched know how long their training stood still"""
        if self._ordered_s is not None:
            waited_s = time.monotonic() - self._ordered_s
            self._restart_s = waited_s if stall_s is None else stall_s
            self.outbox.stall_s, self.outbox.in_process = self._restart_s, stall_s is not None

    def _running(self) -> None:
        if self.phase is AgentPhase.STARTING:
            self.phase = AgentPhase.RUNNING
            self._ordered_s = None

    def _with_restart(self, report: JobReport) -> JobReport:
        return replace(report, restart_s=self._restart_s)

    def _reap(self) -> bool:
        """Bury who has died; whether no child is left, not even an adopted one."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            if self._crew is not None:
                self._crew.exited(pid, status)

    def _drive(self, crew: Crew, *, childless: bool) -> None:
        if childless:
            self._settle(crew)
        elif crew.all_out:
            kill_descendants()
        elif crew.broken or crew.condemned:
            self._condemn(crew)
        elif self._passage.switching is not None:
            self._switch(crew)
        elif crew.parted or self._arrives(crew):
            self._see_off(crew)
        elif self._unwanted(crew):
            self._press(crew)
        elif self._has_settled(crew):
            self._running()

    def _condemn(self, crew: Crew) -> None:
        """One has failed; just after a switch, that may be what is at fault."""
        if crew.unproven:
            crew.fall_back()
            crew.send(signal.SIGKILL)
        else:
            crew.condemn()

    def _arrives(self, crew: Crew) -> bool:
        """Whether it has switched and nobody has been told yet."""
        return self.phase is AgentPhase.YIELDING and not crew.asked

    def _see_off(self, crew: Crew) -> None:
        late = time.monotonic() - (self._ordered_s or 0.0) > self.limits.grace_s
        if see_off(crew, force=late) and self._arrives(crew):
            self.phase = AgentPhase.STARTING
            if crew.stepped:
                self._running()

    def _may_switch(self, crew: Crew) -> bool:
        runs = self.phase is AgentPhase.RUNNING and not self.leaving
        return runs and self._passage.may(crew, self._wanted)

    def _switch(self, crew: Crew) -> None:
        self._read()  # it may be complete, and whoever has left since has done so after that
        outcome = self._passage.go_on(self._wanted, leaving=self.leaving)
        if outcome is Outcome.ORDERED:
            self.phase = AgentPhase.YIELDING
            self._ordered_s = time.monotonic()
        elif outcome is Outcome.FAILED:
            crew.fall_back()

    def _has_settled(self, crew: Crew) -> bool:
        return not self.table.attaches and time.monotonic() - crew.started_s > SETTLED_S

    def _unwanted(self, crew: Crew) -> bool:
        if self.leaving or crew.falling_back:
            return True
        wanted = self._wanted
        if wanted is None:
            return False
        return not wanted.slots or wanted.generation != crew.generation

    def _press(self, crew: Crew) -> None:
        """Ask the workers to save and leave; insist, a little louder each time."""
        if self._may_switch(crew):
            return  # newcomers are invited instead
        now_s = time.monotonic()
        if not crew.asked:
            crew.asked = True
            self.phase = AgentPhase.YIELDING
            self._ordered_s = now_s
            self.table.withdraw()
        wanted = self._wanted.generation if self._wanted else crew.generation
        self.table.raise_flag(wanted if wanted != crew.generation else crew.generation + 1)
        cancel = self._wanted is not None and self._wanted.cancel
        grace_s = 0.0 if cancel else self.limits.grace_s
        waited_s = now_s - (self._ordered_s or now_s)
        if waited_s >= grace_s + self.limits.term_s:
            crew.send(signal.SIGKILL)
        elif (waited_s >= grace_s or crew.alone) and not crew.forced:
            crew.send(signal.SIGTERM)  # the only word that a program of its own understands

    def _settle(self, crew: Crew) -> None:
        """The last process of a generation is gone."""
        self._read()
        verdict = crew.verdict()
        if verdict is Verdict.YIELDED:
            self.phase = AgentPhase.IDLE
            self._again = crew.falling_back
            if self._wanted is None or not self._wanted.slots:
                self._ordered_s = None  # the time until it may run again is not a restart delay
        elif verdict is Verdict.FINISHED:
            self._end(AgentPhase.FINISHED)
        else:
            self._end(AgentPhase.FAILED, crew.culprit().tell())
        crew.close()
        self._crew = self._passage.switching = None

    def _end(self, phase: AgentPhase, message: str = "") -> None:
        """The job has come to its end; from now on a file says so, whoever is killed."""
        self.phase, self.message = phase, message
        self._ended_s = time.monotonic()
        result = self.outbox.last(phase, self.generation, message)
        self.table.where.write_result(result)

    def _next(self) -> tuple[Seat, ...]:
        wanted = self._wanted
        if wanted is None or not wanted.slots or self.leaving or self._ended_s is not None:
            return ()
        if self._crew is not None:
            return self._invite(self._crew, wanted)
        if wanted.generation == self.generation and not self._again:
            return ()
        self.generation, self._again = wanted.generation, False
        problem = self.table.program.problem(self.table.workdir)
        if problem is not None:
            self._end(AgentPhase.FAILED, problem)
            return ()
        self.phase = AgentPhase.STARTING
        self.outbox.stall_s, self.outbox.in_process = None, False
        self._crew, seats = self.table.lay(wanted)
        return seats

    def _invite(self, crew: Crew, wanted: Directive) -> tuple[Seat, ...]:
        """Newcomers, where the crew can become what is wanted."""
        busy = self._passage.switching is not None or crew.parted or not self._unwanted(crew)
        return () if busy or not self._may_switch(crew) else self._passage.begin(crew, wanted)

    def _talk(self) -> None:
        state = (self.phase, self.generation)
        now_s = time.monotonic()
        if state == self._told and now_s < self._ask_at_s:
            return
        message = self.outbox.next(self.phase, self.generation, self.message)
        answer = post(message)
        self._ask_at_s = time.monotonic() + ASK_EVERY_S
        self._told = state  # if it got no answer, it is sent again, but not before its time
        if answer is not None:
            self.outbox.answered()
            self._obey(answer, told=(message.phase, message.generation) == state)
        elif self._ended_s is not None and now_s - self._ended_s > FAREWELL_S:
            self.done = True

    def _obey(self, directive: Directive, *, told: bool) -> None:
        if not told:  # that was an older message: say at once how things are now
            self._told = None
            return
        self._wanted = directive
        if self._crew is None:
            self.done = self._ended_s is not None or (directive.cancel and not directive.slots)


def _log(text: bytes) -> None:
    with suppress(OSError):  # a full disk is no reason to kill a training
        os.write(sys.stderr.fileno(), text + b"\n")
