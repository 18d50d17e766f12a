"""Sia on instances with known answers, and its rules as laws."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId, NodeId
from headway.core.policy import make
from headway.core.policy.sia import Sia
from headway.core.solve.outcome import Outcome, Status
from headway.core.solve.slots import Chosen
from headway.core.types import Decision, JobView, Node, ReasonCode
from headway.testing.policies import SEEDS, PolicyContract
from headway.testing.snapshots import (
    bounds,
    code_of,
    decide,
    episode,
    job,
    nodes,
    numbers_of,
    report,
    running,
    snapshot,
)


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Sia:
        return Sia()


class TestContractAtOtherPowers(PolicyContract):
    @pytest.fixture(params=[-10.0, 0.0, 1.0])
    def policy(self, request: pytest.FixtureRequest) -> Sia:
        return Sia(p=request.param)


def held(decision: Decision) -> dict[str, int]:
    return {name: allocation.gpus for name, allocation in decision.allocations.items()}


def veteran(name: str, on: dict[str, int] | None = None, *, most: int = 16) -> JobView:
    """A job that once held as much as it may, so that no cap binds, and that reports."""
    view = replace(job(name, gpus=bounds(most=most)), max_gpus_held=most, report=report())
    return running(view, on) if on else view


def rigid(name: str, gpus: int) -> JobView:
    return job(name, gpus=bounds(least=gpus, most=gpus), requested_gpus=gpus)


def typed(**gpu_types: tuple[int, ...]) -> tuple[Node, ...]:
    """Nodes of so many GPUs of each type."""
    return tuple(
        replace(node, node_id=NodeId(f"{name}{node.node_id}"), gpu_type=name)
        for name, sizes in gpu_types.items()
        for node in nodes(*sizes)
    )


def test_a_new_job_starts_with_one_gpu_and_at_most_doubles_each_round() -> None:
    """Sia, section 3.2."""
    view, sizes = job("a", gpus=bounds(most=16)), []
    for _ in range(6):
        decision = decide(Sia(), snapshot(nodes(4, 4, 4, 4), view))
        allocation = decision.of(JobId("a"))
        sizes.append(allocation.gpus)
        view = running(view, dict(allocation.per_node))
    assert sizes == [1, 2, 4, 8, 16, 16]


def test_across_nodes_whole_nodes_only() -> None:
    """A job alone may hold 6 GPUs at most, of two nodes with 4: it gets one node."""
    decision = decide(Sia(), snapshot(nodes(4, 4), veteran("a", most=6)))
    assert held(decision) == {"a": 4}


def test_within_a_node_powers_of_two_only() -> None:
    decision = decide(Sia(), snapshot(nodes(4), veteran("a", most=3)))
    assert held(decision) == {"a": 2}


def test_a_node_of_another_size_is_a_configuration_as_a_whole() -> None:
    assert held(decide(Sia(), snapshot(nodes(6), veteran("a")))) == {"a": 6}


@pytest.mark.parametrize("p", [-0.5, -1.0, 0.0])
def test_the_objective_is_the_papers(p: float) -> None:
    """Sia, section 3.4: sum of G^p over jobs, lambda for one without GPUs; of p = 0 the limit.

    Each of three new jobs may hold one GPU, whose G is 1, and there are two.
    """
    jobs = [job(name) for name in ("a", "b", "c")]
    decision = decide(Sia(p=p), snapshot(nodes(2), *jobs))
    assert sorted(held(decision).values()) == [1, 1]
    assert decision.objective == pytest.approx(-(2 * (0.0 if p == 0 else 1.0) + 1.1))
    assert decision.gap == 0.0


def test_goodput_is_measured_by_the_smallest_configuration_and_counts_its_gpus() -> None:
    """The row of G begins with the least number of GPUs that the job can run on."""
    decision = decide(Sia(), snapshot(nodes(4, 4), rigid("a", 4), veteran("b", {"n1": 1}, most=1)))
    assert numbers_of(decision, "a")["goodput_after"] == pytest.approx(4.0)
    assert numbers_of(decision, "b")["goodput_before"] == pytest.approx(1.0)
    assert numbers_of(decision, "b")["goodput_after"] == pytest.approx(1.0)


def test_who_has_nothing_gets_the_gpus_of_who_loses_least() -> None:
    decision = decide(Sia(), snapshot(nodes(4), veteran("a", {"n0": 4}), veteran("b")))
    assert held(decision) == {"a": 2, "b": 2}
    assert code_of(decision, "a") is ReasonCode.SHRANK


def test_a_low_penalty_leaves_one_job_waiting_so_that_others_grow() -> None:
    """With p = -0.5 a second GPU is worth up to 1 - 2^-0.5 = 0.29, a job's first one lam - 1."""
    cluster, jobs = nodes(2), (veteran("a", {"n0": 1}), veteran("b"))
    scalable = [replace(view, report=report(noise_scale=1e6)) for view in jobs]
    assert sorted(held(decide(Sia(), snapshot(cluster, *scalable))).values()) == [2]
    assert sorted(held(decide(Sia(lam=2.0), snapshot(cluster, *scalable))).values()) == [1, 1]


