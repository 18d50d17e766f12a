"""The event log, for whoever wants to follow it."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from headway.core.ids import JobId
from headway.service.api import views
from headway.service.api.desk import Here

router = APIRouter(prefix="/events", tags=["events"])


class EventPage(BaseModel):
    """A part of the log."""

    events: list[dict[str, Any]] = Field(
        description="lines of the event log, each with its sequence",
        examples=[[{"sequence": 1, "event": "RunOpened", "at_s": 0.0, "policy": "pollux"}]],
    )
    next_after: int = Field(description="give it as after to go on")


@router.get("", summary="Read the event log")
def events(
    here: Here,
    after: Annotated[int, Query(ge=0, le=2**62, description="place to go on from")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="most events")] = 1000,
    job_id: Annotated[str | None, Query(description="only of this job")] = None,
) -> EventPage:
    """Events in their order, none twice."""
    of_job = None if job_id is None else JobId(job_id)
    lines = [
        {
            "sequence": logged.sequence,
            "event": type(logged.event).__name__,
            **views.builtins(logged.event),
        }
        for logged in here.store.load(after, limit, of_job)
    ]
    last = lines[-1]["sequence"] if lines else after
    return EventPage(events=lines, next_after=last)
