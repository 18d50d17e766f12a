"""What the demo shows: a live table, lines where there is no terminal, and the table at the end."""

from collections.abc import Iterator, Sequence

from headway.cli.demo_jobs import DemoJob
from headway.core.control.events import (
    BatchChanged,
    Event,
    JobFailed,
    JobFinished,
    JobStarted,
    JobSubmitted,
    RoundDecided,
)
from headway.core.explain.why import figures
from headway.core.types import BatchChange, Reason
from headway.core.words import counted
from headway.report.story import JobStory, Stories, over_time

LIVE_COLUMNS = ("job", "phase", "GPUs", "batch", "metric", "target", "noise scale", "why")
END_COLUMNS = (
    "job",
    "JCT s",
    "GPUs over time",
    "batch over time",
    "metric",
    "target",
    "noise scale",
    "epochs exact",
)
RIGHT = frozenset({"JCT s", "GPUs", "batch", "metric", "target", "noise scale"})


def lines(event: Event, stories: Stories, start_s: float) -> Iterator[str]:
    """One line of text for each thing worth telling, for a screen that cannot be redrawn."""
    at = f"{event.at_s - start_s:6.1f} s"
    match event:
        case JobSubmitted(job=job):
            yield f"{at}  {job.name} is submitted"
        case RoundDecided():
            reasons = {reason.job_id: reason for reason in event.reasons}
            for change in event.changes:
                story = stories.by_job[change.job_id]
                before, after = story.gpus[-2], story.gpus[-1]
                why = why_size(reasons.get(change.job_id))
                yield f"{at}  {story.name}: {before} → {counted(after, 'GPU')}  {why}".rstrip()
        case BatchChanged(change=change) if change.resizes:
            name = stories.by_job[event.job_id].name
            sizes = f"{change.old_batch_size} → {change.new_batch_size}"
            yield f"{at}  {name}: batch {sizes}  {why_batch(change)}"
        case JobStarted():
            cost = f", {event.cost()}" if event.cost() else ""
            yield f"{at}  {stories.by_job[event.job_id].name} is training{cost}"
        case JobFinished() | JobFailed():
            story = stories.by_job[event.job_id]
            yield f"{at}  {story.name} has {story.end} {story.message}".rstrip()
        case _:
            return


def why_size(reason: Reason | None) -> str:
    """The decision's reason with its numbers, as people read them."""
    if reason is None:
        return ""
    told = [f"{name.removesuffix('_s')} {value}" for name, value in figures(reason)]
    return f"{reason.code}: {', '.join(told)}" if told else str(reason.code)


def why_batch(change: BatchChange) -> str:
    """What the agent expected of another batch size, and from which noise scale."""
    if change.predicted_gain == 1:
        return change.why
    gain = f"goodput {change.predicted_gain - 1:+.0%} expected"
    if change.noise_scale is None:
        return gain
    error = change.noise_scale_error
    spread = "" if error is None else f" ± {error:.2g}"
    return f"{gain} at noise scale {change.noise_scale:.3g}{spread}"


def live_rows(stories: Stories, jobs: Sequence[DemoJob]) -> Iterator[tuple[str, ...]]:
    """One row a job, submitted or not."""
    by_name = {story.name: story for story in stories.by_job.values()}
    for job in jobs:
        story = by_name.get(job.name)
        if story is None:
            yield (job.name, f"arrives at {job.arrives_s:.0f} s", *("",) * 6)
            continue
        yield (
            job.name,
            story.end or _phase(story),
            str(story.gpus[-1]),
            str(story.batch_sizes[-1]) if story.batch_sizes else "-",
            job.shown(story.metric),
            job.shown(job.target),
            _noise(story),
            "" if story.end else _why(story),
        )


def end_rows(stories: Stories, jobs: Sequence[DemoJob]) -> Iterator[tuple[str, ...]]:
    """The table at the end: one row for each job that was submitted."""
    wanted = {job.name: job for job in jobs}
    for story in stories.by_job.values():
        job = wanted[story.name]
        exact = len(story.epochs) - len(story.inexact_epochs)
        yield (
            story.name,
            story.end if story.jct_s is None else f"{story.jct_s:.0f}",
            over_time(story.gpus),
            over_time(story.batch_sizes),
            job.shown(story.metric),
            job.shown(job.target),
            _noise(story),
            f"{exact} of {len(story.epochs)}",
        )


def _phase(story: JobStory) -> str:
    if story.running:
        return "running"
    return "starting" if story.gpus[-1] else "waiting"


def _why(story: JobStory) -> str:
    """The newest of: why this size, why this batch."""
    size = why_size(story.reason)
    return f"{size}; batch: {why_batch(story.change)}" if story.change else size


def _noise(story: JobStory) -> str:
    return "-" if story.noise_scale is None else f"{story.noise_scale:.3g}"
