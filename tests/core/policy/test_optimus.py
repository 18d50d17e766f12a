"""Greedy by the marginal decrease of remaining time."""

from dataclasses import replace
from itertools import pairwise

import pytest

from headway.core.ids import JobId
from headway.core.policy.optimus import Optimus
from headway.core.types import JobView, ReasonCode
from headway.testing.policies import PolicyContract
from headway.testing.snapshots import (
    bounds,
    code_of,
    decide,
    job,
    mixed,
    nodes,
    report,
    running,
    snapshot,
)


class TestContract(PolicyContract):
    @pytest.fixture
    def policy(self) -> Optimus:
        return Optimus()


def known(
    name: str,
    *,
    on: dict[str, int] | None = None,
    steps: float = 10_000.0,
    node_s: float = 0.1,
    sizes: tuple[int, ...] | None = None,
    batch_size: int = 2_048,
) -> JobView:
    """A job of cifar10's kind that has so many steps left at its batch size."""
    view = job(name, gpus=bounds(most=16, sizes=sizes))
    spec = replace(view.spec, requested_batch_size=batch_size, work_samples=steps * batch_size)
    view = replace(view, spec=spec, report=report(node_s=node_s))
    return running(view, on) if on else view


def sizes_of(*jobs: JobView, gpus: tuple[int, ...] = (4, 4)) -> dict[str, int]:
    decision = decide(Optimus(), snapshot(nodes(*gpus), *jobs))
    return {view.spec.name: decision.of(view.spec.job_id).gpus for view in jobs}


def test_every_job_gets_its_smallest_before_any_gets_more() -> None:
    jobs = [known(name) for name in "abcdefgh"]
    assert sizes_of(*jobs) == dict.fromkeys("abcdefgh", 1)
    assert sizes_of(*jobs, known("i"))["i"] == 0


def test_who_has_more_left_gets_more() -> None:
    got = sizes_of(known("long", steps=20_000.0), known("short", steps=2_000.0))
    assert got["long"] > got["short"] >= 1
    assert sum(got.values()) == 8


def test_what_was_done_no_longer_counts() -> None:
    done = known("done", steps=20_000.0)
    assert done.report is not None
    done = replace(done, report=replace(done.report, samples=19_900 * 2_048))
    got = sizes_of(done, known("short", steps=2_000.0))
    assert got["short"] > got["done"]


def test_nobody_grows_where_that_makes_it_slower() -> None:
    """Two nodes cost 50 s a step, so the fifth GPU saves nothing and stays free."""
    assert sizes_of(known("local", node_s=50.0)) == {"local": 4}


def test_the_batch_is_not_split_finer_than_the_owner_allows() -> None:
    view = known("coarse", batch_size=128)
    spec = replace(view.spec, batch=replace(view.spec.batch, min_batch_per_gpu=64))
    assert sizes_of(replace(view, spec=spec)) == {"coarse": 2}


def test_a_step_between_listed_sizes_counts_for_each_of_its_gpus() -> None:
    got = sizes_of(known("listed", sizes=(1, 4)), known("free", steps=11_000.0), gpus=(4,))
    assert got == {"listed": 1, "free": 3}
    assert sizes_of(known("listed", sizes=(1, 4)), gpus=(4,)) == {"listed": 4}


def test_without_a_report_or_declared_work_it_stays_small() -> None:
    view = known("silent")
    assert sizes_of(replace(view, report=None)) == {"silent": 1}
    assert sizes_of(replace(view, spec=replace(view.spec, work_samples=None))) == {"silent": 1}


def test_scale_invariant_work_is_counted_at_the_present_noise_scale() -> None:
    """At phi = 0 a step of any batch is worth one at M0, so more steps are left."""
    view = known("noisy")
    spec = replace(view.spec, work_samples=None, work_examples=1e6)
    left_s = []
    for noise_scale in (0.0, 1e3, 1e9):
        seen = replace(view, spec=spec, report=report(noise_scale=noise_scale))
        reason = decide(Optimus(), snapshot(nodes(1), seen)).reasons[0]
        left_s.append(dict(reason.numbers)["remaining_s"])
    assert left_s[0] / left_s[2] == pytest.approx(2_048 / 128, rel=1e-3)
    assert all(before > after for before, after in pairwise(left_s))


def test_who_keeps_its_size_is_not_moved() -> None:
    spread = known("spread", on={"n0": 1, "n1": 3})
    decision = decide(Optimus(), snapshot(nodes(4, 4), spread, known("other")))
    assert decision.of(JobId("spread")) == spread.allocation
    assert code_of(decision, "spread") is ReasonCode.KEPT
    assert decision.of(JobId("other")).gpus == 4


def test_a_job_grows_on_its_own_type_and_a_new_one_goes_where_its_share_is_largest() -> None:
    """Eight t4 at speed 1 and four a100 at speed 3: a new job's share of the latter is larger; once
    a job is there, half of it is less than all of the former."""
    cluster = mixed(nodes(4, 4, 4), types=["t4", "t4", "a100"])
    first = decide(Optimus(), snapshot(cluster, known("a"), known("b"))).allocations
    assert [node for node, _ in first[JobId("a")].per_node] == ["n2"]
    assert {node for node, _ in first[JobId("b")].per_node} <= {"n0", "n1"}
    stays = decide(Optimus(), snapshot(cluster, known("a", on={"n0": 1}))).allocations[JobId("a")]
    assert {node for node, _ in stays.per_node} == {"n0", "n1"}
    assert stays.gpus > 4
