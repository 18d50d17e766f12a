"""Pollux on GPU types and racks: who belongs where, on instances with known answers."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.ids import JobId
from headway.core.policy.pollux import Pollux
from headway.core.types import GradTime, JobView, Node, ThroughputKind
from headway.testing.snapshots import bounds, decide, job, mixed, nodes, report, running, snapshot

TWO_TYPES = mixed(nodes(4, 4), types=["t4", "a100"])
TWO_RACKS = mixed(nodes(4, 4, 4, 4), types=["t4"], racks=["r0", "r1", "r0", "r1"])


def veteran(name: str, on: dict[str, int], **passes: float) -> JobView:
    """A job of four GPUs that has run on these types, a pass so many times as fast as on a t4."""
    known = report().throughput
    grads = tuple(
        GradTime(
            gpu_type=gpu_type,
            alpha_grad_s=known.alpha_grad_s / ratio,
            beta_grad_s=known.beta_grad_s / ratio,
        )
        for gpu_type, ratio in passes.items()
    )
    view = running(job(name, gpus=bounds(least=4, most=4)), on)
    return replace(view, report=replace(report(), grad_by_type=grads), max_gpus_held=4)


def node_of(view: JobView, *others: JobView, cluster: tuple[Node, ...] = TWO_TYPES) -> str:
    decision = decide(Pollux(), snapshot(cluster, view, *others, now_s=360_000.0))
    ((node_id, _),) = decision.of(view.spec.job_id).per_node
    return node_id


def test_jobs_change_places_where_what_they_measured_says_so() -> None:
    """One is four times as fast on an a100, the other hardly faster, and each sits on the wrong."""
    gains = veteran("a", {"n0": 4}, t4=1.0, a100=4.0)
    indifferent = veteran("b", {"n1": 4}, t4=1.0, a100=1.2)
    assert node_of(gains, indifferent) == "n1"
    assert node_of(indifferent, gains) == "n0"


def test_a_job_moves_to_a_faster_type_that_is_free_and_stays_there() -> None:
    """By nominal speeds alone it may expect three times the goodput."""
    assert node_of(veteran("a", {"n0": 4}, t4=1.0)) == "n1"
    assert node_of(veteran("a", {"n1": 4}, t4=1.0, a100=2.0)) == "n1"


def test_a_job_goes_back_from_a_type_that_disappointed() -> None:
    assert node_of(veteran("a", {"n1": 4}, t4=1.0, a100=0.5)) == "n0"


def test_a_type_that_is_hardly_better_is_not_worth_a_restart() -> None:
    assert node_of(veteran("a", {"n0": 4}, t4=1.0, a100=1.05)) == "n0"


@pytest.mark.parametrize("slow_racks", [False, True])
def test_two_nodes_of_one_rack_are_preferred_untried_or_measured(slow_racks: bool) -> None:
    """Eight GPUs: n0 and n2 are of one rack, n1 and n3 of the other."""
    view = replace(job("a", gpus=bounds(least=8, most=8)), max_gpus_held=8, report=report())
    if slow_racks:
        racked = replace(report().throughput, kind=ThroughputKind.RACKED, alpha_rack_s=0.5)
        view = replace(view, report=replace(report(), throughput=racked))
    given = decide(Pollux(), snapshot(TWO_RACKS, view)).of(JobId("a"))
    assert {node_id for node_id, _ in given.per_node} in ({"n0", "n2"}, {"n1", "n3"})


def test_a_job_is_brought_together_in_one_rack_where_racks_are_slow() -> None:
    racked = replace(
        report().throughput, kind=ThroughputKind.RACKED, alpha_rack_s=3.0, beta_rack_s=0.1
    )
    view = running(job("a", gpus=bounds(least=8, most=8)), {"n0": 4, "n1": 4})
    view = replace(view, report=replace(report(), throughput=racked))
    given = decide(Pollux(), snapshot(TWO_RACKS, view, now_s=360_000.0)).of(JobId("a"))
    assert {node_id for node_id, _ in given.per_node} in ({"n0", "n2"}, {"n1", "n3"})


@pytest.mark.parametrize("seed", range(6))
def test_without_news_everybody_stays_after_two_rounds(seed: int) -> None:
    """Types, racks and what jobs measured at random; only time passes from round to round."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, 6).tolist()
    cluster = mixed(nodes(*sizes), types=["t4", "a100", "k80"], racks=["r0", "r0", "r1"])
    jobs = [
        replace(
            veteran(f"j{index}", {}, t4=1.0, a100=float(rng.uniform(0.5, 4.0))),
            first_started_s=None,
            max_gpus_held=8,
        )
        for index in range(7)
    ]
    jobs = [replace(one, spec=replace(one.spec, gpus=bounds(most=8))) for one in jobs]
    policy, changed = Pollux(), []
    memory = policy.start()
    for turn in range(5):
        seen = snapshot(cluster, *jobs, now_s=36_000.0 + 60.0 * turn)
        decision, memory = policy.decide(seen, memory, rng)
        moved = [one for one in jobs if decision.of(one.spec.job_id) != one.allocation]
        changed.append(len(moved))
        jobs = [
            replace(
                one,
                allocation=decision.of(one.spec.job_id),
                restarts=one.restarts + (one in moved and bool(one.allocation)),
            )
            for one in jobs
        ]
    assert changed[0] > 0
    assert changed[2:] == [0, 0, 0]
