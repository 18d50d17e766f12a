"""Outcomes to aggregates: what counts, what does not, and what is None."""

import json
from dataclasses import asdict, fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.lifecycle import Phase
from headway.core.ids import JobId
from headway.core.metrics.summary import JobOutcome, Summary, Totals, summary_of

NO_TOTALS = Totals(
    makespan_s=None, utilisation=None, gap_max=None, node_hours=0.0, provisioned_gpu_hours=0.0
)
CONTRACT = [
    "jobs",
    "finished",
    "avg_jct_s",
    "p50_jct_s",
    "p99_jct_s",
    "makespan_s",
    "avg_queueing_s",
    "worst_rho",
    "mean_rho",
    "p95_rho",
    "unfair_fraction",
    "worst_rho_own",
    "mean_rho_own",
    "p95_rho_own",
    "unfair_fraction_own",
    "worst_rho_jobs",
    "mean_rho_jobs",
    "p95_rho_jobs",
    "unfair_fraction_jobs",
    "worst_rho_static",
    "mean_rho_static",
    "p95_rho_static",
    "unfair_fraction_static",
    "utilisation",
    "restarts",
    "gpu_hours",
    "gap_max",
    "node_hours",
    "provisioned_gpu_hours",
]


def outcome(
    jct_s: float | None = 100.0,
    rho: float | None = None,
    rho_static: float | None = None,
    ended: Phase | None = Phase.FINISHED,
    tenant: str = "default",
) -> JobOutcome:
    return JobOutcome(
        job_id=JobId("a"),
        name="a",
        tenant=tenant,
        submitted_s=0.0,
        started_s=0.0,
        finished_s=jct_s,
        jct_s=jct_s,
        queueing_s=0.0,
        gpu_hours=0.5,
        provisioned_gpu_hours=0.75,
        entitled_gpu_hours=0.0,
        restarts=2,
        max_gpus=1,
        rho=rho,
        rho_own=rho,
        rho_jobs=rho,
        rho_static=rho_static,
        ended=ended,
    )


def test_the_fields_are_the_contract_of_the_command_line() -> None:
    """Scripts read these names; they are the contract of `simulate --json`."""
    assert [field.name for field in fields(Summary)] == CONTRACT


@given(jct_s=st.lists(st.floats(1, 1e6), min_size=1, max_size=50))
def test_averages_and_percentiles_are_numpy_s_over_finished_jobs(jct_s: list[float]) -> None:
    unfinished = outcome(jct_s=None, ended=None)
    summary = summary_of([*(outcome(value) for value in jct_s), unfinished], NO_TOTALS)
    assert (summary.jobs, summary.finished) == (len(jct_s) + 1, len(jct_s))
    assert summary.avg_jct_s == pytest.approx(np.mean(jct_s))
    assert summary.p50_jct_s == pytest.approx(np.median(jct_s))
    assert summary.p99_jct_s == pytest.approx(np.quantile(jct_s, 0.99, method="linear"))
    assert summary.restarts == 2 * (len(jct_s) + 1)
    assert summary.gpu_hours == pytest.approx(0.5 * (len(jct_s) + 1))


def test_unfair_is_above_one_and_for_the_static_reading_above_one_and_a_twentieth() -> None:
    rho = [0.9, 1.0, 1.0 + 1e-15, 1.04, 1.05, 1.06]  # the third is a rounding error, not unfair
    summary = summary_of([outcome(rho=r, rho_static=r) for r in rho], NO_TOTALS)
    assert summary.unfair_fraction == 3 / 6
    assert summary.unfair_fraction_static == 1 / 6


def test_fairness_is_over_the_jobs_that_have_a_reference() -> None:
    summary = summary_of([outcome(rho=2.0), outcome(rho=None), outcome(rho=1.0)], NO_TOTALS)
    assert (summary.worst_rho, summary.mean_rho, summary.unfair_fraction) == (2.0, 1.5, 0.5)
    assert summary.p95_rho == pytest.approx(1.95)


@given(st.lists(st.sampled_from([Phase.FAILED, Phase.CANCELLED, None]), max_size=5))
def test_without_a_finished_job_averages_are_none(ends: list[Phase | None]) -> None:
    summary = summary_of([outcome(jct_s=None, ended=end) for end in ends], NO_TOTALS)
    assert (summary.jobs, summary.finished) == (len(ends), 0)
    unknown = [name for name in CONTRACT if getattr(summary, name) is None]
    counted = ["jobs", "finished", "restarts", "gpu_hours", "node_hours", "provisioned_gpu_hours"]
    assert unknown == [name for name in CONTRACT if name not in counted]


def test_a_summary_is_json_as_it_stands() -> None:
    text = json.dumps(asdict(summary_of([outcome(rho=1.5)], NO_TOTALS)), allow_nan=False)
    assert json.loads(text)["worst_rho"] == 1.5
