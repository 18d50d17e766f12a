"""The market on instances with known answers, and its rules as laws."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.policy import make
from headway.core.policy.course import Clock, Clocks
from headway.core.policy.headway import Headway
from headway.core.policy.market import Market
from headway.core.predict.trust import USUAL_JOBS
from headway.core.types import JobView, ReasonCode
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import bounds, code_of, decide, job, nodes, report, running, snapshot


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Headway:
        return Headway()


class TestContractOfFairness(PolicyContract):
    @pytest.fixture
    def policy(self) -> Headway:
        return Headway(q=8.0, b=0.0)


class TestContractByRounding(PolicyContract):
    @pytest.fixture
    def policy(self) -> Headway:
        return Headway(exact_up_to_gpus=0)


class TestContractWithSharedNodes(PolicyContract):
    @pytest.fixture
    def policy(self) -> Headway:
        return Headway(avoid_interference=False)


def rigid(name: str, *, work: float = 1e6, done: float = 0.0, gpus: int = 1) -> JobView:
    view = job(name, adaptive=False, gpus=bounds(least=gpus, most=gpus), requested_gpus=gpus)
    told = replace(report(), progress_examples=done)
    return replace(view, spec=replace(view.spec, work_examples=work), report=told)


def test_of_two_jobs_with_as_much_left_the_one_behind_its_clock_runs() -> None:
    jobs = [rigid(name, done=8e5) for name in "ab"]
    clocks = {JobId("a"): Clock(done=4e5), JobId("b"): Clock(done=1e6, ended_age_s=2_000.0)}
    memory = Market(clocks=Clocks(at_s=3_600.0, each=clocks))
    decision, _ = Headway().decide(snapshot(nodes(1), *jobs), memory, np.random.default_rng(0))
    assert set(decision.allocations) == {"b"}


def test_of_two_new_jobs_the_shorter_one_runs() -> None:
    decision = decide(Headway(), snapshot(nodes(1), rigid("a", work=1e7), rigid("b", work=1e5)))
    assert set(decision.allocations) == {"b"}


def runs_on(policy: Headway, gpus: int, *, each: int = 1, now_s: float = 600.0) -> set[str]:
    """Who runs of an old job, near its end, and a new one: shorter, with three times as much left.

    Each needs so many GPUs; no job has come or ended since 0.
    """
    old = rigid("old", work=1e8, done=7.5e7, gpus=each)
    old = replace(old, spec=replace(old.spec, submitted_s=now_s - 103_600.0))
    new = rigid("new", work=8e7, gpus=each)
    new = replace(new, spec=replace(new.spec, submitted_s=now_s))
    memory = Market(clocks=Clocks(at_s=now_s, each={JobId("old"): Clock(done=7.5e7)}))
    seen = snapshot(nodes(gpus), old, new, now_s=now_s)
    decision, _ = policy.decide(seen, memory, np.random.default_rng(0))
    return set(decision.allocations)


@pytest.mark.parametrize(("near", "runs"), [(0.75, "old"), (0.0, "new")])
def test_where_jobs_outnumber_gpus_who_is_near_its_end_goes_first(near: float, runs: str) -> None:
    assert runs_on(Headway(near=near), 1) == {runs}
    assert runs_on(Headway(near=near), 2) == {"old", "new"}


@pytest.mark.parametrize(("near", "runs"), [(0.75, "old"), (0.0, "new")])
def test_so_it_does_where_jobs_need_more_gpus_than_there_are(near: float, runs: str) -> None:
    """With half of its jobs rigid a cluster counted as roomy; the widest waited five times E."""
    assert runs_on(Headway(near=near), 3, each=2) == {runs}


@pytest.mark.parametrize(("makespan", "gpus"), [(0.0, 0), (4.0, 1)])
def test_a_long_job_keeps_a_gpu_in_a_busy_hour_where_the_makespan_counts(
    makespan: float, gpus: int
) -> None:
    """Alone at the end it needs more GPU-time for what it leaves undone now."""
    views = []
    for name, done, work in (("long", 1e7, 1e9), *((name, 1e5, 2e6) for name in "abc")):
        told = replace(report(), progress_examples=done)
        view = replace(job(name), max_gpus_held=8, report=told)
        views.append(replace(view, spec=replace(view.spec, work_examples=work)))
    ahead = Clocks(at_s=600.0, each={JobId("long"): Clock(done=1e6)})
    memory = Market(usual_share=1.0, clocks=ahead)
    seen = snapshot(nodes(4, 4), *views, now_s=600.0)
    decision, _ = Headway(makespan=makespan).decide(seen, memory, np.random.default_rng(0))
    held = decision.allocations.get(JobId("long"))
    assert (held.gpus if held is not None else 0) == gpus


@pytest.mark.parametrize(
    ("near_calm", "now_s", "runs"),
    [(0.2, 7_200.0, "old"), (0.2, 600.0, "new"), (0.0, 7_200.0, "new")],
)
def test_so_it_does_where_all_has_been_calm_for_long(
    near_calm: float, now_s: float, runs: str
) -> None:
    """Of long jobs that were left at the end, each got GPUs in turn, so that all ended at once."""
    assert runs_on(Headway(near=0.0, near_calm=near_calm), 3, each=2, now_s=now_s) == {runs}


@pytest.mark.parametrize("seconds", [60.0, 600.0])
def test_a_job_with_minutes_left_keeps_its_gpus_though_all_has_been_calm(seconds: float) -> None:
    """It was left one GPU of four: that a decision would last an hour seemed to be worth more."""
    views = []
    for name, node, left in (("last", "n0", seconds * 4_000.0), ("long", "n1", 2e7)):
        view = running(job(name), {node: 4})
        told = replace(report(), progress_examples=2e7)
        views.append(replace(view, spec=replace(view.spec, work_examples=2e7 + left), report=told))
    views = [replace(view, max_gpus_held=8) for view in views]
    clocks = Clocks(at_s=2e4, each={view.spec.job_id: Clock(done=2e7) for view in views})
    seen = snapshot(nodes(4, 4), *views, now_s=2e4)
    decision, _ = Headway().decide(seen, Market(clocks=clocks), np.random.default_rng(0))
    assert {name: held.gpus for name, held in decision.allocations.items()} == {
        "last": 4,
        "long": 4,
    }


def test_how_far_the_words_of_a_tenant_are_off_is_remembered() -> None:
    policy = Headway(doubt=0.7)
    assert policy.start().trust.usual == 0.7
    view = running(job("a"), {"n0": 1})
    told = replace(report(), progress_examples=3e6)
    view = replace(view, spec=replace(view.spec, work_examples=1e6), report=told)
    seen = snapshot(nodes(4), view)
    _, memory = policy.decide(seen, policy.start(), np.random.default_rng(0))
    beyond = (USUAL_JOBS * 0.7**2 + 2 * np.log(3.0) ** 2) / (USUAL_JOBS + 1)
    assert memory.trust.errors() == {view.spec.tenant: pytest.approx(beyond**0.5)}


def test_all_gpus_are_given_while_jobs_can_use_them() -> None:
    jobs = [running(job(name), {}) for name in "abcdefghijkl"]
    decision = decide(Headway(), snapshot(nodes(4, 4), *jobs))
    assert sum(allocation.gpus for allocation in decision.allocations.values()) == 8


def test_a_move_is_worth_its_restart() -> None:
    """Both nodes are alike, so nothing is gained by moving, and everything stays."""
    jobs = [running(job("a"), {"n0": 2}), running(job("b"), {"n1": 2})]
    seen = snapshot(nodes(2, 2), *jobs)
    decision = decide(Headway(), seen)
    assert {code_of(decision, name) for name in "ab"} == {ReasonCode.KEPT}


def test_a_dear_restart_keeps_a_job_where_a_cheap_one_lets_it_grow() -> None:
    def of(restart_s: float) -> JobView:
        view = running(job("a"), {"n0": 1})
        told = replace(report(restart_s=restart_s), progress_examples=1e5)
        return replace(view, spec=replace(view.spec, work_examples=1.5e5), report=told)

    codes = [code_of(decide(Headway(), snapshot(nodes(4), of(s))), "a") for s in (0.3, 3_000.0)]
    assert codes == [ReasonCode.GREW, ReasonCode.KEPT]


def test_what_a_restart_costs_is_learned_where_rounds_are_short() -> None:
    """A demo of jobs of a minute in rounds of 5 s had no resize: 30 s were assumed for ever."""
    view = running(job("a"), {"n0": 1})
    told = replace(report(restart_s=None), progress_examples=1e5)
    short = replace(view, spec=replace(view.spec, work_examples=1.5e5), report=told)
    codes = [
        code_of(decide(Headway(), replace(snapshot(nodes(4), short), round_s=round_s)), "a")
        for round_s in (5.0, 600.0)
    ]
    assert codes == [ReasonCode.GREW, ReasonCode.KEPT]


def test_a_tenant_with_more_weight_is_served_first() -> None:
    def of(name: str, tenant: str) -> JobView:
        view = rigid(name)
        return replace(view, spec=replace(view.spec, tenant=tenant))

    seen = snapshot(nodes(1), of("a", "x"), of("b", "y"))
    assert set(decide(Headway(tenants="y:3"), seen).allocations) == {"b"}
    assert set(decide(Headway(tenants="x:3"), seen).allocations) == {"a"}


def test_the_promise_is_in_the_decision() -> None:
    decision = decide(Headway(), snapshot(nodes(4), running(job("a"), {"n0": 1})))
    numbers = dict(decision.reasons[0].numbers)
    assert {"rho_hat", "egalitarian_s", "finish_s", "finish_error_s"} <= set(numbers)
    assert numbers["guess"] == 1.0  # it has not said how long it trains
    assert decision.gap is not None


def test_a_second_job_of_a_kind_starts_where_the_first_has_come_to() -> None:
    policy = Headway()
    wide = running(job("net-1"), {"n0": 4, "n1": 4})
    _, memory = policy.decide(snapshot(nodes(4, 4), wide), policy.start(), np.random.default_rng(0))
    new = snapshot(nodes(4, 4), job("net-2"), now_s=3_660.0)
    decision, _ = policy.decide(new, memory, np.random.default_rng(0))
    assert next(iter(decision.allocations.values())).gpus > 1
    alone, _ = policy.decide(new, policy.start(), np.random.default_rng(0))
    assert next(iter(alone.allocations.values())).gpus == 1


@pytest.mark.parametrize(
    ("setting", "value"), [("q", "0.5"), ("b", "-1"), ("lookahead_s", "0"), ("tenants", "x")]
)
def test_a_setting_without_sense_is_one_clear_line(setting: str, value: str) -> None:
    with pytest.raises(InvalidInputError, match="tenants" if setting == "tenants" else setting):
        make("headway", {setting: value})
