"""Baselines on workload-6 against the figures published with Pollux (OSDI'21 artifact), and Sia.

16 nodes of 4 GPUs, rounds of 60 s, restarts of 30 s; results-jobload__POLICY-1.0.json.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pytest

from headway.core.ids import JobId
from headway.core.metrics import per_job
from headway.core.policy import Policy, Traits, make
from headway.core.types import Decision, JobReport, Snapshot, ThroughputParams
from headway.sim.driver import Setup, opening, simulate
from headway.traces.catalogue import CATALOGUE
from headway.traces.sniff import read_profiles, read_workload

pytestmark = pytest.mark.slow


@final
@dataclass(frozen=True)
class Profiled:
    """A policy for whom every job that has reported was profiled in full before."""

    inner: Policy[Any]
    models: dict[JobId, ThroughputParams]

    @property
    def traits(self) -> Traits:
        return self.inner.traits

    def start(self) -> Any:
        return self.inner.start()

    def decide(
        self, snapshot: Snapshot, memory: Any, rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        jobs = tuple(
            replace(job, report=self._told(job.spec.job_id, job.report))
            if job.report is not None
            else job
            for job in snapshot.jobs
        )
        return self.inner.decide(replace(snapshot, jobs=jobs), memory, rng)

    def _told(self, job_id: JobId, report: JobReport) -> JobReport:
        return replace(report, throughput=self.models[job_id], grad_by_type=())


@dataclass(frozen=True)
class Figures:
    average_s: float
    restarts: float  # a job


@pytest.fixture
def setup(kit: Any, shared_data: Path) -> Setup:
    data = shared_data / "pollux"
    profiles = read_profiles(data / "profiles")
    workload = read_workload(data / "workloads" / "workload-6.csv", profiles)
    return Setup(workload=workload, cluster=kit.cluster("16x4"))


def measured(setup: Setup, name: str, policy: Policy[Any]) -> Figures:
    log: list[Any] = []
    run = simulate(setup, policy, opening(setup, name, {}), (), log.append)
    assert run.outside == (), "everything it asked for was measured"
    jobs = per_job(log)
    assert len(jobs) == 160
    jcts_s = [job.jct_s for job in jobs if job.jct_s is not None]
    assert len(jcts_s) == 160
    return Figures(sum(jcts_s) / 160, sum(job.restarts for job in jobs) / 160)


def published_s(shared_data: Path, name: str) -> float:
    path = shared_data / "pollux" / "results" / f"results-jobload__{name}-1.0.json"
    average_s: float = json.loads(path.read_text())["avgs"]["workload-6"]
    return average_s


def test_tiresias(setup: Setup, shared_data: Path) -> None:
    """3,470 s and 0.27 restarts a job (measured here: 3,446 s, 0.24)."""
    figures = measured(setup, "tiresias", make("tiresias"))
    assert published_s(shared_data, "tiresias") == pytest.approx(3_470, abs=1)
    assert figures.average_s == pytest.approx(3_470, rel=0.02)
    assert figures.restarts == pytest.approx(0.27, abs=0.1)


def test_optimus_that_learns_its_models(setup: Setup, shared_data: Path) -> None:
    """5,302 s and 5.44 restarts a job (measured here: 5,509 s, 5.88).

    The published run knows the time of every placement beforehand; agents must find out.
    """
    figures = measured(setup, "optimus", make("optimus"))
    assert published_s(shared_data, "optimus") == pytest.approx(5_302, abs=1)
    assert figures.average_s == pytest.approx(5_302, rel=0.06)
    assert figures.restarts == pytest.approx(5.44, abs=1.5)


def test_optimus_that_was_given_its_models(setup: Setup, shared_data: Path) -> None:
    """Told what the published run knew (measured here: 5,341 s, 4.91 restarts a job)."""
    of = setup.workload.profile_names
    models = {job_id: CATALOGUE[name].params for job_id, name in of.items()}
    figures = measured(setup, "optimus", Profiled(make("optimus"), models))
    assert figures.average_s == pytest.approx(published_s(shared_data, "optimus"), rel=0.03)
    assert figures.restarts == pytest.approx(5.44, abs=1.0)


def test_sia(setup: Setup) -> None:
    """Sia (SOSP'23) under the same physics: 2,501 s and 3.49 restarts a job.

    Measured here: 2,378 s; 2,429 s while agents chose their batch by the model alone. ``stay`` = 0
    is as the paper has it. The published run prices a restart by model, up to 250 s, and moves
    within a node for nothing.
    """
    figures = measured(setup, "sia", make("sia"))
    assert 0.93 * 2_501 < figures.average_s < 1.01 * 2_501
    assert figures.restarts == pytest.approx(3.49, abs=0.5)
    as_published = measured(setup, "sia", make("sia", {"stay": "0"}))
    assert 0.93 * 2_501 < as_published.average_s < 1.01 * 2_501
    assert as_published.restarts == pytest.approx(3.49, abs=0.5)
