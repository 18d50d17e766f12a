"""The last report of each job, until it is worth a line in the log."""

from collections.abc import Container
from threading import Lock
from typing import final

from headway.core.control.events import JobReported
from headway.core.ids import JobId
from headway.core.types import JobReport
from headway.protocol.messages import AgentReport


@final
class Reports:
    """Agents report every second; a log that kept it all would be nothing else.

    A report waits ``every_s`` since the last that was taken, but not beyond a round start or the
    end of its job: what a policy is told, and what is known at the end, is the latest.
    """

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._waiting: dict[JobId, JobReport] = {}
        self._taken: dict[JobId, tuple[float, JobReport]] = {}
        self._heard: dict[JobId, tuple[int, int]] = {}
        self._lock = Lock()

    def put(self, message: AgentReport) -> None:
        """Take note of an agent's report, unless a later message was here before it."""
        job_id, order = JobId(message.job_id), (message.generation, message.sequence)
        with self._lock:
            if order <= self._heard.get(job_id, (-1, -1)):
                return
            self._heard[job_id] = order
            if message.report is not None:
                self._waiting[job_id] = message.report

    def offer(self, event: JobReported) -> None:
        """Take note of a report that the engine has from the agent."""
        with self._lock:
            self._waiting[event.job_id] = event.report

    def due(self, now_s: float) -> list[JobReported]:
        """Those that have waited long enough."""
        with self._lock:
            return self._take([job for job in self._waiting if self._old(job, now_s)], now_s)

    def all(self, now_s: float) -> list[JobReported]:
        """Those of all jobs."""
        with self._lock:
            return self._take(list(self._waiting), now_s)

    def of(self, job_id: JobId, now_s: float) -> list[JobReported]:
        """That of one job, if there is one."""
        with self._lock:
            return self._take([job_id] if job_id in self._waiting else [], now_s)

    def keep(self, jobs: Container[JobId]) -> None:
        """Forget all jobs but these."""
        with self._lock:
            for known in (self._waiting, self._taken, self._heard):
                for job_id in [job_id for job_id in known if job_id not in jobs]:
                    del known[job_id]

    def _old(self, job_id: JobId, now_s: float) -> bool:
        return job_id not in self._taken or now_s - self._taken[job_id][0] >= self._every_s

    def _take(self, jobs: list[JobId], now_s: float) -> list[JobReported]:
        taken = []
        for job_id in jobs:
            report = self._waiting.pop(job_id)
            if job_id not in self._taken or self._taken[job_id][1] != report:
                taken.append(JobReported(at_s=now_s, job_id=job_id, report=report))
            self._taken[job_id] = (now_s, report)
        return taken
