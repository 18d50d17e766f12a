"""What each tenant got, from outcomes made by hand."""

from dataclasses import replace

from headway.core.control.events import JobFinished, JobSubmitted
from headway.core.control.lifecycle import Phase
from headway.core.metrics import per_job, per_tenant
from headway.core.metrics.summary import JobOutcome
from headway.testing.snapshots import job

BASE = per_job([JobSubmitted(at_s=0.0, job=job("a").spec)])[0]


def outcome(tenant: str, gpu_hours: float, jct_s: float | None) -> JobOutcome:
    ended = None if jct_s is None else Phase.FINISHED
    return replace(BASE, tenant=tenant, gpu_hours=gpu_hours, jct_s=jct_s, ended=ended)


def test_gpu_hours_add_up_and_only_finished_jobs_have_a_jct() -> None:
    found = per_tenant(
        [outcome("b", 1.0, 100.0), outcome("a", 2.0, None), outcome("b", 3.0, 300.0)]
    )
    assert [(one.tenant, one.jobs, one.finished) for one in found] == [("a", 1, 0), ("b", 2, 2)]
    assert [(one.gpu_hours, one.avg_jct_s) for one in found] == [(2.0, None), (4.0, 200.0)]


def test_a_log_says_whose_its_jobs_are() -> None:
    spec = replace(job("a").spec, tenant="vision")
    log = [JobSubmitted(at_s=0.0, job=spec), JobFinished(at_s=5.0, job_id=spec.job_id)]
    assert [(one.tenant, one.avg_jct_s) for one in per_tenant(per_job(log))] == [("vision", 5.0)]
