"""Accounts of a job, and what a policy is told."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.lifecycle import Phase
from headway.core.control.state import JobState, State
from headway.core.ids import JobId, NodeId
from headway.core.types import Allocation, JobSpec, Node, Reason, ReasonCode
from headway.testing.histories import History, histories
from headway.testing.strategies import job_specs

N0 = NodeId("n0")
HOLDINGS = st.lists(st.tuples(st.floats(0, 1e4), st.integers(0, 8)), max_size=10)


@given(job_specs(submitted_s=0.0))
def test_a_policy_is_told_the_last_promise_that_was_logged(spec: JobSpec) -> None:
    """It is all that a service which is started again knows of its promises."""
    numbers = (("egalitarian_s", 90.0), ("finish_s", 80.0), ("finish_error_s", 1.0))
    reason = Reason(job_id=spec.job_id, code=ReasonCode.KEPT, numbers=numbers)
    assert JobState(spec=spec, reason=reason).view(0.0).egalitarian_s == 90.0
    assert JobState(spec=spec, reason=replace(reason, numbers=())).view(0.0).egalitarian_s is None
    assert JobState(spec=spec).view(0.0).egalitarian_s is None


@given(job_specs(submitted_s=0.0), HOLDINGS, st.floats(0, 1e4))
def test_attained_service_is_gpus_times_seconds_whatever_the_changes(
    spec: JobSpec, holdings: list[tuple[float, int]], last_s: float
) -> None:
    job, now_s, expected, held = JobState(spec=spec), 0.0, 0.0, 0
    for passed_s, gpus in [*holdings, (last_s, 0)]:
        expected += held * passed_s
        now_s += passed_s
        job, held = job.holding(Allocation.of({N0: gpus}), now_s), gpus
    assert job.attained_at(now_s) == pytest.approx(expected, abs=1e-6)
    assert job.attained_at(now_s + 1e6) == job.attained_gpu_s  # holds nothing any more
    assert job.max_gpus_held == max((gpus for _, gpus in holdings), default=0)


@given(st.permutations([(0.0, "b"), (0.0, "a"), (5.0, "0"), (2.0, "c")]), st.data())
def test_a_snapshot_is_in_a_fixed_order(jobs: list[tuple[float, str]], data: st.DataObject) -> None:
    """Policies break ties by position, so the order of arrival in a dictionary must not matter."""
    state = State(memory=None)
    for submitted_s, name in jobs:
        spec = data.draw(job_specs(JobId(name), submitted_s=submitted_s))
        state = state.with_job(JobState(spec=spec))
    names = data.draw(st.permutations([NodeId("n1"), NodeId("n0"), NodeId("n2")]))
    nodes = {name: Node(node_id=name, gpus=1) for name in names}
    snapshot = State(memory=None, jobs=state.jobs, nodes=nodes).snapshot()
    assert [job.spec.job_id for job in snapshot.jobs] == ["a", "b", "c", "0"]
    assert [node.node_id for node in snapshot.nodes] == ["n0", "n1", "n2"]


@given(histories())
def test_a_snapshot_tells_what_the_state_knows_at_this_moment(history: History) -> None:
    state = history.states[-1]
    snapshot = state.snapshot()
    assert {job.spec.job_id for job in snapshot.jobs} == set(state.jobs)
    assert snapshot.gpus == sum(node.gpus for node in state.nodes.values())
    for view in snapshot.jobs:
        job = state.jobs[view.spec.job_id]
        assert view.attained_gpu_s == job.attained_at(state.now_s)
        assert (view.allocation, view.restarts) == (job.allocation, job.restarts)
        assert view.age_s(snapshot.now_s) >= 0


@given(job_specs(JobId("a")))
def test_with_and_without_a_job(spec: JobSpec) -> None:
    empty = State(memory=None)
    state = empty.with_job(JobState(spec=spec))
    assert state.jobs[spec.job_id].phase is Phase.QUEUED
    gone = state.without_job(spec.job_id)
    assert (dict(gone.jobs), gone.departures) == ({}, 1)
    assert not empty.jobs  # values do not change under their holders
