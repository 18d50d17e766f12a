"""What more GPUs would be worth: by hand, and where there is nothing to say."""

from dataclasses import replace

import pytest

from headway.core.explain.more import More, more
from headway.core.ids import JobId
from headway.core.policy.base import Traits
from headway.core.types import JobView, Node
from headway.testing.snapshots import bounds, job, nodes, report, running, snapshot

RESIZES = Traits(resizes=True, adapts_batch_size=True)
TWO = nodes(4, 4)
STEP_S = 0.018 + 0.0007 * 64  # a pass of 64 examples on each of two GPUs


def fixed(gpus: int, *, most: int = 8, tried: int = 0) -> JobView:
    """A job of 128 examples a step, with a report, that holds so many GPUs of one node."""
    view = running(job("a", adaptive=False, gpus=bounds(most=most)), {"n0": gpus})
    return replace(view, max_gpus_held=max(tried, gpus), report=report())


def of(
    view: JobView, *others: JobView, traits: Traits = RESIZES, there: tuple[Node, ...] = TWO
) -> More | str:
    return more(view, snapshot(there, view, *others), traits)


def test_a_fixed_batch_on_twice_the_gpus_by_hand() -> None:
    """Overlap: (T_grad^2.2 + T_sync^2.2)^(1/2.2), T_sync of 2 GPUs 0.03 s and of 4 0.04 s."""

    def step_s(per_gpu: int, sync_s: float) -> float:
        return float(((0.018 + 0.0007 * per_gpu) ** 2.2 + sync_s**2.2) ** (1 / 2.2))

    found = of(fixed(2))
    assert isinstance(found, More)
    assert (found.gpus, found.tried) == (4, False)
    assert found.times == pytest.approx(step_s(64, 0.03) / step_s(32, 0.04))
    assert str(found) == (
        f"4 GPUs would make it {found.times:.2f} times as fast by its model, where it was never "
        "tried"
    )
    tried = of(fixed(2, tried=4))
    assert str(tried).endswith("times as fast by its model")


def test_several_nodes_are_told_from_one() -> None:
    """6 GPUs are on two nodes, and synchronise slowly."""
    near, far = of(fixed(3, most=6), there=nodes(4, 4, 8)), of(fixed(3))
    assert isinstance(near, More)
    assert isinstance(far, More)
    assert near.gpus == far.gpus == 6
    assert near.times > 1.9 * far.times


def test_an_adaptive_batch_grows_with_the_gpus_only_under_a_policy_that_lets_it() -> None:
    view = running(job("a"), {"n0": 2})
    view = replace(view, report=report(noise_scale=50_000.0))
    free, held = (
        of(view, traits=Traits(resizes=True, adapts_batch_size=adapts)) for adapts in (True, False)
    )
    assert isinstance(free, More)
    assert isinstance(held, More)
    assert free.times > 1.5 > held.times


SPANNING = replace(running(job("a", gpus=bounds(most=16)), {"n0": 4, "n1": 4}), report=report())


@pytest.mark.parametrize(
    ("view", "traits", "said"),
    [
        (fixed(2), Traits(), ""),
        (job("a"), RESIZES, ""),
        (replace(fixed(2), report=None), RESIZES, ""),
        (fixed(4, most=4), RESIZES, "It may hold no more than 4"),
        (SPANNING, RESIZES, "No more are to be had: the cluster has room for 8 of these"),
    ],
)
def test_where_there_is_no_more_it_says_why(view: JobView, traits: Traits, said: str) -> None:
    assert of(view, traits=traits) == said


def asking(name: str, gpus: int, **each: float) -> JobView:
    view = fixed(gpus)
    return replace(view, spec=replace(view.spec, job_id=JobId(name), **each))


def test_where_the_cluster_has_too_few_cpus_they_are_named() -> None:
    """GPUs were free, and nothing said why the job had no more of them."""
    short = tuple(replace(node, cpus=8.0) for node in TWO)
    assert of(asking("a", 2, cpus_per_gpu=8.0), there=short) == (
        "No more with 8 CPUs each are to be had: the cluster has room for 2 of these"
    )


@pytest.mark.parametrize(
    ("others", "said"),
    [
        (0, ""),
        (1, "they would need 8 CPUs, and nodes with free GPUs have 6"),
        (5, ""),  # GPUs themselves are short
    ],
)
def test_where_other_jobs_have_the_cpus_it_is_said(others: int, said: str) -> None:
    there = (replace(nodes(8)[0], cpus=8.0),)
    view, other = (asking(name, gpus, cpus_per_gpu=2.0) for name, gpus in (("a", 2), ("b", others)))
    found = of(view, other, there=there)
    assert isinstance(found, More)
    assert found.short == said
    assert str(found).endswith(said or "never tried")


def test_a_rigid_job_and_one_that_may_not_stop_have_nothing_to_compare() -> None:
    rigid = running(job("a", gpus=bounds(least=2, most=2)), {"n0": 2})
    pinned = running(job("a", preemptible=False), {"n0": 2})
    for view in (rigid, pinned):
        assert of(replace(view, report=report())) == ""


def test_the_next_size_where_none_is_within_twice() -> None:
    view = running(job("a", gpus=bounds(sizes=(1, 3, 8))), {"n0": 1})
    found = of(replace(view, report=report()))
    assert isinstance(found, More)
    assert found.gpus == 3
