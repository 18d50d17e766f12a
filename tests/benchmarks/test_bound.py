"""A bound is below what any policy reaches, and by hand where it can be reckoned."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.bound import bound, needs_of, one_machine
from headway.core.policy import make
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup, fitted
from headway.sim.generate import generate
from headway.sim.results import Contender, run_all
from headway.testing.profiles import toy_profile
from headway.traces.base import adaptive_job, workload
from headway.traces.catalogue import CATALOGUE


def toys(*submitted_s: float, max_gpus: int = 4) -> Setup:
    """100 examples a second and GPU, 12,000 of work; it scales perfectly and loses nothing."""
    profile = toy_profile(noise=1e9, max_gpus=max_gpus)
    jobs = [
        (
            adaptive_job(
                f"toy-{index}",
                profile,
                submitted_s=at_s,
                requested_gpus=1,
                requested_batch_size=32,
            ),
            "toy",
        )
        for index, at_s in enumerate(submitted_s)
    ]
    return Setup(workload=workload("toys", jobs, {"toy": profile}), cluster=parse_cluster("1x4"))


def test_alone_a_job_waits_for_its_round_starts_and_runs_at_full_width() -> None:
    found = bound(toys(10.0))
    assert found.alone_s == pytest.approx(50 + 30 + 12_000 / 400, rel=1e-4)
    assert found.least_gpu_hours == pytest.approx((30 + 120) / 3600, rel=1e-4)


def test_the_makespan_is_that_of_one_machine_where_jobs_stand_in_line() -> None:
    found = bound(toys(*[0.0] * 40))
    assert found.makespan_s == pytest.approx(40 * (30 + 120) / 4, rel=1e-4)
    assert bound(toys(0.0)).makespan_s == pytest.approx(30 + 30, rel=1e-4), "of one job its own end"


def test_what_a_job_needs() -> None:
    (need,) = needs_of(toys(0.0))
    assert need.least_s == pytest.approx([30.0, *[7.5] * 4], rel=1e-4)
    assert need.gpu_s == pytest.approx([30.0, *[30.0] * 4], rel=1e-4)


def test_prices_tell_of_the_start_and_of_the_others_at_once() -> None:
    """One after the other: on all four GPUs, while a start needs but one."""
    found = bound(toys(0.0, 0.0))
    assert found.avg_jct_s == found.priced_s > max(found.alone_s, found.queue_s)


def test_two_jobs_share_one_machine() -> None:
    """The shorter one goes first; the longer one has run for one second by then."""
    assert one_machine(np.array([0.0, 1.0]), np.array([4.0, 2.0])).tolist() == [6.0, 3.0]
    ends_s = one_machine(np.array([0.0, 3.0]), np.array([4.0, 2.0]))
    assert ends_s.tolist() == [4.0, 6.0], "one second is left of the longer one"


JOBS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 10)), min_size=1, max_size=6)


@given(JOBS, st.randoms(use_true_random=False))
def test_no_order_on_one_machine_does_better(jobs: list[tuple[int, int]], draw: object) -> None:
    begins_s, work_s = (np.array(column, dtype=np.float64) for column in zip(*jobs, strict=True))
    left_s, ends_s = work_s.copy(), np.zeros(len(jobs))
    now_s = 0
    while left_s.any():  # a second at a time, each given to any job that is there
        there = [j for j in range(len(jobs)) if left_s[j] and begins_s[j] <= now_s]
        if there:
            job = draw.choice(there)  # type: ignore[attr-defined]
            left_s[job] -= 1
            ends_s[job] = now_s + 1
        now_s += 1
    assert one_machine(begins_s, work_s).sum() <= ends_s.sum() + 1e-9


@pytest.mark.parametrize("cluster", ["1x2", "2x4", "4x4"])
@pytest.mark.parametrize("policy", ["pollux", "srtf"])
def test_no_run_is_below_the_bound(policy: str, cluster: str) -> None:
    jobs = generate("pollux-mix:jobs=6,hours=0.2", CATALOGUE, 3)
    small = [job for job in jobs.jobs if jobs.profile_names[job.job_id] in {"cifar10", "ncf"}]
    some = workload("some", [(job, jobs.profile_names[job.job_id]) for job in small], CATALOGUE)
    there = parse_cluster(cluster)
    setup = Setup(workload=fitted(some, there), cluster=there)
    contender = Contender(name=policy, policy=make(policy, {}), settings={})
    (result,) = run_all(setup, [contender])
    found = bound(setup)
    assert result.summary.finished == len(small) == 4
    assert result.summary.avg_jct_s is not None
    assert found.avg_jct_s <= result.summary.avg_jct_s
    assert result.summary.makespan_s is not None
    assert found.makespan_s <= result.summary.makespan_s
    for least_s, least, job in zip(found.jct_s, found.rho, result.jobs, strict=True):
        assert job.rho is not None
        assert job.jct_s is not None
        assert least_s <= job.jct_s
        assert least <= job.rho
