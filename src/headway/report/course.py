"""The course of a run: GPUs and batch sizes over time, for the cluster and for each job."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self, final

from headway.core.control.events import (
    BatchChanged,
    Event,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobReported,
    JobStopped,
    JobSubmitted,
    NodeLost,
    RoundDecided,
)
from headway.core.ids import JobId
from headway.core.types import NOTHING, Allocation
from headway.report.usage import Usage

Steps = list[tuple[float, float]]  # (since when, how much from then on), ascending


@dataclass(slots=True, kw_only=True)
class JobCourse:
    """One job over time. Times are seconds from the beginning of the log."""

    job_id: JobId
    name: str
    asked_batch_size: int  # what it has until it says otherwise
    gpus: Steps = field(default_factory=list)
    batch_sizes: Steps = field(default_factory=list)
    started_s: float | None = None
    ended_s: float | None = None
    _allocation: Allocation = NOTHING
    _generation: int = 0

    def gpu_s(self, until_s: float) -> float:
        """GPU-seconds held."""
        ends_s = [since_s for since_s, _ in self.gpus[1:]] + [until_s]
        pairs = zip(self.gpus, ends_s, strict=True) if self.gpus else ()
        return sum(gpus * (end_s - since_s) for (since_s, gpus), end_s in pairs)

    def batches(self) -> Steps:
        """Its batch size from its first start on; before its first report, what it asked for."""
        if self.started_s is None:
            return []
        known = self.batch_sizes or [(self.started_s, float(self.asked_batch_size))]
        return [(self.started_s, known[0][1]), *known[1:]]

    def hold(self, allocation: Allocation, at_s: float) -> None:
        """From now on it has these GPUs."""
        self._allocation = allocation
        if self.started_s is None and allocation:
            self.started_s = at_s
        _step(self.gpus, at_s, allocation.gpus)

    def change(self, allocation: Allocation, generation: int, at_s: float) -> None:
        """A round gave it these GPUs."""
        self._generation = generation
        self.hold(allocation, at_s)

    def stop(self, generation: int, at_s: float) -> None:
        """It gave its GPUs back, unless it has been given others since."""
        if generation == self._generation:
            self.hold(NOTHING, at_s)

    def lose(self, event: NodeLost, at_s: float) -> None:
        """All its workers stop with those that were lost."""
        if self._allocation.on(event.node_id):
            self.hold(NOTHING, at_s)

    def use(self, batch_size: int, at_s: float) -> None:
        """Its agent says that its batch size is this."""
        _step(self.batch_sizes, at_s, batch_size)


@final
@dataclass(slots=True)
class Course:
    """Reads a log once, event by event."""

    usage: Usage = field(default_factory=Usage)
    by_job: dict[JobId, JobCourse] = field(default_factory=dict)
    _start_s: float | None = None

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        """The course of a whole log."""
        course = cls()
        for event in events:
            course.add(event)
        return course

    def add(self, event: Event) -> None:
        """Take the next event."""
        self.usage.add(event)
        if self._start_s is None:
            self._start_s = event.at_s
        at_s = event.at_s - self._start_s
        match event:
            case JobSubmitted(job=job):
                self.by_job[job.job_id] = JobCourse(
                    job_id=job.job_id, name=job.name, asked_batch_size=job.requested_batch_size
                )
            case RoundDecided():
                self._decide(event, at_s)
            case NodeLost():
                self._lose(event, at_s)
            case JobStopped() | JobReported() | BatchChanged():
                self._news(self.by_job[event.job_id], event, at_s)
            case JobFinished() | JobFailed() | JobCancelled():
                self._end(event.job_id, at_s)
            case _:
                pass

    def largest(self, count: int) -> tuple[JobCourse, ...]:
        """The jobs that held the most GPU time, the largest first."""
        until_s = self.usage.length_s
        ordered = sorted(self.by_job.values(), key=lambda job: -job.gpu_s(until_s))
        return tuple(ordered[:count])

    def _decide(self, event: RoundDecided, at_s: float) -> None:
        for change in event.changes:
            self.by_job[change.job_id].change(change.allocation, change.generation, at_s)

    def _lose(self, event: NodeLost, at_s: float) -> None:
        for job in self.by_job.values():
            job.lose(event, at_s)

    @staticmethod
    def _news(job: JobCourse, event: JobStopped | JobReported | BatchChanged, at_s: float) -> None:
        match event:
            case JobStopped():
                job.stop(event.generation, at_s)
            case JobReported(report=report):
                job.use(report.batch_size, at_s)
            case BatchChanged(change=change):
                if not job.batch_sizes:
                    job.use(change.old_batch_size, job.started_s or at_s)
                job.use(change.new_batch_size, at_s)

    def _end(self, job_id: JobId, at_s: float) -> None:
        job = self.by_job.get(job_id)
        if job is not None and job.ended_s is None:
            job.hold(NOTHING, at_s)
            job.ended_s = at_s


def _step(steps: Steps, at_s: float, value: int) -> None:
    if not steps or steps[-1][1] != value:
        steps.append((at_s, float(value)))
