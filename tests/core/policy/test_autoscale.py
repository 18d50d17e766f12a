"""A policy in a cluster that scales: the laws of who leaves, and of when."""

from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import chain, product
from typing import Any

import numpy as np
import pytest

from headway.core.errors import InvalidInputError
from headway.core.ids import NodeId
from headway.core.policy import POLICIES, SCALERS, make
from headway.core.policy.autoscale import Autoscaled
from headway.core.policy.base import Policy
from headway.core.policy.las import Las
from headway.core.policy.pollux import Pollux
from headway.core.policy.probe import pinned_nodes
from headway.core.policy.scalers import GoodputScaler, ThroughputScaler
from headway.core.scale import ScaleCode, Scaling
from headway.core.types import Decision, JobView, Node, Snapshot
from headway.testing.policies import SEEDS, PolicyContract
from headway.testing.snapshots import (
    bounds,
    job,
    nodes,
    random_job,
    report,
    running,
    snapshot,
)


class TestContract(PolicyContract):
    @pytest.fixture(params=["pollux+cost", "pollux+goodput", "las+throughput"])
    def policy(self, request: pytest.FixtureRequest) -> Policy[Any]:
        return make(request.param)


def lived(policy: Policy[Any], seed: int) -> Iterator[tuple[Snapshot, Decision]]:
    """Rounds in a cloud that obeys at once: what is asked for comes, what leaves is gone."""
    rng = np.random.default_rng(seed)
    cluster, memory, active = list(nodes(4, 4)), policy.start(), list[JobView]()
    wanted: int | None = None
    for index in range(15):
        active = [view for view in active if rng.random() > 0.1]
        active += [random_job(rng, f"j{index}-{n}", 60.0 * index) for n in range(rng.integers(3))]
        seen = snapshot(tuple(cluster), *active, now_s=60.0 * index, round_index=index)
        seen = replace(seen, nodes_wanted=wanted)
        decision, memory = policy.decide(seen, memory, np.random.default_rng(seed))
        yield seen, decision
        scaling = _of(decision)
        wanted = scaling.nodes
        cluster = [node for node in cluster if node.node_id not in scaling.leaving]
        while len(cluster) < wanted:
            cluster.append(Node(node_id=NodeId(f"s{index}-{len(cluster):02}"), gpus=4))
        active = [_later(view, decision, rng) for view in active]


def _later(view: JobView, decision: Decision, rng: np.random.Generator) -> JobView:
    held = decision.of(view.spec.job_id)
    said = report(noise_scale=float(rng.uniform(100, 50_000)))
    most = max(view.max_gpus_held, held.gpus)
    return replace(view, allocation=held, max_gpus_held=most, report=said if held else view.report)


def _of(decision: Decision) -> Scaling:
    assert decision.scaling is not None
    return decision.scaling


@pytest.mark.parametrize("rule", sorted(SCALERS))
@pytest.mark.parametrize("inner", ["pollux", "las", "fifo"])
def test_a_node_that_leaves_holds_no_job_any_more_and_bounds_hold(inner: str, rule: str) -> None:
    policy = make(f"{inner}+{rule}", {"min_nodes": "2", "max_nodes": "5", "in_rounds": "1"})
    codes = set[ScaleCode]()
    for seen, decision in chain.from_iterable(lived(policy, seed) for seed in SEEDS):
        scaling = _of(decision)
        codes.add(scaling.code)
        here = {node.node_id for node in seen.nodes}
        held = {node for given in decision.allocations.values() for node, _ in given.per_node}
        assert set(scaling.leaving) <= here
        assert not held & set(scaling.leaving)
        assert not pinned_nodes(seen) & set(scaling.leaving)
        assert 2 <= scaling.nodes <= max(5, len(pinned_nodes(seen)))
    assert len(codes) > 1, "else the test says little"


@pytest.mark.parametrize("rule", ["cost", "goodput"])
@pytest.mark.parametrize("inner", ["pollux", "las"])
@pytest.mark.parametrize("noise_scale", [100.0, 2_000.0, 20_000.0, 500_000.0])
def test_without_a_change_of_the_models_a_size_is_found_and_kept(
    inner: str, noise_scale: float, rule: str
) -> None:
    """It may take steps to get there, since a job doubles at most; then it must not flap."""
    policy = make(f"{inner}+{rule}", {"in_rounds": "2"})
    view = job("a", gpus=bounds(most=64), requested_gpus=4)
    cluster, memory, sizes = list(nodes(4, 4, 4)), policy.start(), list[int]()
    for index in range(20):
        seen = snapshot(tuple(cluster), view, now_s=60.0 * index)
        decision, memory = policy.decide(seen, memory, np.random.default_rng(0))
        scaling = _of(decision)
        sizes.append(scaling.nodes)
        cluster = [node for node in cluster if node.node_id not in scaling.leaving]
        while len(cluster) < scaling.nodes:
            cluster.append(Node(node_id=NodeId(f"s{index}-{len(cluster)}"), gpus=4))
        held = decision.of(view.spec.job_id)
        most = max(view.max_gpus_held, held.gpus)
        told = report(noise_scale=noise_scale)
        view = replace(view, allocation=held, max_gpus_held=most, report=told)
    assert len(set(sizes[10:])) == 1