def test_a_job_that_restarted_too_often_keeps_what_it_holds() -> None:
    """The restart factor is 0 once restarts took as long as the job is old."""
    calm = veteran("a", {"n0": 1})
    restless = replace(calm, restarts=120)  # of 30 s each, an hour
    assert code_of(decide(Sia(), snapshot(nodes(4), calm)), "a") is ReasonCode.GREW
    assert code_of(decide(Sia(), snapshot(nodes(4), restless)), "a") is ReasonCode.KEPT


@pytest.mark.parametrize(
    ("age_s", "restarts", "restart_s", "factor"),
    [
        (3_600.0, 0, None, 3_600 / 3_630),
        (3_600.0, 10, None, 3_300 / 3_630),
        (3_600.0, 1, 1_800.0, 1_800 / 5_400),
        (60.0, 5, 90.0, 1.0),  # younger than a restart takes
    ],
)
def test_the_restart_factor(
    age_s: float, restarts: int, restart_s: float | None, factor: float
) -> None:
    """(T - N S) / (T + S), Sia, section 3.4."""
    view = replace(veteran("a", {"n0": 1}), report=report(restart_s=restart_s), restarts=restarts)
    decision = decide(Sia(), snapshot(nodes(2), view, now_s=age_s))
    assert numbers_of(decision, "a")["restart_factor"] == pytest.approx(factor)


def test_who_waits_pays_for_no_restart() -> None:
    view = replace(veteran("a"), restarts=119)
    decision = decide(Sia(), snapshot(nodes(4), view))
    assert numbers_of(decision, "a")["restart_factor"] == 1.0
    assert held(decision) == {"a": 4}


def test_a_rigid_job_gets_its_number_and_occupies_the_next_configuration() -> None:
    """Three GPUs of a node of 4: the fourth is not given to anybody; 6 GPUs take two nodes."""
    three, six, one = rigid("three", 3), rigid("six", 6), rigid("one", 1)
    decision = decide(Sia(), snapshot(nodes(4, 4, 4), three, six, one))
    assert held(decision) == {"six": 6, "three": 3}
    assert decision.of(JobId("six")).placement.nodes == 2


def test_listed_sizes_are_held_to() -> None:
    listed = replace(job("a", gpus=bounds(most=8, sizes=(2, 6, 8))), max_gpus_held=4)
    assert held(decide(Sia(), snapshot(nodes(4, 4), listed))) == {"a": 8}
    assert held(decide(Sia(), snapshot(nodes(4), listed))) == {"a": 2}


def test_a_job_stays_on_one_type_of_gpu() -> None:
    """Eight GPUs, but four of each type."""
    cluster = typed(a100=(4,), t4=(4,))
    decision = decide(Sia(), snapshot(cluster, veteran("a", most=8)))
    assert held(decision) == {"a": 4}
    eight = decide(Sia(), snapshot(cluster, rigid("b", 8)))
    assert code_of(eight, "b") is ReasonCode.TOO_LARGE


def test_two_jobs_take_a_type_each() -> None:
    cluster = typed(a100=(4, 4), t4=(4, 4))
    decision = decide(Sia(), snapshot(cluster, veteran("a"), veteran("b")))
    assert held(decision) == {"a": 8, "b": 8}
    types = {node.node_id: node.gpu_type for node in cluster}
    for allocation in decision.allocations.values():
        assert len({types[node_id] for node_id, _ in allocation.per_node}) == 1


def test_who_is_in_the_way_of_a_larger_job_is_moved_within_its_configuration() -> None:
    """One GPU on each of two nodes; a job of a whole node comes."""
    one, two = veteran("one", {"n0": 1}, most=1), veteran("two", {"n1": 1}, most=1)
    decision = decide(Sia(), snapshot(nodes(4, 4), one, two, rigid("large", 4)))
    assert held(decision) == {"one": 1, "two": 1, "large": 4}
    assert {code_of(decision, name) for name in ("one", "two")} == {
        ReasonCode.KEPT,
        ReasonCode.MOVED,
    }


def test_nobody_is_evicted_for_who_may_not_be_preempted() -> None:
    pinned = running(job("pinned", preemptible=False, gpus=bounds(most=3)), {"n0": 3})
    decision = decide(Sia(), snapshot(nodes(4, 4), pinned, rigid("a", 8), rigid("b", 4)))
    assert held(decision) == {"pinned": 3, "b": 4}
    assert decision.of(JobId("pinned")) == pinned.allocation


