"""Jobs: submit, list, show, cancel, and what they print."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from headway.core.control.events import Event, JobCancelled, JobSubmitted
from headway.core.explain.more import more
from headway.core.ids import JobId
from headway.core.types import Node, total_gpus
from headway.core.words import counted
from headway.service.api import views
from headway.service.api.admit import admit
from headway.service.api.desk import Desk, Here
from headway.service.api.errors import NOT_FOUND
from headway.service.api.schemas import JobRequest
from headway.service.api.views import Dry, JobDetail, JobSummary

router = APIRouter(prefix="/jobs", tags=["jobs"])
MOST_LOG_BYTES = 1 << 20  # in one answer


class JobList(BaseModel):
    """Jobs by submission."""

    jobs: list[JobSummary]


class LogText(BaseModel):
    """A part of what a job has printed."""

    text: str
    offset: int = Field(description="byte that the text begins at")
    next_offset: int = Field(description="give it as offset to go on")
    size: int = Field(description="bytes there are now")
    ended: bool = Field(description="whether the job has ended, so that no more will come")


@router.post("", status_code=201, summary="Submit a job")
def submit(
    request: JobRequest,
    here: Here,
    response: Response,
    dry_run: Annotated[bool, Query(description="only say what would happen")] = False,
) -> JobDetail | Dry:
    """The job is kept when this answers; the policy decides about it at the next round start."""
    board, nodes = here.runner.board, tuple(here.runner.state.nodes.values())
    if dry_run:
        response.status_code = 200
        return _dry(request, here, nodes)

    def make(now_s: float) -> Event:
        job_id = board.free_id(request.name)
        return JobSubmitted(at_s=now_s, job=admit(request, job_id, now_s, nodes))

    admit(request, JobId(request.name), 0.0, nodes)  # what is wrong is found without the runner
    event = here.runner.ask(make)
    assert isinstance(event, JobSubmitted)
    response.headers["Location"] = f"/api/v1/jobs/{event.job.job_id}"
    return _detail(here, event.job.job_id, event.at_s)


def _detail(here: Desk, job_id: str, now_s: float) -> JobDetail:
    record = here.job(job_id)
    told = record.told(here.settings.policy, here.runner.board.factors)
    now = here.runner.state.snapshot()
    active = (job for job in now.jobs if job.spec.job_id == job_id)
    worth = next((more(job, now, here.traits) for job in active), "")
    return views.detail(record, told, now_s, worth)


def _dry(request: JobRequest, here: Desk, nodes: Sequence[Node]) -> Dry:
    job_id = here.runner.board.free_id(request.name)
    spec = admit(request, job_id, here.runner.now_s(), nodes)
    state = here.runner.state
    total = total_gpus(state.nodes.values())
    free = total - sum(job.allocation.gpus for job in state.jobs.values())
    due_s = here.runner.next_round_s
    wait_s = 0.0 if due_s is None else max(due_s - here.runner.now_s(), 0.0)
    least, most = spec.gpus.smallest, counted(spec.gpus.max_gpus, "GPU")
    sizes = most if least == spec.gpus.max_gpus else f"{least} to {most}"
    message = (
        f"valid: {job_id} may hold {sizes}; {free} of {total} are free, "
        f"{counted(len(state.jobs), 'other active job')}; policy "
        f"{here.settings.policy} decides in {wait_s:.0f} s. Nothing was submitted."
    )
    return Dry(job_id=job_id, spec=views.builtins(spec), message=message)


@router.get("", summary="List jobs")
def list_jobs(
    here: Here, ended: Annotated[bool, Query(description="those that have ended too")] = False
) -> JobList:
    """Active jobs, or all."""
    now_s = here.runner.now_s()
    records = here.runner.board.jobs()
    shown = [views.summary(record, now_s) for record in records if ended or not record.phase.ended]
    return JobList(jobs=shown)


@router.get("/{job_id}", summary="Show one job", responses=NOT_FOUND)
def show(job_id: str, here: Here) -> JobDetail:
    """All there is: phase, allocation, the last decision, the promise, the history."""
    return _detail(here, job_id, here.runner.now_s())


@router.delete("/{job_id}", summary="Cancel a job", responses=NOT_FOUND)
def cancel(job_id: str, here: Here) -> JobDetail:
    """Its GPUs are freed for good. A job that has ended stays as it ended."""
    record = here.job(job_id)
    if not record.phase.ended:
        known = record.job.spec.job_id
        here.runner.ask(lambda now_s: JobCancelled(at_s=now_s, job_id=known))
    return _detail(here, job_id, here.runner.now_s())


@router.post("/{job_id}/cancel", summary="Cancel a job", responses=NOT_FOUND)
def cancel_by_post(job_id: str, here: Here) -> JobDetail:
    """The same as DELETE."""
    return cancel(job_id, here)


@router.get("/{job_id}/logs", summary="What a job has printed", responses=NOT_FOUND)
def logs(
    job_id: str,
    here: Here,
    offset: Annotated[int, Query(ge=0, le=2**62, description="byte to begin at")] = 0,
    tail: Annotated[
        int | None, Query(ge=0, le=MOST_LOG_BYTES, description="only the last bytes")
    ] = None,
) -> LogText:
    """At most a megabyte; give ``next_offset`` as ``offset`` to go on."""
    record = here.job(job_id)
    path = here.log_file(record.job.spec.job_id)
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            start = min(offset, size) if tail is None else max(size - tail, 0)
            file.seek(start)
            text = file.read(MOST_LOG_BYTES)
    except FileNotFoundError:  # it has not printed anything yet
        size = start = 0
        text = b""
    return LogText(
        text=text.decode(errors="replace"),
        offset=start,
        next_offset=start + len(text),
        size=size,
        ended=record.phase.ended,
    )
