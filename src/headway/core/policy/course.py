"""How far each job is and what is left of it, as far as it declares and reports; and its clock.

Progress is counted in examples, of a job that adapts its batch by itself in those that its seconds
alone at its requested size are worth at the goodput of now. What a unit of it takes changes along a
run, since the noise scale does: it is told in *work*, the goodput of now times seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from headway.core.ids import JobId
from headway.core.policy.egalitarian import LEAST_PER_S
from headway.core.policy.grid import Grid
from headway.core.policy.remaining import ASSUMED_S, ahead
from headway.core.policy.tables import Tables
from headway.core.predict.foresight import Foresight
from headway.core.predict.kinds import Kinds
from headway.core.predict.noise import MARKS, NoiseCourse, times_over_present
from headway.core.predict.trust import Trust, expected, is_sure
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray, JobView

BELIEVED = 0.5  # of what a share was taken to be worth, below which that was an error
BEYOND = 2.0  # a job that has gone beyond what it declared is taken to be half way


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One row a job."""

    known: BoolArray  # False: it has told nothing of that, and how long it takes is a guess
    done: Float64[FloatArray, " jobs"]  # progress, in examples
    whole: Float64[FloatArray, " jobs"]  # the same at its end
    work: Float64[FloatArray, "jobs marks"]  # up to each of MARKS, which are shares of ``whole``

    @classmethod
    def of(
        cls,
        known: BoolArray,
        done: Float64[FloatArray, " jobs"],
        whole: Float64[FloatArray, " jobs"],
        slow: Float64[FloatArray, "jobs marks"],
    ) -> Self:
        """``slow``: what a unit of progress takes at each mark, over what it takes now."""
        steps = np.diff(MARKS) * (slow[:, 1:] + slow[:, :-1]) / 2
        work = np.hstack([np.zeros((len(done), 1)), np.cumsum(steps, axis=1)])
        return cls(known=known, done=done, whole=whole, work=work * whole[:, None])

    def work_from(self, progress: Float64[FloatArray, " jobs"]) -> Float64[FloatArray, " jobs"]:
        """Work from some progress of each job to its end."""
        share = np.clip(progress / self.whole, 0.0, 1.0)
        return np.array(
            [
                work[-1] - np.interp(at, MARKS, work)
                for at, work in zip(share.tolist(), self.work, strict=True)
            ]
        )


def courses(
    grid: Grid,
    goodput_per_s: Tables,
    share_per_s: Float64[FloatArray, " jobs"],
    gpus: Int64[IntArray, " jobs"],
    told: tuple[Foresight, NoiseCourse, Kinds, Trust],
) -> Course:
    """Of every job, by what jobs have told; ``gpus`` for which the noise scale is looked ahead.

    A job of which nothing is known counts as short as the shortest, so it runs.
    """
    foresight, noise, kinds, trust = told
    jobs, count = grid.jobs, len(grid.jobs)
    done, left = np.zeros(count), np.zeros(count)
    known = np.array([_tells(job) for job in jobs])
    planned = np.array([job.spec.adaptation is not None for job in jobs])
    if planned.any():
        alone_per_s = _requested_per_s(grid, goodput_per_s)
        forecast = ahead(jobs, foresight, grid.largest)
        done = np.where(planned, forecast.done_s * alone_per_s, done)
        left = np.where(planned, forecast.left_s * alone_per_s, left)
    errors = trust.errors()
    for row in np.flatnonzero(known & ~planned):
        error = errors.get(jobs[row].spec.tenant, trust.usual)
        done[row], left[row] = _declared(jobs[row], kinds, error)
    left = np.maximum(left, share_per_s)  # an active job is not done, whatever it declared
    whole_s = (done + left) / share_per_s
    shortest_s = float(whole_s[known].min()) if known.any() else ASSUMED_S
    left = np.where(known | planned, left, shortest_s * share_per_s)
    slow = np.ones((count, len(MARKS)))
    follows = [row for row in np.flatnonzero(known) if noise.follows(jobs[row])]
    if follows:
        some = [jobs[row] for row in follows]
        slow[follows] = times_over_present(some, noise.ahead(some), gpus[follows], grid.largest)
    return Course.of(known | planned, done, done + left, slow)


def _tells(job: JobView) -> bool:
    """Whether there is anything to reckon a length from.

    A job that is lent what its kind has shown has done nothing yet; if it declares nothing either,
    twice nothing is no length.
    """
    report = job.report
    return report is not None and (report.progress_examples > 0 or job.work_examples is not None)


def _declared(job: JobView, kinds: Kinds, error: float) -> tuple[float, float]:
    """Progress, and what is left, as far as what a job declares can be trusted.

    A job that says nothing is half way, and one that goes beyond what its own loop says.
    """
    assert job.report is not None
    done, declared = job.report.progress_examples, job.work_examples
    if declared is None:
        return done, done
    overrun = kinds.overrun(job)
    whole = declared * overrun if is_sure(job) else expected(done, declared, error, overrun)
    return done, (whole if whole > done else BEYOND * done) - done