def test_what_another_policy_left_is_no_configuration_and_is_left() -> None:
    """Three GPUs on two nodes."""
    decision = decide(Sia(), snapshot(nodes(2, 2), veteran("a", {"n0": 2, "n1": 1})))
    assert held(decision) == {"a": 4}
    assert numbers_of(decision, "a")["goodput_before"] > 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_who_holds_something_new_holds_a_configuration_within_its_cap(seed: int) -> None:
    """A power of two in a node or whole nodes of one size, unless its owner allows neither.

    At most twice the most it ever held, or the smallest configuration that is allowed.
    """
    for seen, decision, _ in episode(Sia(), seed):
        size = {node.node_id: node.gpus for node in seen.nodes}
        counts = {gpus for gpus in (1, 2, 4) if gpus <= max(size.values())}
        pinned = [v.allocation for v in seen.jobs if v.allocation and not v.spec.preemptible]
        taken = {node_id for allocation in pinned for node_id, _ in allocation.per_node}
        whole = [(n.gpu_type, n.gpus) for n in seen.nodes if n.node_id not in taken]
        for alike in set(whole):
            counts |= {alike[1] * number for number in range(1, whole.count(alike) + 1)}
        for view in seen.jobs:
            allocation, own = decision.of(view.spec.job_id), view.spec.gpus
            allowed = counts & set(own.allowed(seen.gpus))
            if not allocation or allocation == view.allocation or not allowed:
                continue
            per_node = [(gpus, size[node_id]) for node_id, gpus in allocation.per_node]
            all_whole = all(gpus == of for gpus, of in per_node) and len(set(per_node)) == 1
            assert all_whole or (len(per_node) == 1 and allocation.gpus in {1, 2, 4})
            assert allocation.gpus <= max(2 * view.max_gpus_held, min(allowed))


def test_where_the_solver_finds_nothing_nobody_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Outcome(status=Status.FAILED, x=None, objective=inf, bound=-inf)
    nothing = Chosen(option=None, outcome=failed, columns=1, rows=1)
    monkeypatch.setattr("headway.core.policy.sia.choose", lambda *_, **__: nothing)
    decision = decide(Sia(), snapshot(nodes(4), veteran("a", {"n0": 3}), veteran("b")))
    assert held(decision) == {"a": 3}
    assert (decision.objective, decision.gap) == (None, None)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_decision_does_not_depend_on_what_is_remembered(seed: int) -> None:
    policy = Sia()
    for seen, decision, _ in episode(policy, seed):
        assert decide(policy, seen) == decision


def test_equal_jobs_do_not_take_each_others_gpu() -> None:
    """Without ``stay`` the one that waited was as good as the one that ran."""
    for first, second in (("a", "b"), ("b", "a")):
        decision = decide(Sia(), snapshot(nodes(1), veteran(first, {"n0": 1}), veteran(second)))
        assert code_of(decision, first) is ReasonCode.KEPT
        assert code_of(decision, second) is ReasonCode.WAITING


@pytest.mark.parametrize("seed", SEEDS)
def test_where_nothing_changes_everything_comes_to_rest(seed: int) -> None:
    *_, (seen, decision, _) = episode(Sia(), seed)
    decisions = []
    for _ in range(12):
        jobs = [
            replace(
                view,
                allocation=(holds := decision.of(view.spec.job_id)),
                max_gpus_held=max(view.max_gpus_held, holds.gpus),
            )
            for view in seen.jobs
        ]
        seen = replace(seen, jobs=tuple(jobs))
        decision = decide(Sia(), seen)
        decisions.append(dict(decision.allocations))
    assert decisions[-1] == decisions[-2] == decisions[-3]


def test_only_jobs_whose_report_changed_are_computed_again() -> None:
    policy, rng = Sia(), np.random.default_rng(0)
    jobs = veteran("a", {"n0": 2}), veteran("b", {"n0": 2})
    _, first = policy.decide(snapshot(nodes(4), *jobs), policy.start(), rng)
    changed = replace(jobs[1], report=report(noise_scale=7.0))
    _, second = policy.decide(snapshot(nodes(4), jobs[0], changed), first, rng)
    assert second.rows[JobId("a")] is first.rows[JobId("a")]
    assert second.rows[JobId("b")] is not first.rows[JobId("b")]


def test_a_decision_tells_the_work_it_took() -> None:
    decision = decide(Sia(), snapshot(nodes(4, 4), veteran("a"), veteran("b")))
    assert set(decision.solver) == {"columns", "rows", "branch_nodes", "simplex_iterations"}


@pytest.mark.parametrize(
    ("setting", "value"), [("p", 3.0), ("p", -1e9), ("lam", 1.0), ("lam", -1.1), ("rel_gap", 2)]
)
def test_a_setting_beyond_sense_is_refused(setting: str, value: float) -> None:
    """With lam = 1 a job that may hold one GPU only would never start."""
    with pytest.raises(InvalidInputError, match=rf"sia\.{setting} must be"):
        make("sia", {setting: str(value)})
