"""What an agent's message tells that must not be lost, as events."""

from headway.core.control.events import BatchChanged, EpochRead, JobStarted
from headway.core.ids import JobId
from headway.protocol.messages import AgentReport


def news(message: AgentReport) -> tuple[BatchChanged | EpochRead, ...]:
    """Changes of the batch and epochs read; whoever keeps them stamps them with a time."""
    job_id = JobId(message.job_id)
    return (
        *(BatchChanged(at_s=0.0, job_id=job_id, change=change) for change in message.changes),
        *(
            EpochRead(
                at_s=0.0,
                job_id=job_id,
                epoch=count.epoch,
                samples=count.samples,
                read_least=count.read_least,
                read_most=count.read_most,
            )
            for count in message.epochs
        ),
    )


def start_of(message: AgentReport) -> JobStarted:
    """That a generation has started, as its agent tells it."""
    return JobStarted(
        at_s=0.0,
        job_id=JobId(message.job_id),
        generation=message.generation,
        stall_s=message.stall_s,
        in_process=message.in_process,
    )