def _requested_per_s(grid: Grid, goodput_per_s: Tables) -> Float64[FloatArray, " jobs"]:
    """Goodput at the requested size, or the largest that is known, on the best GPU type."""
    job, known = np.arange(len(grid.jobs)), goodput_per_s.several.shape[2] - 1
    gpus = np.minimum([one.spec.requested_gpus for one in grid.jobs], known)
    local = np.minimum(gpus, goodput_per_s.local.shape[2] - 1)
    one_node = np.where(local == gpus, goodput_per_s.local[job, :, local].max(axis=1), 0.0)
    several = goodput_per_s.several[job, :, gpus].max(axis=1)
    return np.asarray(np.maximum(np.maximum(one_node, several), LEAST_PER_S))


@dataclass(frozen=True, slots=True)
class Clock:
    """How far one job would be in the egalitarian cluster."""

    done: float = 0.0  # progress
    ended_age_s: float | None = None  # how old it would have been at its end; None: it still runs
    unseen: tuple[tuple[float, float], ...] = ()  # shares and seconds before its first report
    share: float = 0.0  # of the cluster, in GPUs, that it last had
    per_s: float = 0.0  # and the progress a second that this was taken to be

    def corrected(self, per_s: float) -> "Clock":
        """As it would be had it known what its last share is worth, where that is far less."""
        if per_s >= BELIEVED * self.per_s:
            return self
        return replace(self, done=self.done * per_s / self.per_s, ended_age_s=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Those of all active jobs, up to a moment."""

    at_s: float = 0.0
    each: Mapping[JobId, Clock] = field(default_factory=dict)

    def advanced(
        self,
        jobs: Sequence[JobView],
        now_s: float,
        share: Float64[FloatArray, " jobs"],
        share_per_s: Float64[FloatArray, " jobs"],
        course: Course,
        before_per_s: Float64[FloatArray, " jobs"],
    ) -> "Clocks":
        """With the time since, in which each job had its share, at the goodput of now.

        ``before_per_s`` is that of the shares that they had before (``shares``). A job that ran
        on two GPUs only may take all its step for synchronisation, and one GPU for ten times as
        fast; it would have been done in a second, and rank as late for good.
        """
        each = {}
        for row, job in enumerate(jobs):
            clock = self.each.get(job.spec.job_id, Clock()).corrected(float(before_per_s[row]))
            passed_s = max(min(now_s - self.at_s, job.age_s(now_s)), 0.0)
            lived = (*clock.unseen, (float(share[row]), passed_s))
            if not course.known[row]:
                each[job.spec.job_id] = Clock(unseen=_merged(lived))
                continue
            had_now, per_s = float(share[row]), float(share_per_s[row])
            new = sum(per_s * min(had / share[row], 1.0) * seconds for had, seconds in lived)
            at, work = MARKS * course.whole[row], course.work[row]
            work_done = float(np.interp(clock.done, at, work)) + new
            ended_age_s = clock.ended_age_s
            if work_done < work[-1]:
                done = float(np.interp(work_done, work, at))
                each[job.spec.job_id] = Clock(done, share=had_now, per_s=per_s)
                continue
            if ended_age_s is None:
                ended_age_s = job.age_s(now_s) - (work_done - float(work[-1])) / per_s
            each[job.spec.job_id] = Clock(float(at[-1]), ended_age_s, share=had_now, per_s=per_s)
        return Clocks(at_s=now_s, each=each)

    def recalled(
        self,
        jobs: Sequence[JobView],
        now_s: float,
        ahead: Float64[FloatArray, " jobs"],
        before: "Clocks",
        course: Course,
    ) -> "Clocks":
        """With those of jobs that had none before but were told an end, as after a restart.

        ``ahead`` is the work from now until that end: so much, the virtual progress lacks.
        """
        each = dict(self.each)
        for row, job in enumerate(jobs):
            told_s, job_id = job.egalitarian_s, job.spec.job_id
            if told_s is None or job_id in before.each or not course.known[row]:
                continue
            at, work = MARKS * course.whole[row], course.work[row]
            done = float(np.interp(work[-1] - ahead[row], work, at))
            each[job_id] = Clock(done, told_s if told_s <= job.age_s(now_s) else None)
        return replace(self, each=each)

    def age_at_end_s(
        self,
        jobs: Sequence[JobView],
        now_s: float,
        time_s: Float64[FloatArray, " jobs"],
    ) -> Float64[FloatArray, " jobs"]:
        """How old each job would be at its end, so long from its virtual progress on."""
        ended = [self.each[job.spec.job_id].ended_age_s for job in jobs]
        return np.array(
            [
                job.age_s(now_s) + more if end is None else end
                for job, end, more in zip(jobs, ended, time_s.tolist(), strict=True)
            ]
        )

    def shares(
        self, jobs: Sequence[JobView], share: Float64[FloatArray, " jobs"]
    ) -> Float64[FloatArray, " jobs"]:
        """What each job last had, in GPUs; those of now for jobs that are new."""
        each = (self.each.get(job.spec.job_id, Clock()).share for job in jobs)
        return np.array([had or now for had, now in zip(each, share.tolist(), strict=True)])

    def done(self, jobs: Sequence[JobView]) -> Float64[FloatArray, " jobs"]:
        """Virtual progress of each job."""
        return np.array([self.each[job.spec.job_id].done for job in jobs])


def _merged(lived: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """The same, with equal shares one after the other as one."""
    if len(lived) > 1 and lived[-1][0] == lived[-2][0]:
        return (*lived[:-2], (lived[-1][0], lived[-2][1] + lived[-1][1]))
    return lived
