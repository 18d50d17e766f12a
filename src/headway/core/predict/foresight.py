"""What a policy keeps to foresee its jobs: what all jobs have shown, and an outlook for each.

Only reports are read. The prior of a job is learned from the regimes that other jobs have run, be
they done or not, so it knows nothing of the job's own future.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from headway.core.adaptation import STATIC, Adaptation
from headway.core.ids import JobId
from headway.core.predict.alike import StepTimes
from headway.core.predict.forecast import Forecast, forecast
from headway.core.predict.history import History, Past, past
from headway.core.predict.outlook import Outlook, outlook
from headway.core.predict.speed import Asked, epoch_times_s, measured_step_s
from headway.core.types import Float64, FloatArray, JobView

MOST_GONE = 5_000  # jobs that are remembered after they went
GONE_NEAR_END = 0.8  # of a job that is gone: beyond, it is taken to have come to its end


class Known(NamedTuple):
    """What is remembered of a job."""

    adaptation: Adaptation
    past: Past
    active: bool


class Kept(NamedTuple):
    """An outlook, and what it was made from."""

    regimes: int
    news: int
    outlook: Outlook


@dataclass(frozen=True, slots=True)
class Foresight:
    """A value: ``updated`` with each snapshot's jobs it gives the next one."""

    known: Mapping[JobId, Known] = field(default_factory=dict)
    step_s: StepTimes = field(default_factory=dict)
    kept: Mapping[JobId, Kept] = field(default_factory=dict)

    def updated(self, jobs: Sequence[JobView]) -> "Foresight":
        """With what these jobs report; outlooks are made anew where something has happened."""
        present = {job.spec.job_id: _known(job) for job in jobs}
        gone = [(key, _gone(one)) for key, one in self.known.items() if key not in present]
        known = {**dict(gone[-MOST_GONE:]), **present}
        history = History.of(one.past for one in known.values())
        step_s = dict(self.step_s)
        for job in jobs:
            step_s.update(measured_step_s(adaptation_of(job), job.report))
        kept = {job.spec.job_id: self._outlook(job, known, history) for job in jobs}
        return Foresight(known, step_s, kept)

    def _outlook(self, job: JobView, known: Mapping[JobId, Known], history: History) -> Kept:
        adaptation, regimes = (
            known[job.spec.job_id].adaptation,
            () if job.report is None else job.report.regimes,
        )
        news, before = history.news(adaptation), self.kept.get(job.spec.job_id)
        if before is not None and (before.regimes, before.news) == (len(regimes), news):
            return before
        return Kept(len(regimes), news, outlook(adaptation, regimes, history))

    def forecast(self, jobs: Sequence[JobView], gpus: Sequence[int]) -> Forecast:
        """Remaining run time of jobs that were in the last update, on so many GPUs each."""
        outlooks = [self.kept[job.spec.job_id].outlook for job in jobs]
        asked = [
            Asked(
                adaptation=self.known[job.spec.job_id].adaptation,
                batch=job.spec.batch,
                report=job.report,
                batch_sizes=each.batch_sizes,
                gpus=count,
                several_nodes=len(job.allocation.per_node) > 1,
            )
            for job, each, count in zip(jobs, outlooks, gpus, strict=True)
        ]
        return forecast(outlooks, self.epochs_done(jobs), epoch_times_s(asked, self.step_s))

    def epochs_done(self, jobs: Sequence[JobView]) -> Float64[FloatArray, " jobs"]:
        """As far as each has come by its last report."""
        return np.array([self.known[job.spec.job_id].past.done for job in jobs], dtype=np.float64)


def adaptation_of(job: JobView) -> Adaptation:
    """A job's adaptation; one without trains at its requested size, in a single epoch.

    A job that says nothing of its end is expected to run as long again as it has.
    """
    spec = job.spec
    if spec.adaptation is not None:
        return spec.adaptation
    return Adaptation(
        rule=STATIC,
        model=spec.name,
        configurations=(spec.requested_batch_size,),
        epochs=1.0,
        samples_per_epoch=max(1, round(_work(job))),
    )


def _work(job: JobView) -> float:
    progress = 0.0 if job.report is None else job.report.progress_examples
    return job.work_examples or job.spec.work_samples or 2.0 * progress


def _known(job: JobView) -> Known:
    adaptation, report = adaptation_of(job), job.report
    done = 0.0 if report is None else report.progress_examples / adaptation.samples_per_epoch
    return Known(
        adaptation, past(adaptation, () if report is None else report.regimes, done), active=True
    )


def _gone(one: Known) -> Known:
    """A job that is gone has told all that it will."""
    if not one.active:
        return one
    ended = one.past.done >= GONE_NEAR_END * one.past.epochs
    done = one.past.epochs if ended else one.past.done
    return one._replace(past=replace(one.past, done=done), active=False)
