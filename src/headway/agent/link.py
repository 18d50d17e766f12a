"""The agent's line to the service: ask, and tell the news until it is acknowledged."""

import http.client
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from headway.core.errors import InvalidInputError
from headway.core.types import BatchChange, JobReport
from headway.protocol.environment import TOKEN_FILE, URL, URL_FILE
from headway.protocol.messages import (
    AgentPhase,
    AgentReport,
    Directive,
    EpochCount,
    WorkerNews,
    decode_directive,
    encode,
)

TIMEOUT_S = 2.0  # the service answers at once, or it is not there


@dataclass
class News:
    """What the workers have told and nobody has been told yet."""

    report: JobReport | None = None
    changes: tuple[BatchChange, ...] = ()
    epochs: tuple[EpochCount, ...] = ()

    def add(self, news: WorkerNews) -> None:
        self.report = news.report or self.report
        self.changes += news.changes
        self.epochs += news.epochs


@dataclass
class Outbox:
    """Messages in their order. One that got no answer is sent again as it was, before any other."""

    job_id: str
    news: News = field(default_factory=News)
    unanswered: AgentReport | None = None
    stall_s: float | None = None  # of the last resize
    in_process: bool = False
    _sequence: int = 0

    def next(self, phase: AgentPhase, generation: int, message: str = "") -> AgentReport:
        """What is to be sent now."""
        if self.unanswered is None:
            self._sequence += 1
            self.unanswered = self._message(phase, generation, message)
            self.news = News()
        return self.unanswered

    def answered(self) -> None:
        """The service has what ``next`` gave."""
        self.unanswered = None

    def last(self, phase: AgentPhase, generation: int, message: str) -> AgentReport:
        """A last message that needs no other: all that was not acknowledged is in it."""
        now = replace(self._message(phase, generation, message), sequence=self._sequence + 1)
        before = self.unanswered
        if before is None:
            return now
        return replace(
            now,
            report=now.report or before.report,
            changes=before.changes + now.changes,
            epochs=before.epochs + now.epochs,
        )

    def _message(self, phase: AgentPhase, generation: int, message: str) -> AgentReport:
        return AgentReport(
            job_id=self.job_id,
            phase=phase,
            generation=generation,
            sequence=self._sequence,
            report=self.news.report,
            changes=self.news.changes,
            epochs=self.news.epochs,
            message=message,
            stall_s=self.stall_s,
            in_process=self.in_process,
        )


def post(message: AgentReport) -> Directive | None:
    """Send one message; no answer that can be read is no answer, whatever the reason.

    The address is looked up each time: a service that was restarted may have another port.
    """
    try:
        where = urlsplit(_address())
        line = http.client.HTTPConnection(where.hostname or "", where.port, timeout=TIMEOUT_S)
        try:
            path = f"{where.path.rstrip('/')}/api/v1/agents/{message.job_id}"
            line.request("POST", path, body=encode(message), headers=_headers())
            answer = line.getresponse()
            body = answer.read()
        finally:
            line.close()
        return decode_directive(body) if answer.status == http.client.OK else None
    except (OSError, http.client.HTTPException, InvalidInputError, ValueError):
        return None


def _address() -> str:
    file = os.environ.get(URL_FILE)
    if file and Path(file).is_file():
        return Path(file).read_text(encoding="utf-8").strip()
    return os.environ.get(URL, "")


def _headers() -> dict[str, str]:
    headers = {"Content-Type": "application/json"}
    file = os.environ.get(TOKEN_FILE)
    if file:
        token = Path(file).read_text(encoding="utf-8").strip()
        headers["Authorization"] = f"Bearer {token}"
    return headers
