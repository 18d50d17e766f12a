"""The worked example of docs/explanation/fairness.md: every number in it comes from a run."""

from pathlib import Path
from typing import Any

import pytest

from headway.core.metrics.meter import Meter
from headway.core.metrics.summary import JobOutcome
from headway.core.policy import make
from headway.sim.driver import Setup, opening, simulate
from headway.sim.egalitarian import references

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "fairness.md"


@pytest.fixture
def setup(kit: Any) -> Setup:
    """Two GPUs; 100 examples a second on each."""
    jobs = (
        kit.job("long", work_examples=36_000.0),
        kit.job("wide", gpus=2, work_examples=24_000.0),
        kit.job("brief", submitted_s=60.0, work_examples=6_000.0),
    )
    return Setup(
        workload=kit.workload(*jobs), cluster=kit.cluster("1x2"), round_s=60.0, restart_s=0.0
    )


def outcomes(setup: Setup, policy: str) -> tuple[JobOutcome, ...]:
    log: list[Any] = []
    told = references(setup.workload, setup.cluster)
    simulate(setup, make(policy, {}), opening(setup, policy, {}), told, log.append)
    return Meter.of(log).outcomes()


def tables() -> list[list[list[str]]]:
    """The tables of the page, as cells without their heads."""
    found: list[list[list[str]]] = [[]]
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [table[2:] for table in found if table]


def test_the_other_worlds(setup: Setup) -> None:
    told = {each.job_id: each for each in references(setup.workload, setup.cluster)}
    rows = [
        [
            job.job_id,
            f"{job.submitted_s:.0f} s",
            str(job.requested_gpus),
            f"{told[job.job_id].exclusive_s:.0f} s",
            f"{told[job.job_id].egalitarian_s:.0f} s",
        ]
        for job in setup.workload.jobs
    ]
    assert sorted(tables()[1]) == sorted(rows)


@pytest.mark.parametrize(("policy", "place"), [("fifo", 2), ("srtf", 3)])
def test_the_four_readings(setup: Setup, policy: str, place: int) -> None:
    rows = []
    for one in outcomes(setup, policy):
        assert one.jct_s is not None
        readings = (one.rho, one.rho_own, one.rho_jobs, one.rho_static)
        cells = [f"{value:.2f}" for value in readings if value is not None]
        rows.append([one.job_id, f"{one.jct_s:.0f} s", *cells])
    assert tables()[place] == rows
