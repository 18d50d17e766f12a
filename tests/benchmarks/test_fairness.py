"""``rho_pollux`` by hand, by law, and against the published run of Tiresias."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.results.fairness import mean_active, rho_pollux
from benchmarks.results.scope import Scope
from benchmarks.results.store import JobRow
from headway.testing.profiles import toy_profile
from headway.traces.base import Workload, adaptive_job, workload


def row(name: str, submitted_s: float, jct_s: float) -> JobRow:
    return JobRow(name=name, submitted_s=submitted_s, jct_s=jct_s, restarts=0, rho=1.0)


def toys(*names: str) -> Workload:
    """100 examples a second and GPU, 12,000 of work, and no example is worth less in a batch."""
    profile = toy_profile(noise=1e12)
    jobs = [
        adaptive_job(name, profile, submitted_s=0.0, requested_gpus=1, requested_batch_size=32)
        for name in names
    ]
    return workload("toys", [(job, "toy") for job in jobs], {"toy": profile})


def test_the_fair_share_is_rounded_down() -> None:
    """a: 4 GPUs alone would take 30 s of 120; b shares half its life, so 4 / 1.5 makes 2 GPUs."""
    rho = rho_pollux([row("a", 0, 120), row("b", 60, 120)], toys("a", "b"), gpus=4)
    assert rho == pytest.approx([120 / (30 + 60), 120 / (30 + 60)])


def test_alone_in_the_cluster_all_gpus_are_the_share() -> None:
    assert rho_pollux([row("a", 0, 60)], toys("a"), gpus=4) == pytest.approx([60 / (30 + 30)])


def test_a_share_is_at_least_one_gpu() -> None:
    rows = [row(name, 0, 600) for name in "abcde"]
    assert rho_pollux(rows, toys(*"abcde"), gpus=4) == pytest.approx([600 / (30 + 120)] * 5)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 1000)), min_size=1, max_size=20))
def test_the_mean_of_active_jobs_counts_the_job_itself(lives: list[tuple[int, int]]) -> None:
    rows = [row(str(index), *life) for index, life in enumerate(lives)]
    means = mean_active(rows)
    assert np.all(means >= 1 - 1e-9)
    assert np.all(means <= len(rows) + 1e-9)
    # by counting: who is there in each second of a life
    for (began, took), found in zip(lives, means.tolist(), strict=True):
        there = sum(
            start <= second < start + length
            for second in range(began, began + took)
            for start, length in lives
        )
        assert found == pytest.approx(there / took)


def test_tiresias_as_published(shared_data: Path) -> None:
    """Another reading of the same completion times: mean 2.61, worst 21.2, 24 % above 2.

    Here the best fixed batch ends ncf, 54 of 160 jobs and the worst among them, in 33 s; the two
    readings agree if that is 41 s.
    """
    rho = Scope(data=shared_data / "pollux").published_rho("tiresias", 6)
    assert rho.mean() == pytest.approx(2.61, rel=0.1)
    assert rho.max() == pytest.approx(21.2, rel=0.14)
    assert np.mean(rho > 2) == pytest.approx(0.24, abs=0.02)
