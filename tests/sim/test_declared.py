"""Owners who err in how much work they declare, and owners who lie."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pytest

from headway.core.control.events import JobFinished, JobSubmitted
from headway.core.ids import JobId
from headway.core.policy.base import Traits
from headway.core.policy.headway import Headway
from headway.core.types import Decision, JobSpec, JobView, Snapshot
from headway.sim.driver import Setup, declaring

SEEDS = range(4)
WORK = 120_000.0  # examples, 1,200 s alone on one GPU


@final
@dataclass(frozen=True)
class Told:
    """``headway``, which is told so many times the true work of some jobs."""

    liars: frozenset[JobId]
    factor: float
    inner: Headway = field(default_factory=Headway)

    @property
    def traits(self) -> Traits:
        return self.inner.traits

    def start(self) -> Any:
        return self.inner.start()

    def decide(
        self, snapshot: Snapshot, memory: Any, rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        jobs = tuple(self._told(job) for job in snapshot.jobs)
        return self.inner.decide(replace(snapshot, jobs=jobs), memory, rng)

    def _told(self, job: JobView) -> JobView:
        if job.spec.job_id not in self.liars:
            return job
        return replace(job, spec=declaring(job.spec, self.factor))


def mean_jct_s(kit: Any, liars: Sequence[JobSpec], factor: float) -> float:
    """Of the liars, among 16 others who want the same four GPUs."""
    found = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        others = [
            kit.job(
                f"other{letter}",
                submitted_s=float(rng.uniform(0, 3_000)),
                work_examples=float(rng.choice([24e3, 60e3, 120e3, 240e3])),
            )
            for letter in "abcdefghijklmnop"
        ]
        setup = Setup(workload=kit.workload(*others, *liars), cluster=kit.cluster("1x4"))
        log, _ = kit.run(setup, Told(frozenset(job.job_id for job in liars), factor))
        ends_s = {event.job_id: event.at_s for event in log if isinstance(event, JobFinished)}
        found += [ends_s[job.job_id] - job.submitted_s for job in liars]
    return float(np.mean(found))


@pytest.mark.parametrize("jobs", [1, 4])
def test_lying_about_what_is_left_does_not_pay(kit: Any, jobs: int) -> None:
    """Single jobs may gain by it now and then, but not on average, and less who does it often."""
    liars = [
        kit.job(f"mine-{index}", submitted_s=300.0 + 900.0 * index, work_examples=WORK)
        for index in range(jobs)
    ]
    honest_s = mean_jct_s(kit, liars, 1.0)
    assert mean_jct_s(kit, liars, 0.25) > honest_s
    assert mean_jct_s(kit, liars, 2.0) > honest_s


def test_declared_work_errs_by_the_seed_and_the_true_work_is_done(kit: Any) -> None:
    job = kit.job("a", work_examples=WORK)
    setup = Setup(workload=kit.workload(job), cluster=kit.cluster(), declared_error=0.7)
    log, _ = kit.run(setup, Headway())
    told = [event.job.work_examples for event in log if isinstance(event, JobSubmitted)]
    assert told[0] != WORK
    exact, _ = kit.run(replace(setup, declared_error=0.0), Headway())
    ends = [[e.at_s for e in one if isinstance(e, JobFinished)] for one in (log, exact)]
    assert ends[0] == ends[1]  # a job alone has nobody to yield to
    again, _ = kit.run(setup, Headway())
    assert again == log
