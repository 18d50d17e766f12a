"""What a job is told that has free GPUs before it and cannot use them."""

from dataclasses import replace

import pytest

from headway.core.policy import make
from headway.core.policy.grid import Grid
from headway.core.policy.needs import counting
from headway.core.policy.waiting import exceeds
from headway.core.types import JobView, Node, ReasonCode
from headway.testing.snapshots import code_of, decide, job, nodes, numbers_of, running, snapshot

NODE = replace(nodes(4)[0], cpus=8.0, memory_gb=100.0)


def asking(view: JobView, cpus: float, memory_gb: float) -> JobView:
    spec = replace(view.spec, cpus_per_gpu=cpus, memory_gb_per_gpu=memory_gb)
    return replace(view, spec=spec)


@pytest.mark.parametrize(
    ("cpus", "memory_gb", "code", "needed", "free"),
    [
        (3.0, 1.0, ReasonCode.NO_CPUS, ("cpus_needed", 6.0), ("cpus_free", 4.0)),
        (1.0, 40.0, ReasonCode.NO_MEMORY, ("memory_gb_needed", 80.0), ("memory_gb_free", 60.0)),
    ],
)
def test_it_is_told_what_it_waits_for_and_how_much_there_is(
    cpus: float, memory_gb: float, code: ReasonCode, needed: object, free: object
) -> None:
    holder = asking(running(job("a", requested_gpus=1), {"n0": 1}), 4.0, 40.0)
    waits = asking(job("b", requested_gpus=2, submitted_s=1.0), cpus, memory_gb)
    decision = decide(make("las"), snapshot((NODE,), holder, waits))
    assert code_of(decision, "b") is code
    assert {needed, free} <= set(numbers_of(decision, "b").items())


def test_where_gpus_are_short_too_it_waits_for_gpus() -> None:
    holder = asking(running(job("a", requested_gpus=3), {"n0": 3}), 2.0, 0.0)
    waits = asking(job("b", requested_gpus=2, submitted_s=1.0), 4.0, 0.0)
    decision = decide(make("fifo"), snapshot((NODE,), holder, waits))
    assert code_of(decision, "b") is ReasonCode.WAITING


@pytest.mark.parametrize("policy", ["fifo", "pollux", "headway", "sia", "shockwave", "optimus"])
def test_more_than_can_ever_be_had_is_told_with_what_there_is(policy: str) -> None:
    view = asking(job("a", requested_gpus=1), 16.0, 0.0)
    decision = decide(make(policy), snapshot((NODE,), view))
    assert code_of(decision, "a") is ReasonCode.TOO_LARGE
    numbers = numbers_of(decision, "a")
    assert (numbers["gpus_with_these"], numbers["cpus_per_gpu"]) == (0.0, 16.0)


def test_too_many_gpus_are_too_many_whatever_goes_with_them() -> None:
    reason = exceeds(asking(job("a"), 16.0, 0.0).spec, 8, 0, ("gpus_of_cluster", 4.0))
    assert reason.numbers == (("gpus_needed", 8.0), ("gpus_of_cluster", 4.0))


def test_on_a_node_that_says_it_has_fewer_cpus_now_who_came_first_keeps_its_gpus() -> None:
    jobs = [
        asking(running(job(str(at), requested_gpus=2, submitted_s=at), {"n0": 2}), 4.0, 0.0)
        for at in (1, 2)
    ]
    less: tuple[Node, ...] = (replace(NODE, cpus=8.0),)
    grid = Grid.of(snapshot(less, *jobs), at_requested_size=True)
    assert grid.held.tolist() == [[2], [0]]
    assert grid.resources == counting([view.spec for view in jobs], less)
