"""How earlier promises of a log have come out, and how wide an interval that asks for."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np

from headway.core.control.events import (
    Event,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobSubmitted,
    RoundDecided,
    RunOpened,
)
from headway.core.control.promised import Basis, Promised
from headway.core.ids import JobId

TAIL = 0.025  # of promises that may come out below the interval, and as many above
PRIOR_SPREAD = 0.5  # of the logarithm of time left over predicted, before any job has ended
PRIOR_JOBS = 10  # ended jobs that this counts for
# of a normal distribution, at the middles of as many equal parts
PRIOR = (-1.645, -1.036, -0.674, -0.385, -0.126, 0.126, 0.385, 0.674, 1.036, 1.645)
MOST_JOBS = 200  # the last so many that ended
LEAST_S = 1.0  # of time left; less is nothing to divide by


class Factors(NamedTuple):
    """What the predicted time left is multiplied with: 95 of 100 ends fall between."""

    least: float
    most: float


EXACT = Factors(1.0, 1.0)


@final
@dataclass(slots=True)
class Record:
    """Reads a log event by event. A policy's standard error knows of its forecasts alone; that
    other jobs come and go, and with them a job's share, only its record tells.
    """

    _submitted_s: dict[JobId, float] = field(default_factory=dict)
    _told: dict[JobId, list[tuple[float, float]]] = field(default_factory=dict)  # when, until when
    _ended: deque[tuple[float, ...]] = field(default_factory=lambda: deque(maxlen=MOST_JOBS))

    def add(self, event: Event) -> None:
        """Take the next event."""
        match event:
            case RunOpened():
                self._told, self._ended = {}, deque(maxlen=MOST_JOBS)  # another policy decides
            case JobSubmitted(job=spec):
                self._submitted_s[spec.job_id] = spec.submitted_s
            case RoundDecided():
                self._decided(event)
            case JobFinished() | JobFailed() | JobCancelled():
                self._end(event)
            case _:
                pass

    @property
    def factors(self) -> Factors:
        """By the promises of the jobs that have ended; each job counts once, however often told."""
        weighted = sorted(self._weighted())
        logs = np.array([log for log, _ in weighted])
        weight = np.array([weight for _, weight in weighted])
        at = (np.cumsum(weight) - weight / 2) / weight.sum()
        least, most = np.exp(np.interp([TAIL, 1.0 - TAIL], at, logs)).tolist()
        return Factors(min(least, 1.0), max(most, 1.0))

    def _weighted(self) -> Iterator[tuple[float, float]]:
        """Logarithms of time left over predicted, each with its weight."""
        for deviate in PRIOR:
            yield PRIOR_SPREAD * deviate, PRIOR_JOBS / len(PRIOR)
        for job in self._ended:
            for log in job:
                yield log, 1.0 / len(job)

    def _decided(self, event: RoundDecided) -> None:
        for reason in event.reasons:
            promised, submitted_s = Promised.of(reason), self._submitted_s.get(reason.job_id)
            if submitted_s is None or promised is None or promised.basis is Basis.GUESS:
                continue  # a guess is no promise, and how it came out says nothing of one
            told = self._told.setdefault(reason.job_id, [])
            told.append((event.at_s, submitted_s + promised.finish_s))

    def _end(self, event: JobFinished | JobFailed | JobCancelled) -> None:
        self._submitted_s.pop(event.job_id, None)
        told = self._told.pop(event.job_id, [])
        if isinstance(event, JobFinished) and told:
            self._ended.append(
                tuple(
                    float(np.log(max(event.at_s - at_s, LEAST_S) / max(until_s - at_s, LEAST_S)))
                    for at_s, until_s in told
                )
            )
