"""One job of the local engine: what is wanted of it, what its agent was told and has said."""

import time
from dataclasses import dataclass

from headway.core.control.commands import RunJob, StopJob
from headway.core.control.events import Event, JobReported
from headway.core.ids import JobId
from headway.engines.processes import Agent, sweep
from headway.protocol.jobdir import JobDir, SlotRecord
from headway.protocol.messages import AgentPhase, AgentReport, Directive
from headway.protocol.news import news

MARGIN_S = 5.0  # an agent that is that late is not coming
AT_THE_END = frozenset({AgentPhase.FINISHED, AgentPhase.FAILED})
NO_DIRECTIVE = Directive(generation=0, slots=(), adapts=False)


@dataclass
class LocalJob:
    """What the engine knows of one job."""

    job_id: JobId
    where: JobDir
    wanted: RunJob | StopJob | None = None  # until it is true, or cannot become true
    directive: Directive = NO_DIRECTIVE  # what the agent is told
    agent: Agent | None = None
    sequence: int = 0  # of the last message
    started: int = 0  # the last generation that was reported as started
    ended: bool = False  # finished or failed, and said so
    leaving: bool = False  # the agent is told to go; a new one must wait for that
    idle_since_s: float | None = None
    kill_at_s: float | None = None  # when to stop being patient
    trouble: str = ""  # why it could not be looked after, the last time

    @property
    def pending(self) -> bool:
        """Whether it is to run and its agent has not been told so yet."""
        return (
            isinstance(self.wanted, RunJob) and self.wanted.generation != self.directive.generation
        )

    def tell(self, directive: Directive, held: tuple[int, ...]) -> None:
        """What the agent hears from now on."""
        self.directive = directive
        self.idle_since_s = None
        self.save(held)

    def save(self, held: tuple[int, ...]) -> None:
        """For a service to come: what the agent was told, and which slots it may use."""
        directive = self.directive
        self.where.write_slots(
            SlotRecord(
                generation=directive.generation,
                slots=directive.slots,
                adapts=directive.adapts,
                held=held,
            )
        )

    def dismiss(self) -> None:
        """Tell the agent, which has no workers, to go."""
        self.leaving = True
        self.kill_at_s = time.monotonic() + MARGIN_S
        self.directive = Directive(
            generation=self.directive.generation, slots=(), adapts=False, cancel=True
        )

    def has_idled_s(self) -> float:
        return 0.0 if self.idle_since_s is None else time.monotonic() - self.idle_since_s

    def sweep(self) -> bool:
        """Kill what its agent has left behind; whether there was nothing any more."""
        return sweep(self.where.job_file, self.agent.group if self.agent else None)


def told(message: AgentReport) -> tuple[Event, ...]:
    """All that an agent's message tells, as events that have yet to be stamped with a time."""
    events = news(message)
    if message.report is None:
        return events
    return (*events, JobReported(at_s=0.0, job_id=JobId(message.job_id), report=message.report))


def last_word(job: LocalJob, message: str) -> AgentReport:
    """What an agent would have said that could not say a word."""
    return AgentReport(
        job_id=job.job_id,
        phase=AgentPhase.FAILED,
        generation=job.directive.generation,
        message=message,
    )


def go_home(message: AgentReport) -> Directive:
    """To an agent that nobody knows: let the workers save their state, then go."""
    return Directive(
        generation=message.generation + 1,
        slots=(),
        adapts=False,
        cancel=message.phase in AT_THE_END | {AgentPhase.IDLE},
    )
