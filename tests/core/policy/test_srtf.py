"""Shortest remaining time first."""

from dataclasses import replace

import pytest

from headway.core.policy.srtf import Srtf
from headway.core.types import JobView, ReasonCode
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import code_of, decide, job, nodes, report, running, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Srtf:
        return Srtf()


def of_steps(name: str, steps: float, gpus: int = 1) -> JobView:
    """A job that has so many steps to go."""
    view = replace(job(name, requested_gpus=gpus), report=report())
    return replace(view, spec=replace(view.spec, work_samples=steps * 128))


def test_the_shortest_runs_and_stops_a_longer_one() -> None:
    long, short = running(of_steps("long", 9_000), {"n0": 1}), of_steps("short", 10)
    decision = decide(Srtf(), snapshot(nodes(1), long, short))
    assert set(decision.allocations) == {"short"}
    assert code_of(decision, "long") is ReasonCode.STOPPED


def test_by_area_a_wide_job_counts_for_each_gpu() -> None:
    wide, narrow = of_steps("wide", 100, gpus=2), of_steps("narrow", 110)
    assert set(decide(Srtf(), snapshot(nodes(2), wide, narrow)).allocations) == {"wide"}
    by_area = decide(Srtf(by_area=True), snapshot(nodes(2), wide, narrow))
    assert set(by_area.allocations) == {"narrow"}
