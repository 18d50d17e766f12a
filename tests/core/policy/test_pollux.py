"""Pollux on instances with known answers, and its rules as laws."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.policy import make
from headway.core.policy.limits import scale_out_cap
from headway.core.policy.pollux import Pollux
from headway.core.solve.pinned import Plan, solve
from headway.core.solve.problem import Problem
from headway.core.types import Decision, JobView, ReasonCode
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
    def policy(self) -> Pollux:
        return Pollux()


class TestContractAtOtherPowers(PolicyContract):
    @pytest.fixture(params=[-10.0, 0.0, 1.0])
    def policy(self, request: pytest.FixtureRequest) -> Pollux:
        return Pollux(p=request.param)


class TestContractByRounding(PolicyContract):
    @pytest.fixture
    def policy(self) -> Pollux:
        return Pollux(exact_up_to_gpus=0)


class TestContractBySearch(PolicyContract):
    @pytest.fixture
    def policy(self) -> Pollux:
        return Pollux(search="genetic", population=10, generations=10)


class TestContractWithSharedNodes(PolicyContract):
    @pytest.fixture
    def policy(self) -> Pollux:
        return Pollux(avoid_interference=False)


def held(decision: Decision) -> dict[str, int]:
    return {name: allocation.gpus for name, allocation in decision.allocations.items()}


def veteran(name: str, on: dict[str, int] | None = None, **kwargs: object) -> JobView:
    """A job that once held eight GPUs, so that no cap binds, and that reports."""
    view = replace(job(name, gpus=bounds(most=8)), max_gpus_held=8, report=report())
    view = running(view, on) if on else view
    return replace(view, **kwargs)  # type: ignore[arg-type]


def test_a_new_elastic_job_starts_small_and_may_double_each_time() -> None:
    """Pollux, section 4.1: at most twice the most it ever held."""
    view, sizes = job("a", gpus=bounds(most=8)), []
    for _ in range(5):
        decision = decide(Pollux(), snapshot(nodes(4, 4), view))
        allocation = decision.of(JobId("a"))
        sizes.append(allocation.gpus)
        view = running(view, dict(allocation.per_node))
    assert sizes == [1, 2, 4, 8, 8]


def test_a_rigid_job_starts_at_its_size() -> None:
    rigid = job("a", gpus=bounds(least=6, most=6))
    assert held(decide(Pollux(), snapshot(nodes(4, 4), rigid))) == {"a": 6}


def test_equal_jobs_get_equal_shares() -> None:
    decision = decide(Pollux(), snapshot(nodes(4), veteran("a"), veteran("b")))
    assert held(decision) == {"a": 2, "b": 2}
    assert decision.gap == 0.0


def test_at_their_fair_share_jobs_have_speedup_one_and_fitness_says_so() -> None:
    """Eqn. 14 and 15, with the eps that stands for a job without GPUs."""
    jobs = veteran("a", {"n0": 2}), veteran("b", {"n0": 2})
    for p in (-1.0, 0.0):
        decision = decide(Pollux(p=p), snapshot(nodes(4), *jobs))
        assert held(decision) == {"a": 2, "b": 2}
        assert decision.objective == pytest.approx(1.001)
    figures = numbers_of(decision, "a")
    assert figures["speedup_before"] == figures["speedup_after"] == 1.0


def test_a_waiting_job_makes_a_large_one_shrink() -> None:
    decision = decide(Pollux(), snapshot(nodes(4), veteran("a", {"n0": 4}), veteran("b")))
    assert held(decision) == {"a": 2, "b": 2}
    assert code_of(decision, "a") is ReasonCode.SHRANK
    figures = numbers_of(decision, "a")
    assert (figures["gpus_before"], figures["gpus_after"]) == (4, 2)
    assert figures["speedup_before"] > figures["speedup_after"] == 1.0


def test_a_job_that_restarted_too_often_keeps_what_it_holds() -> None:
    """REALLOC_FACTOR is 0 once restarts took as long as the job is old."""
    calm = veteran("a", {"n0": 1}, restarts=0)
    restless = replace(calm, restarts=120)  # of 30 s each, an hour
    assert code_of(decide(Pollux(), snapshot(nodes(4), calm)), "a") is ReasonCode.GREW
    assert code_of(decide(Pollux(), snapshot(nodes(4), restless)), "a") is ReasonCode.KEPT


def test_the_measured_restart_delay_counts_not_the_assumed_one() -> None:
    slow = veteran("a", {"n0": 1}, report=report(restart_s=1_800.0))
    decision = decide(Pollux(), snapshot(nodes(2), slow))
    assert numbers_of(decision, "a")["realloc_factor"] == pytest.approx(3_600 / 5_400)


def test_of_two_jobs_that_differ_in_this_alone_the_one_that_restarts_quickly_moves() -> None:
    quick, slow = (
        veteran(name, {"n0": 1}, report=report(restart_s=delay_s))
        for name, delay_s in (("quick", 15.0), ("slow", 1_200.0))
    )
    assert held(decide(Pollux(), snapshot(nodes(3), quick, slow))) == {"quick": 2, "slow": 1}
    assert held(decide(Pollux(), snapshot(nodes(3), slow, quick))) == {"quick": 2, "slow": 1}


def test_a_margin_damps_moves_for_little_and_leaves_growth_alone() -> None:
    jobs = veteran("a", {"n0": 3}), veteran("b", {"n0": 1})
    assert held(decide(Pollux(margin=0.0), snapshot(nodes(4), *jobs))) == {"a": 2, "b": 2}
    assert held(decide(Pollux(margin=0.9), snapshot(nodes(4), *jobs))) == {"a": 3, "b": 1}
    assert held(decide(Pollux(margin=0.9), snapshot(nodes(8), *jobs))) == {"a": 4, "b": 4}


def test_several_nodes_must_promise_more_than_one() -> None:
    """Three GPUs of one node against six of two, which are worth a little more to this job."""
    slow = veteran("a", report=report(node_s=0.42))
    cluster = nodes(3, 3)
    assert held(decide(Pollux(spread=0.0), snapshot(cluster, slow)))["a"] > 3
    assert held(decide(Pollux(), snapshot(cluster, slow))) == {"a": 3}


def test_spanning_jobs_share_no_node() -> None:
    """Three nodes of four hold two jobs of six by count; but both would span the same node."""
    rigid = [job(name, gpus=bounds(least=6, most=6)) for name in ("a", "b")]
    assert len(held(decide(Pollux(), snapshot(nodes(4, 4, 4), *rigid)))) == 1


def test_the_sum_of_speedups_favours_who_scales_and_the_harmonic_mean_shares() -> None:
    poor = veteran("poor", report=report(noise_scale=1.0))
    rich = veteran("rich", report=report(noise_scale=1e6))
    cluster = nodes(8)
    assert held(decide(Pollux(p=1.0), snapshot(cluster, poor, rich)))["rich"] >= 6
    assert held(decide(Pollux(p=-10.0), snapshot(cluster, poor, rich)))["poor"] >= 2


def test_where_jobs_outnumber_gpus_as_many_run_as_can() -> None:
    jobs = [job(f"j{index}") for index in range(7)]
    decision = decide(Pollux(), snapshot(nodes(2, 2), *jobs))
    assert sorted(held(decision).values()) == [1, 1, 1, 1]
    assert sum(reason.code is ReasonCode.WAITING for reason in decision.reasons) == 3


def test_who_had_a_turn_yields_to_who_waits_and_no_sooner() -> None:
    def after(attained_gpu_s: float, turn_gpu_s: float = 300.0) -> dict[str, int]:
        jobs = [running(job(n), {"n0": 1}, attained_gpu_s=attained_gpu_s) for n in "ab"]
        return held(decide(Pollux(turn_gpu_s=turn_gpu_s), snapshot(nodes(2), *jobs, job("c"))))

    assert after(240.0) == {"a": 1, "b": 1}
    assert after(300.0)["c"] == 1
    assert after(300.0, turn_gpu_s=0.0) == after(300.0, turn_gpu_s=600.0) == {"a": 1, "b": 1}


def test_a_decision_by_turns_tells_how_urgent_each_job_is() -> None:
    jobs = [running(job(n), {"n0": 1}, attained_gpu_s=300.0) for n in "ab"]
    full = decide(Pollux(), snapshot(nodes(2), *jobs, job("c")))
    assert numbers_of(full, "c")["urgency"] == 1.5
    assert numbers_of(full, "a")["urgency"] == 1.5 - 1 / 64
    roomy = decide(Pollux(), snapshot(nodes(4), *jobs, job("c")))
    assert "urgency" not in numbers_of(roomy, "c")


@pytest.mark.parametrize(("of_a", "of_b"), [(1_200.0, 600.0), (600.0, 1_200.0)])
def test_turns_are_also_taken_where_gpus_would_do_but_places_do_not(
    of_a: float, of_b: float
) -> None:
    """Of three jobs of five GPUs two fit four nodes of four, since no node has two that span."""
    rigid = bounds(least=5, most=5)
    jobs = [
        running(job("a", gpus=rigid), {"n0": 4, "n1": 1}, attained_gpu_s=of_a),
        running(job("b", gpus=rigid), {"n2": 4, "n3": 1}, attained_gpu_s=of_b),
    ]
    decision = decide(Pollux(), snapshot(nodes(4, 4, 4, 4), *jobs, job("c", gpus=rigid)))
    assert held(decision) == {"c": 5, "b" if of_a > of_b else "a": 5}


def taken(policy: Pollux, *jobs: JobView, rounds: int) -> tuple[list[float], int]:
    """GPU-seconds of each job after so many rounds of a minute on two GPUs, and all the stops."""
    views, stops = {view.spec.job_id: view for view in jobs}, 0
    for _ in range(rounds):
        decision = decide(policy, snapshot(nodes(2), *views.values()))
        for name, view in views.items():
            now = decision.of(name)
            stops += view.allocation.gpus > now.gpus
            had_gpu_s = view.attained_gpu_s + 60.0 * now.gpus
            views[name] = replace(view, allocation=now, attained_gpu_s=had_gpu_s, report=report())
    return [view.attained_gpu_s for view in views.values()], stops


@pytest.mark.parametrize("p", [-10.0, -2.0, -1.0, 0.0])
def test_where_jobs_outnumber_gpus_none_waits_for_ever_nor_do_they_yield_all_the_time(
    p: float,
) -> None:
    """Without turns three of five never ran: to the power mean who waits is all one. With the costs
    of p = -2 and beyond the part that is solved again was once one without nodes, and that raised.
    """
    policy, five = Pollux(p=p, kinds=False), [job(name) for name in "abcde"]
    assert min(taken(policy, *five, rounds=15)[0]) >= 300.0  # after a turn of five rounds each
    had, stops = taken(policy, *five, rounds=120)
    assert sum(had) == 120 * 2 * 60.0
    assert max(had) <= 2 * min(had) + 300.0
    assert stops <= 4 * len(five)  # turns of 5, 10, 20 rounds and a part of one


@pytest.mark.parametrize("policy", [Pollux(turn_gpu_s=0.0), Pollux(p=0.5)])
def test_without_turns_a_decision_in_which_somebody_waits_is_searched_once(
    policy: Pollux, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def counted(problem: Problem, **options: Any) -> Plan:
        asked.append(problem)
        return solve(problem, **options)

    monkeypatch.setattr("headway.core.policy.pollux.solve", counted)
    decide(policy, snapshot(nodes(2), *(job(name) for name in "abcde")))
    assert len(asked) == 1


def test_a_decision_tells_the_work_it_took() -> None:
    decision = decide(Pollux(), snapshot(nodes(4, 4), veteran("a"), veteran("b")))
    assert decision.gap is not None
    assert decision.gap <= 1e-4
    assert set(decision.solver) == {"columns", "rows", "branch_nodes", "simplex_iterations"}


def test_where_pinned_jobs_leave_no_legal_plan_nobody_is_touched() -> None:
    """Two spanning jobs on one node, as another policy may have left them."""
    pinned = [running(job(name, preemptible=False), {"n0": 1, "n1": 1}) for name in ("a", "b")]
    other = running(job("c"), {"n1": 1})
    decision = decide(Pollux(), snapshot(nodes(4, 4), *pinned, other, job("d")))
    assert held(decision) == {"a": 2, "b": 2, "c": 1}
    assert decision.gap is None  # nothing was optimised


@pytest.mark.parametrize("seed", SEEDS)
def test_no_job_outgrows_its_cap_and_no_node_carries_two_spanning_jobs(seed: int) -> None:
    for seen, decision, _ in episode(Pollux(), seed):
        spanning: list[str] = []
        for view in seen.jobs:
            allocation = decision.of(view.spec.job_id)
            if allocation != view.allocation:
                assert allocation.gpus <= scale_out_cap(view)
            if len(allocation.per_node) > 1:
                spanning += [node_id for node_id, _ in allocation.per_node]
        assert len(spanning) == len(set(spanning))


def test_the_search_of_the_paper_proves_nothing_and_goes_on_from_its_last_population() -> None:
    policy, rng = Pollux(search="genetic"), np.random.default_rng(0)
    seen = snapshot(nodes(4, 4, 4, 4), *(veteran(name) for name in "abcdef"))
    first, memory = policy.decide(seen, policy.start(), rng)
    assert first.gap is None
    assert dict(first.solver)["generations"] == 100
    best = decide(Pollux(), seen).objective
    assert best is not None
    assert first.objective is not None
    assert 0.7 * best <= first.objective <= best * (1 + 1e-4)
    assert memory.plans.jobs == tuple("abcdef")
    second, _ = policy.decide(seen, memory, rng)
    assert second.objective is not None
    assert second.objective >= first.objective


@pytest.mark.parametrize("seed", SEEDS)
def test_a_decision_does_not_depend_on_what_is_remembered(seed: int) -> None:
    """But for what jobs of a kind have shown, which is remembered to be lent."""
    policy = Pollux(kinds=False)
    for seen, decision, _ in episode(policy, seed):
        assert decide(policy, seen) == decision


@pytest.mark.parametrize("seed", SEEDS)
def test_the_memory_holds_the_active_jobs_and_no_others(seed: int) -> None:
    for seen, decision, memory in episode(Pollux(), seed):
        large = {r.job_id for r in decision.reasons if r.code is ReasonCode.TOO_LARGE}
        assert set(memory.goodputs.rows) == {view.spec.job_id for view in seen.jobs} - large


def test_only_jobs_whose_report_changed_are_computed_again() -> None:
    policy, rng = Pollux(), np.random.default_rng(0)
    jobs = veteran("a", {"n0": 2}), veteran("b", {"n0": 2})
    _, first = policy.decide(snapshot(nodes(4), *jobs), policy.start(), rng)
    changed = replace(jobs[1], report=report(noise_scale=7.0))
    _, second = policy.decide(snapshot(nodes(4), jobs[0], changed), first, rng)
    assert second.goodputs.rows[JobId("a")] is first.goodputs.rows[JobId("a")]
    assert second.goodputs.rows[JobId("b")] is not first.goodputs.rows[JobId("b")]


def test_without_avoidance_spanning_jobs_share_a_node() -> None:
    rigid = [job(name, gpus=bounds(least=6, most=6)) for name in ("a", "b")]
    decision = decide(Pollux(avoid_interference=False), snapshot(nodes(4, 4, 4), *rigid))
    assert held(decision) == {"a": 6, "b": 6}
    assert decision.gap == pytest.approx(0.0, abs=1e-9)


def test_an_unknown_search_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"pollux\.search must be exact or genetic"):
        make("pollux", {"search": "random"})


@pytest.mark.parametrize(
    ("setting", "value"),
    [("p", 1e9), ("p", -1e9), ("eps", 0), ("margin", -0.1), ("spread", 2), ("turn_gpu_s", -1)],
)
def test_a_setting_beyond_sense_is_refused(setting: str, value: float) -> None:
    """With p = 1e9 two jobs of three never ran."""
    with pytest.raises(InvalidInputError, match=rf"pollux\.{setting} must be"):
        make("pollux", {setting: str(value)})


def test_a_second_job_of_a_kind_starts_where_the_first_has_come_to() -> None:
    wide = snapshot(nodes(4, 4), running(job("net-1"), {"n0": 4, "n1": 4}))
    new = snapshot(nodes(4, 4), job("net-2"), now_s=3_660.0)

    def first_gpus(policy: Pollux) -> int:
        memory = policy.start()
        for seen in (wide, snapshot(nodes(4, 4), now_s=3_600.0), new):  # remembered when idle too
            decision, memory = policy.decide(seen, memory, np.random.default_rng(0))
        return decision.allocations[JobId("net-2")].gpus

    assert first_gpus(Pollux()) > 1
    assert first_gpus(Pollux(kinds=False)) == 1
