"""What jobs of one kind have shown of each other: a training that is run again need not be learned.

Two jobs are of one kind if one tenant calls them the same, but for a number at the end, and they
have the same contract: what another tenant calls ``train`` may be something else. How long each is
to train is of no matter. Only reports are read.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from headway.core.ids import JobId
from headway.core.model.throughput import stack, step_time_s
from headway.core.types import BatchContract, JobReport, JobView, Placement, Snapshot

MOST_KINDS = 1_000  # that are remembered
MOST_APART = 0.15  # relative, of a step time, up to which two jobs are still taken to be alike
MOST_BEYOND = 1_000.0  # times declared work: more was no estimate, and says nothing of others
TOLERANCE = 0.02  # of declared work, that a job may take beyond without mistrust
_NUMBER = re.compile(r"[-_.]?\d+$")


class Kind(NamedTuple):
    """Jobs that are taken to be alike."""

    tenant: str
    name: str
    contract: BatchContract

    @classmethod
    def of(cls, job: JobView) -> "Kind":
        """That of a job."""
        spec = job.spec
        return cls(spec.tenant, _NUMBER.sub("", spec.name), spec.batch)


class Shown(NamedTuple):
    """The report of the job that held most GPUs, the latest of equal ones."""

    gpus: int
    report: JobReport


class Likeness(NamedTuple):
    """Whether a job was found to be like what its kind has shown, and on what evidence."""

    alike: bool
    on: Placement
    shown_gpus: int

    def outweighs(self, other: "Likeness") -> bool:
        """Whether it was found on no smaller a placement, or of a kind that has shown more."""
        no_smaller = self.on.gpus >= other.on.gpus and self.on.nodes >= other.on.nodes
        return no_smaller or self.shown_gpus > other.shown_gpus


@dataclass(frozen=True, slots=True)
class Kinds:
    """A value: ``updated`` with each snapshot's jobs it gives the next one."""

    shown: Mapping[Kind, Shown] = field(default_factory=dict)
    beyond: Mapping[Kind, float] = field(default_factory=dict)  # progress over declared, above 1
    verdicts: Mapping[JobId, Likeness] = field(default_factory=dict)

    def updated(self, jobs: Sequence[JobView]) -> "Kinds":
        """With what these jobs report."""
        shown, beyond = dict(self.shown), dict(self.beyond)
        for job in sorted(jobs, key=lambda one: one.spec.job_id):
            if job.report is None or job.spec.adaptation is not None:
                continue
            kind = Kind.of(job)
            ratio = job.report.progress_examples / (job.work_examples or math.inf)
            ratio = min(ratio, MOST_BEYOND)
            if ratio > max(1.0 + TOLERANCE, beyond.get(kind, 1.0)):
                beyond[kind] = ratio
            if kind not in shown or job.max_gpus_held >= shown[kind].gpus:
                shown.pop(kind, None)  # so that the latest are the last
                shown[kind] = Shown(job.max_gpus_held, job.report)
        kept = dict(list(shown.items())[-MOST_KINDS:])
        told = {kind: ratio for kind, ratio in beyond.items() if kind in kept}
        return Kinds(kept, told, self._judged(jobs, kept))

    def _judged(
        self, jobs: Sequence[JobView], shown: Mapping[Kind, Shown]
    ) -> dict[JobId, Likeness]:
        """The verdict on each job that has a lender and has run: the last one of most weight.

        A smaller placement takes back nothing that was found on a larger one. Judged anew on each,
        a YOLO that agreed with its kind on 2 GPUs and not on 4 was moved to and fro each round, 85
        times; and one that agrees on 4 and not on 2 would be.
        """
        verdicts: dict[JobId, Likeness] = {}
        for job in jobs:
            like, before = _lender(shown, job), self.verdicts.get(job.spec.job_id)
            if like is None:
                continue
            now = _verdict(job, like)
            if now is not None and (before is None or now.outweighs(before)):
                verdicts[job.spec.job_id] = now
            elif before is not None:
                verdicts[job.spec.job_id] = before
        return verdicts

    def learned(self, snapshot: Snapshot) -> tuple["Kinds", Snapshot]:
        """With what a snapshot's jobs report; and the snapshot, each job with what it is lent."""
        kinds = self.updated(snapshot.jobs)
        return kinds, replace(snapshot, jobs=tuple(kinds.lent(job) for job in snapshot.jobs))

    def overrun(self, job: JobView) -> float:
        """What to multiply a job's declared work by: its kind has been seen to need so much."""
        return self.beyond.get(Kind.of(job), 1.0)

    def lent(self, job: JobView) -> JobView:
        """A job with the speed that its kind has shown on more GPUs than it ever held itself.

        It may then hold as many as those at once: the scale-out cap is against what is unknown. A
        job whose own steps took another time is not of the kind, whatever it is called.
        """
        like, own = _lender(self.shown, job), job.report
        verdict = self.verdicts.get(job.spec.job_id)
        if like is None or (verdict is not None and not verdict.alike):
            return job
        if own is None:
            report = replace(
                like.report,
                noise_scale=None,
                progress_examples=0.0,
                samples=0,
                epoch=0,
                loss=None,
                metric=None,
                eta_s=None,
                total_examples=None,
            )
        else:
            report = replace(
                own, throughput=like.report.throughput, grad_by_type=like.report.grad_by_type
            )
        most = max(job.max_gpus_held, (like.gpus + 1) // 2)
        return replace(job, report=report, max_gpus_held=most)


def _lender(shown: Mapping[Kind, Shown], job: JobView) -> Shown | None:
    """What a job's kind has shown on more GPUs than it ever held."""
    like = shown.get(Kind.of(job))
    if job.spec.adaptation is not None or like is None or like.gpus <= job.max_gpus_held:
        return None
    return like


def _verdict(job: JobView, like: Shown) -> Likeness | None:
    """Whether both say nearly the same of a step on what the job holds; None where it waits."""
    at, own = job.allocation.placement, job.report
    if own is None or not at.gpus:
        return None
    each = step_time_s(
        stack([own.throughput, like.report.throughput]),
        at.gpus,
        at.nodes > 1,
        own.batch_per_gpu,
        own.accum_steps,
        nodes=at.nodes,
    )
    return Likeness(bool(abs(each[1] - each[0]) <= MOST_APART * each[0]), at, like.gpus)