def test_one_round_below_the_band_is_no_reason_to_give_nodes_back() -> None:
    policy = Autoscaled(Pollux(), GoodputScaler(in_rounds=3))
    seen = snapshot(nodes(4, 4, 4, 4), running(job("a"), {"n0": 1}))
    memory, sizes = policy.start(), list[int]()
    for _ in range(3):
        decision, memory = policy.decide(seen, memory, np.random.default_rng(0))
        sizes.append(_of(decision).nodes)
    assert sizes[:2] == [4, 4]
    assert sizes[2] < 4
    assert _of(decision).code is ScaleCode.UTILITY_LOW
    assert memory.rounds == 0


def test_jobs_move_away_from_nodes_that_leave_in_the_same_decision() -> None:
    """One GPU on each of two nodes: one of them must go, and its job must not be on it."""
    policy = Autoscaled(Pollux(), GoodputScaler(in_rounds=1, max_nodes=1))
    seen = snapshot(nodes(4, 4), running(job("a"), {"n0": 1}), running(job("b"), {"n1": 1}))
    decision, _ = policy.decide(seen, policy.start(), np.random.default_rng(0))
    assert _of(decision).leaving == ("n1",)
    assert _of(decision).code is ScaleCode.OUT_OF_BOUNDS
    held = {node for given in decision.allocations.values() for node, _ in given.per_node}
    assert held == {"n0"}
    assert len(decision.allocations) == 2


def test_who_may_not_be_moved_keeps_its_node_even_above_the_bounds() -> None:
    policy = Autoscaled(Pollux(), GoodputScaler(max_nodes=1))
    pinned = [running(job(f"j{n}", preemptible=False), {f"n{n}": 1}) for n in range(2)]
    seen = snapshot(nodes(4, 4, 4), *pinned)
    decision, _ = policy.decide(seen, policy.start(), np.random.default_rng(0))
    assert (_of(decision).nodes, _of(decision).leaving) == (2, ("n2",))


@pytest.mark.parametrize(("inner", "needed"), [("pollux", 2), ("las", 3)])
def test_a_job_that_no_smaller_cluster_can_run_gets_its_nodes_at_once(
    inner: str, needed: int
) -> None:
    view = job("a", gpus=bounds(least=6, most=16), requested_gpus=12)
    hopeless = job("b", gpus=bounds(least=99, most=99), requested_gpus=99)
    policy = make(f"{inner}+goodput", {"out_rounds": "9"})
    seen = snapshot(nodes(4), view, hopeless)
    decision, _ = policy.decide(seen, policy.start(), np.random.default_rng(0))
    assert _of(decision).code is ScaleCode.JOB_NEEDS
    assert _of(decision).nodes >= needed


def test_it_can_what_the_policy_inside_can_and_reads_reports_to_size_the_cluster() -> None:
    scaled = Autoscaled(Las(), ThroughputScaler(max_nodes=7)).traits
    assert (scaled.resizes, scaled.adapts_batch_size) == (False, False)
    assert scaled.reads_reports
    assert scaled.batch_per_gpu
    assert scaled.most_nodes == 7


def test_it_says_in_every_decision_how_well_the_cluster_is_used() -> None:
    policy = Autoscaled(Pollux(), GoodputScaler())
    view = replace(running(job("a"), {"n0": 4}), report=report(noise_scale=1e6))
    seen = snapshot(nodes(4), view)
    decision, _ = policy.decide(seen, policy.start(), np.random.default_rng(0))
    assert 0 < decision.solver["utility"] <= 1
    assert decision.solver["sizes_tried"] >= 0


def test_settings_go_to_whom_they_belong() -> None:
    made = make("pollux+goodput", {"p": "-2", "max_nodes": "9", "low": "0.3"})
    assert made == Autoscaled(Pollux(p=-2.0), GoodputScaler(max_nodes=9, low=0.3))
    for name, scaler in product(POLICIES, SCALERS):
        own = [{part.name for part in fields(kind)} for kind in (POLICIES[name], SCALERS[scaler])]
        assert not own[0] & own[1], f"{name} and {scaler} share a setting"


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("pollux+godput", {}, "policy pollux\\+godput: unknown scaler 'godput'; .* goodput"),
        ("pollux+", {}, "unknown scaler ''"),
        ("polux+goodput", {}, "unknown policy"),
        ("las+goodput", {"p": "1"}, "policy las\\+goodput has no setting 'p'"),
        ("las+goodput", {"max_nodes": "many"}, "las\\+goodput.max_nodes must be of type int"),
    ],
)
def test_what_cannot_be_made_is_said(name: str, settings: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        make(name, settings)
