"""What happened to each job, from an event log: its sizes, its batches, its metric, and why."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from headway.core.control.events import (
    BatchChanged,
    Change,
    EpochRead,
    Event,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobReported,
    JobStarted,
    JobSubmitted,
    RoundDecided,
)
from headway.core.ids import JobId
from headway.core.types import BatchChange, Reason


@dataclass(slots=True, kw_only=True)
class JobStory:
    """One job's life so far. Times are seconds of the log's clock."""

    job_id: JobId
    name: str
    submitted_s: float
    started_s: float | None = None
    ended_s: float | None = None
    end: str = ""  # finished, failed or cancelled
    message: str = ""  # why it failed
    gpus: list[int] = field(default_factory=lambda: [0])  # each size it was given, in order
    batch_sizes: list[int] = field(default_factory=list)  # each batch size it used, in order
    resizes: int = 0  # changes of size that found it running
    metric: float | None = None
    noise_scale: float | None = None
    progress_examples: float = 0.0
    samples: int = 0
    epochs: list[EpochRead] = field(default_factory=list)
    reason: Reason | None = None  # of the last decision that changed something
    change: BatchChange | None = None  # the last that was another size
    running: bool = False

    @property
    def jct_s(self) -> float | None:
        """Completion minus submission, for a job that finished."""
        if self.ended_s is None or self.end != "finished":
            return None
        return self.ended_s - self.submitted_s

    @property
    def inexact_epochs(self) -> list[int]:
        """Epochs in which some sample was not read exactly once."""
        return [e.epoch for e in self.epochs if (e.read_least, e.read_most) != (1, 1)]


class Stories:
    """A fold over events, one story a job; feed it a log whole or as it grows."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.by_job: dict[JobId, JobStory] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Take one more event."""
        match event:
            case JobSubmitted(job=job):
                self.by_job[job.job_id] = JobStory(
                    job_id=job.job_id, name=job.name, submitted_s=event.at_s
                )
            case RoundDecided():
                self._decided(event)
            case JobStarted() | JobReported() | BatchChanged() | EpochRead():
                self._news(self.by_job[event.job_id], event)
            case JobFinished():
                self._end(event.job_id, event.at_s, "finished")
            case JobFailed():
                self._end(event.job_id, event.at_s, "failed", event.message)
            case JobCancelled():
                self._end(event.job_id, event.at_s, "cancelled")
            case _:
                pass

    def _decided(self, decided: RoundDecided) -> None:
        for change in decided.changes:
            self._resized(self.by_job[change.job_id], change, decided.at_s)
        for reason in decided.reasons:
            self.by_job[reason.job_id].reason = reason

    def _resized(self, story: JobStory, change: Change, at_s: float) -> None:
        story.resizes += story.running and change.allocation.gpus != story.gpus[-1]
        story.gpus.append(change.allocation.gpus)
        story.running = False
        if story.started_s is None and change.allocation:
            story.started_s = at_s

    def _news(
        self, story: JobStory, event: JobStarted | JobReported | BatchChanged | EpochRead
    ) -> None:
        match event:
            case JobStarted():
                story.running = True
            case EpochRead():
                story.epochs.append(event)
            case BatchChanged(change=change):
                story.change = change if change.resizes else story.change
            case JobReported(report=report):
                if not story.batch_sizes or story.batch_sizes[-1] != report.batch_size:
                    story.batch_sizes.append(report.batch_size)
                story.metric = report.metric if report.metric is not None else story.metric
                story.noise_scale = report.noise_scale
                story.progress_examples = report.progress_examples
                story.samples = report.samples

    def _end(self, job_id: JobId, at_s: float, end: str, message: str = "") -> None:
        story = self.by_job.get(job_id)
        if story is not None and not story.end:
            story.ended_s, story.end, story.message = at_s, end, message
            story.running = False


def over_time(values: list[int], keep: int = 8) -> str:
    """A list of sizes as people read it: ``1→2→4``; the middle of a long one is left out."""
    if len(values) > keep:
        head, tail = values[: keep // 2], values[-(keep // 2) :]
        return "→".join(map(str, head)) + "→…→" + "→".join(map(str, tail))
    return "→".join(map(str, values))
