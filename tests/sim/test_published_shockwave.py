"""Policies on Shockwave's 32-GPU trace against what the published code reaches there.

One-GPU nodes, rounds of 120 s, restarts of 20 s, throughputs of the TACC cluster.
"""

from pathlib import Path
from typing import Any

import pytest

from headway.core.metrics.meter import Meter
from headway.core.metrics.summary import Summary
from headway.core.policy import make
from headway.sim.driver import Setup, opening, simulate
from headway.sim.egalitarian import references
from headway.traces.sniff import read_profiles, read_workload

pytestmark = pytest.mark.slow


def setup_of(kit: Any, data: Path, trace: str, table: str, gpus: int) -> Setup:
    profiles = read_profiles(data / "shockwave" / f"{table}_throughputs.json.gz")
    workload = read_workload(data / "shockwave" / "traces" / f"{trace}.trace.gz", profiles)
    return Setup(workload=workload, cluster=kit.cluster(f"{gpus}x1"), round_s=120.0, restart_s=20.0)


@pytest.fixture
def setup(kit: Any, shared_data: Path) -> Setup:
    return setup_of(kit, shared_data, "120jobs", "tacc", 32)


def measured(setup: Setup, name: str, **settings: str) -> Summary:
    log: list[Any] = []
    told = references(setup.workload, setup.cluster)
    simulate(setup, make(name, settings), opening(setup, name, settings), told, log.append)
    summary = Meter.of(log).summary()
    assert summary.finished == len(setup.workload.jobs)
    return summary


def assert_within(found: Summary, *most: float) -> None:
    """Makespan, average JCT, worst rho_static and the fraction above 1.05."""
    reached = (
        found.makespan_s,
        found.avg_jct_s,
        found.worst_rho_static,
        found.unfair_fraction_static,
    )
    for value, limit in zip(reached, most, strict=True):
        assert value is not None
        assert value <= limit


def test_shockwave(setup: Setup) -> None:
    """Published code: 24,458 s, 9,847 s, 1.64 and 4.2 %; with an oracle 23,648 s and 1.49."""
    assert_within(measured(setup, "shockwave"), 23_650, 9_300, 1.49, 0.033)


@pytest.mark.parametrize(
    ("trace", "gpus", "most"),
    [
        ("220jobs", 64, (25_168, 8_426, 2.24, 0.045)),
        ("900jobs_durations1000", 256, (26_059, 9_545, 3.45, 0.076)),
    ],
)
def test_shockwave_is_better_than_the_published_code_in_all_four(
    kit: Any, shared_data: Path, trace: str, gpus: int, most: tuple[float, ...]
) -> None:
    """On 256 GPUs one job was foreseen too short and held up the end by 1,700 s."""
    assert_within(measured(setup_of(kit, shared_data, trace, "wisr", gpus), "shockwave"), *most)


@pytest.mark.parametrize(
    ("name", "settings", "makespan_s", "avg_jct_s"),
    [
        ("gavel", {}, 33_208, 11_274),
        ("allox", {"alpha": "0.2"}, 32_629, 9_973),
        ("mst", {"normalised": "false"}, 31_909, 9_655),
        ("ossp", {}, 24_205, 19_807),
    ],
)
def test_with_the_published_delay(
    setup: Setup, name: str, settings: dict[str, str], makespan_s: float, avg_jct_s: float
) -> None:
    """The published code as shipped, which divides time every 1,000 s and lets newcomers wait."""
    found = measured(setup, name, reset_s="1000", **settings)
    assert found.makespan_s == pytest.approx(makespan_s, rel=0.02)
    assert found.avg_jct_s == pytest.approx(avg_jct_s, rel=0.02)
