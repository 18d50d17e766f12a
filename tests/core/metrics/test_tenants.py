"""What each tenant got and is owed, from outcomes made by hand and from random logs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.events import (
    Change,
    Event,
    JobFinished,
    JobSubmitted,
    NodeJoined,
    RoundDecided,
    RoundStarted,
    RunOpened,
)
from headway.core.control.lifecycle import Phase
from headway.core.ids import NodeId
from headway.core.metrics import TenantOutcome, per_job, per_tenant
from headway.core.metrics.summary import JobOutcome
from headway.core.types import Allocation, Node
from headway.testing.histories import History, histories
from headway.testing.snapshots import bounds, job

N0 = NodeId("n0")
HOUR_S = 3600.0
BASE = per_job([JobSubmitted(at_s=0.0, job=job("a").spec)])[0]


def outcome(tenant: str, gpu_hours: float, jct_s: float | None) -> JobOutcome:
    ended = None if jct_s is None else Phase.FINISHED
    made = replace(BASE, tenant=tenant, gpu_hours=gpu_hours, jct_s=jct_s, ended=ended)
    return replace(made, entitled_gpu_hours=1.5)


def test_gpu_hours_add_up_and_only_finished_jobs_have_a_jct() -> None:
    a, b = per_tenant([outcome("b", 1.0, 100.0), outcome("a", 2.0, None), outcome("b", 3.0, 300.0)])
    assert (a.tenant, a.jobs, a.active, a.finished) == ("a", 1, 1, 0)
    assert (b.tenant, b.jobs, b.active, b.finished) == ("b", 2, 0, 2)
    assert (a.gpu_hours, a.entitled_gpu_hours, a.ahead_gpu_hours) == (2.0, 1.5, 0.5)
    assert (b.gpu_hours, b.entitled_gpu_hours, b.ahead_gpu_hours) == (4.0, 3.0, 1.0)
    assert (a.avg_jct_s, b.avg_jct_s) == (None, 200.0)


def test_a_log_says_whose_its_jobs_are() -> None:
    spec = replace(job("a").spec, tenant="vision")
    log = [JobSubmitted(at_s=0.0, job=spec), JobFinished(at_s=5.0, job_id=spec.job_id)]
    assert [(one.tenant, one.avg_jct_s) for one in per_tenant(per_job(log))] == [("vision", 5.0)]


def two_tenants(gpus: dict[str, int], table: str = "") -> dict[str, TenantOutcome]:
    """An hour on eight GPUs; each tenant has one job for the GPUs it holds."""
    log: list[Event] = [
        RunOpened(at_s=0.0, policy="toy", round_s=60.0, settings={"tenants": table}),
        NodeJoined(at_s=0.0, node=Node(node_id=N0, gpus=8)),
    ]
    specs = [replace(job(name, gpus=bounds(most=8)).spec, tenant=name) for name in gpus]
    log += [JobSubmitted(at_s=0.0, job=spec) for spec in specs]
    changes = tuple(
        Change(job_id=spec.job_id, generation=1, allocation=Allocation.of({N0: gpus[spec.tenant]}))
        for spec in specs
    )
    log += [RoundDecided(at_s=0.0, round_index=1, changes=changes), RoundStarted(at_s=HOUR_S)]
    return {one.tenant: one for one in per_tenant(per_job(log))}


def test_who_holds_more_than_its_share_is_ahead_by_it() -> None:
    found = two_tenants({"speech": 2, "vision": 6})
    assert found["vision"].ahead_gpu_hours == pytest.approx(2.0)
    assert found["speech"].ahead_gpu_hours == pytest.approx(-2.0)


def test_weights_of_the_table_say_what_the_share_is() -> None:
    found = two_tenants({"speech": 2, "vision": 6}, "speech:1,vision:3")
    assert found["vision"].ahead_gpu_hours == pytest.approx(0.0)
    assert found["speech"].entitled_gpu_hours == pytest.approx(2.0)


@given(st.integers(1, 8), st.sampled_from(["", "a:1,b:1,c:1", "a:7,b:7,c:7"]))
def test_equal_tenants_with_equal_use_are_even(held: int, table: str) -> None:
    """All behind by what nobody used, and none more than another."""
    each = min(held, 2)
    found = two_tenants({"a": each, "b": each, "c": each}, table)
    behind = {one.ahead_gpu_hours for one in found.values()}
    assert max(behind) == pytest.approx(min(behind), abs=1e-9)
    assert sum(behind) / len(behind) == pytest.approx(each - 8 / 3)


@given(histories(max_events=30), st.sampled_from(["", "t0:3,t1:0.5"]))
def test_the_ledger_adds_up_to_what_was_held_less_what_there_was_to_use(
    history: History, table: str
) -> None:
    """Apart from rounding nothing is owed that was not there, and nothing is owed twice."""
    opened = RunOpened(at_s=0.0, policy="toy", round_s=60.0, settings={"tenants": table})
    log = [opened, *(_owned(event) for event in history.log)]
    jobs = per_job(log)
    ledger = per_tenant(jobs)
    held = sum(one.gpu_hours for one in jobs)
    entitled = sum(one.entitled_gpu_hours for one in jobs)
    provisioned = sum(one.provisioned_gpu_hours for one in jobs)
    assert sum(one.ahead_gpu_hours for one in ledger) == pytest.approx(held - entitled, abs=1e-6)
    assert held - 1e-6 <= entitled * (1 + 1e-9) + 1e-6
    assert entitled <= provisioned * (1 + 1e-9) + 1e-6


@given(histories(max_events=30))
def test_where_every_job_can_use_the_whole_cluster_all_of_it_is_owed(history: History) -> None:
    """Then a share is the plain one: GPUs there over active jobs."""
    log = [_greedy(event) for event in history.log]
    for one in per_job(log):
        assert one.entitled_gpu_hours == pytest.approx(one.provisioned_gpu_hours, abs=1e-6)


def _owned(event: Event) -> Event:
    if not isinstance(event, JobSubmitted):
        return event
    tenant = f"t{sum(map(ord, event.job.job_id)) % 3}"
    return replace(event, job=replace(event.job, tenant=tenant))


def _greedy(event: Event) -> Event:
    if not isinstance(event, JobSubmitted):
        return event
    return replace(event, job=replace(event.job, weight=1.0, gpus=bounds(most=1_000)))
