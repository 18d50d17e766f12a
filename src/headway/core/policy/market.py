"""What ``headway`` remembers, and the promise to each job that it makes of it."""

from dataclasses import dataclass, field, replace
from math import hypot

import numpy as np

from headway.core.model.efficiency import assumed_noise_scale, efficiency_error
from headway.core.policy.course import Clocks, courses
from headway.core.policy.egalitarian import FACTORS, Curves, Drain, sizes_above
from headway.core.policy.grid import Grid
from headway.core.policy.limits import caps
from headway.core.policy.promise import Promise
from headway.core.policy.speedups import Speedups
from headway.core.policy.tables import Goodputs, Places
from headway.core.predict.foresight import Foresight
from headway.core.predict.kinds import Kinds
from headway.core.predict.noise import NoiseCourse
from headway.core.predict.trust import Trust
from headway.core.types import BoolArray, Float64, FloatArray, JobView, Snapshot

UNKNOWN_ERROR = 1.0  # relative, of the time left to a job of which nothing is known
LEAST_ERROR = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """What is remembered: goodput, virtual clocks, and what jobs have shown."""

    goodputs: Goodputs = field(default_factory=Goodputs)
    clocks: Clocks = field(default_factory=Clocks)
    foresight: Foresight = field(default_factory=Foresight)
    noise: NoiseCourse = field(default_factory=NoiseCourse)
    kinds: Kinds = field(default_factory=Kinds)
    trust: Trust = field(default_factory=Trust)
    usual_share: float | None = None  # mean of 1 / active jobs, the latest hours for most
    news: tuple[int, int] = (0, 0)  # arrivals and departures
    news_s: float = 0.0  # when the last of these was

    def seen(self, snapshot: Snapshot, jobs: tuple[JobView, ...], usual_s: float) -> "Market":
        """With this snapshot, but for goodput and clocks; ``jobs`` are those that fit."""
        news = (snapshot.arrivals, snapshot.departures)
        now, before = 1.0 / max(len(jobs), 1), self.usual_share
        aged = 1.0 - np.exp(-max(snapshot.now_s - self.clocks.at_s, 0.0) / usual_s)
        return replace(
            self,
            foresight=self.foresight.updated(jobs),
            noise=self.noise.updated(jobs),
            trust=self.trust.updated(snapshot.jobs),
            usual_share=now if before is None else before + float(aged) * (now - before),
            news=news,
            news_s=snapshot.now_s if news != self.news else self.news_s,
        )

    def idle(self, now_s: float) -> "Market":
        """Without what is remembered of single jobs; what they have shown of their kinds stays."""
        return replace(self, goodputs=Goodputs(), clocks=Clocks(at_s=now_s))

    def promised(
        self,
        grid: Grid,
        weight: Float64[FloatArray, " jobs"],
        now_s: float,
        lookahead_s: Float64[FloatArray, " jobs"],
    ) -> tuple[Promise, Speedups, "Market"]:
        """What each job is promised, and the goodput of all that it may hold over its share's."""
        total = int(grid.capacity.sum())
        share = total * weight / weight.sum()
        largest = np.array([job.spec.gpus.max_gpus for job in grid.jobs], dtype=np.float64)
        share = np.minimum(share, largest)
        cap, held = caps(grid.jobs), grid.held.sum(axis=1)
        alone = [job.spec.requested_gpus * (job.spec.adaptation is not None) for job in grid.jobs]
        later = sizes_above(grid, share * FACTORS[-1])
        most = np.minimum(np.maximum.reduce([cap, held, later, np.array(alone)]), total)
        places = Places.of(grid.types, has_racks=grid.has_racks)
        goodputs = self.goodputs.updated(grid.jobs, places=places, most=most)
        tables = goodputs.arrays(grid.jobs, most)
        curves = Curves.of(grid, tables)
        share_per_s = curves.at(share)
        told = self.foresight, self.noise, self.kinds, self.trust
        course = courses(grid, tables, share_per_s, sizes_above(grid, share), told)
        work = course.work_from(course.done)
        usual = len(grid.jobs) * (self.usual_share or 1.0)
        drain = Drain.of(curves, share, work, most=usual)
        left_s = drain.time_s(work)
        before_per_s = curves.at(self.clocks.shares(grid.jobs, share))
        clocks = self.clocks.advanced(grid.jobs, now_s, share, share_per_s, course, before_per_s)
        told_s = [(job.egalitarian_s or 0.0) - job.age_s(now_s) for job in grid.jobs]
        ahead = drain.work_in(np.maximum(told_s, 0.0))
        clocks = clocks.recalled(grid.jobs, now_s, ahead, self.clocks, course)
        virtual_s = drain.time_s(course.work_from(clocks.done(grid.jobs)))
        mean_per_s = work / left_s
        known = _reckoned(grid, course.known)
        promise = Promise(
            known=known,
            age_s=np.array([job.age_s(now_s) for job in grid.jobs]),
            left_s=left_s,
            egalitarian_s=np.maximum(clocks.age_at_end_s(grid.jobs, now_s, virtual_s), 1.0),
            share_per_s=mean_per_s,
            growth=drain.growth(work, largest / share),
            error=_errors(grid, known),
            lookahead_s=lookahead_s,
        )
        speedups = Speedups.over(grid, tables, mean_per_s, cap)
        return promise, speedups, replace(self, goodputs=goodputs, clocks=clocks)


def _errors(grid: Grid, known: BoolArray) -> Float64[FloatArray, " jobs"]:
    """Relative standard error of the time left: of a step as fitted, and of the noise scale."""
    errors = np.full(len(grid.jobs), UNKNOWN_ERROR)
    for row, job in enumerate(grid.jobs):
        report = job.report
        if not known[row] or report is None:
            continue
        phi, phi_error = assumed_noise_scale(report.noise_scale), report.noise_scale_error or 0.0
        initial = job.spec.batch.initial_batch_size
        worth = efficiency_error(phi, phi_error, initial, max(report.batch_size, 1))
        step = report.step_error or report.fit_error or 0.0
        errors[row] = min(hypot(LEAST_ERROR, step, worth), UNKNOWN_ERROR)
    return errors


def _reckoned(grid: Grid, told: BoolArray) -> BoolArray:
    """Of which jobs, or of their kinds, both the speed and the length are known."""
    tells = [
        job.report is not None
        and (job.spec.adaptation is not None or job.work_examples is not None)
        for job in grid.jobs
    ]
    return told & np.array(tells, dtype=np.bool_)
