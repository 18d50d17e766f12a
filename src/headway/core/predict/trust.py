"""What a declared length is worth: how far tenants' words were off so far, and what to expect."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log, sqrt
from typing import NamedTuple

from scipy.special import ndtr

from headway.core.ids import JobId
from headway.core.predict.kinds import MOST_BEYOND
from headway.core.types import JobView

USUAL = 0.3  # standard deviation of log(true / declared) before a tenant's jobs have shown any
USUAL_JOBS = 10.0  # that this counts as
TELLING = 0.5  # of its declared work: a job that is gone before may have been cancelled
MOST_ERROR = 2.0  # a factor of seven; beyond, what is declared says nothing
ALIKE = 0.99  # of the worst of its kind, from which on a job is that one itself


class Word(NamedTuple):
    """What the jobs of a tenant that are gone have shown."""

    jobs: int = 0
    squares: float = 0.0  # sum of log(true / declared)^2 of those that went beyond

    def given(self, ratio: float) -> "Word":
        """With a job that did so many times what it declared."""
        beyond = log(min(max(ratio, 1.0), MOST_BEYOND))
        return Word(self.jobs + 1, self.squares + beyond**2)

    def error(self, usual: float) -> float:
        """Standard deviation of log(true / declared)."""
        square = USUAL_JOBS * usual**2 + 2.0 * self.squares
        return min(sqrt(square / (USUAL_JOBS + self.jobs)), MOST_ERROR)


@dataclass(frozen=True, slots=True)
class Trust:
    """A value: ``updated`` with each snapshot's jobs it gives the next one.

    An error is told by jobs that go beyond what they declared, and taken to be as large the other
    way: who is gone early may have been cancelled.
    """

    usual: float = USUAL
    words: Mapping[str, Word] = field(default_factory=dict)
    active: Mapping[JobId, tuple[str, float]] = field(default_factory=dict)  # done over declared

    def updated(self, jobs: Sequence[JobView]) -> "Trust":
        """With what these jobs report; who is no longer among them is gone."""
        active = {
            job.spec.job_id: (job.spec.tenant, job.report.progress_examples / job.work_examples)
            for job in jobs
            if job.report is not None and job.work_examples and not is_sure(job)
        }
        words, there = dict(self.words), {job.spec.job_id for job in jobs}
        for job_id, (tenant, ratio) in self.active.items():
            if job_id not in there and ratio >= TELLING:
                words[tenant] = words.get(tenant, Word()).given(ratio)
        return replace(self, words=words, active=active)

    def errors(self) -> Mapping[str, float]:
        """Standard deviation of log(true / declared) of each tenant that has shown anything."""
        words = dict(self.words)
        for tenant, ratio in self.active.values():
            if ratio > 1.0:
                words[tenant] = words.get(tenant, Word()).given(ratio)
        return {tenant: word.error(self.usual) for tenant, word in words.items()}


def is_sure(job: JobView) -> bool:
    """Whether the training itself says how long it is."""
    told = None if job.report is None else job.report.total_examples
    return told is not None and told == job.work_examples


def expected(done: float, declared: float, error: float, overrun: float = 1.0) -> float:
    """The whole of a job that declared so much: E[W | W > done], W lognormal with that mean.

    Its kind needs ``overrun`` times what it declares. One that is itself beyond what any of its
    kind ever was is off by at least what is seen, so there is always more to come, and to
    declare next to nothing does not pay.
    """
    if done > declared and done >= ALIKE * overrun * declared:
        error = min(max(error, log(done / declared)), MOST_ERROR)
        declared = max(declared, done * exp(-error))
    else:
        declared *= overrun
    share = done / declared
    if error <= 0.0 or share <= 0.0:
        return declared
    at = log(share) / error + error / 2.0
    return float(declared * ndtr(error - at) / ndtr(-at))
