"""Runs of ``shockwave``: who is done is never scheduled again, and fair shares come true."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.control.events import Event, JobFinished, RoundDecided
from headway.core.metrics.meter import Meter
from headway.core.policy import make
from headway.sim.driver import Setup, opening, simulate
from headway.sim.egalitarian import references

JOBS = st.lists(
    st.tuples(st.integers(0, 10), st.integers(1, 3), st.integers(1, 20)), min_size=1, max_size=7
)


def ran(kit: Any, jobs: list[tuple[int, int, int]], gpus: int, **settings: str) -> list[Event]:
    """Jobs by half minutes of submission, GPUs, and minutes of run time."""
    specs = [
        kit.job(
            f"j{number}", submitted_s=30.0 * at, gpus=width, work_examples=6_000.0 * minutes * width
        )
        for number, (at, width, minutes) in enumerate(jobs)
    ]
    setup = Setup(
        workload=kit.workload(*specs),
        cluster=kit.cluster(f"{gpus}x1"),
        round_s=60.0,
        restart_s=0.0,
    )
    log: list[Event] = []
    told = references(setup.workload, setup.cluster)
    simulate(setup, make("shockwave", settings), opening(setup, "s", {}), told, log.append)
    return log


@settings(max_examples=25)
@given(jobs=JOBS)
def test_who_is_done_is_never_scheduled_again(kit: Any, jobs: list[tuple[int, int, int]]) -> None:
    """The published code fills idle GPUs with jobs that have ended by its plan."""
    done: set[str] = set()
    for event in ran(kit, jobs, 3):
        if isinstance(event, JobFinished):
            assert event.job_id not in done
            done.add(event.job_id)
        elif isinstance(event, RoundDecided):
            assert not done & {change.job_id for change in event.changes if change.allocation}
    assert len(done) == len(jobs)


@pytest.mark.parametrize(("number", "gpus"), [(2, 1), (4, 2), (6, 2), (9, 3)])
def test_equal_budgets_and_steady_jobs_that_divide_the_gpus_are_fair(
    kit: Any, number: int, gpus: int
) -> None:
    """Corollary 4.0.1: rho is at most 1. Five jobs on three GPUs lose 8 % to whole rounds."""
    log = ran(kit, [(0, 1, 20)] * number, gpus, k="0", lam="0", finish="0")
    worst = Meter.of(log).summary().worst_rho
    assert worst is not None
    assert worst <= 1.0 + 1e-6
