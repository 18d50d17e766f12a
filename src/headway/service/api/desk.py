"""What the API's handlers may use."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request

from headway.core.ids import JobId
from headway.core.policy.base import Traits
from headway.service.reads import JobRecord
from headway.service.runner import Runner
from headway.service.settings import Settings
from headway.service.store.base import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """The service as its API sees it."""

    runner: Runner[Any]
    store: Store
    settings: Settings
    traits: Traits  # of the policy
    token: str
    log_file: Callable[[JobId], Path]  # what a job's workers have printed
    started_s: float

    def job(self, job_id: str) -> JobRecord:
        """A job, or the answer that there is none."""
        record = self.runner.board.job(job_id)
        if record is None:
            raise HTTPException(404, f"job {job_id}: there is none; `headway jobs -a` lists all")
        return record


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


Here = Annotated[Desk, Depends(_desk)]
