"""Snapshots as arrays and back."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.ids import JobId
from headway.core.policy.grid import Grid
from headway.core.types import ReasonCode
from headway.testing.snapshots import bounds, code_of, job, mixed, nodes, running, snapshot

JOBS = (
    running(job("late", submitted_s=5.0), {"n1": 2, "n0": 1}),
    job("early", submitted_s=1.0),
    job("huge", gpus=bounds(least=9, most=9)),
)


def test_jobs_are_in_queue_order_and_nodes_by_name() -> None:
    grid = Grid.of(snapshot(nodes(4, 2)[::-1], *JOBS), at_requested_size=False)
    assert [view.spec.name for view in grid.jobs] == ["early", "late"]
    assert grid.capacity.tolist() == [4, 2]
    assert grid.held.tolist() == [[0, 0], [1, 2]]
    assert grid.running.tolist() == [False, True]
    assert [view.spec.name for view in grid.too_large] == ["huge"]


def test_a_row_becomes_what_it_came_from() -> None:
    grid = Grid.of(snapshot(nodes(4, 2), *JOBS), at_requested_size=False)
    assert grid.allocation(grid.held[1]) == JOBS[0].allocation


def test_a_job_with_a_node_that_is_gone_holds_nothing() -> None:
    view = replace(JOBS[0], spec=replace(JOBS[0].spec, preemptible=False))
    grid = Grid.of(snapshot(nodes(4), view), at_requested_size=False)
    assert not grid.running.any()
    assert not grid.pinned.any()


def test_on_a_node_that_grew_smaller_who_came_first_keeps_its_gpus() -> None:
    jobs = [running(job(str(at), submitted_s=at), {"n0": 2}) for at in (1, 2, 3)]
    grid = Grid.of(snapshot(nodes(4), *jobs), at_requested_size=False)
    assert grid.held.tolist() == [[2], [2], [0]]


def test_what_is_too_large_depends_on_whether_a_policy_resizes() -> None:
    flexible = job("a", gpus=bounds(least=1, most=9), requested_gpus=9)
    seen = snapshot(nodes(4), flexible)
    assert not Grid.of(seen, at_requested_size=False).too_large
    grid = Grid.of(seen, at_requested_size=True)
    assert grid.too_large == (flexible,)
    (reason,) = grid.decision(grid.held).reasons
    assert reason.numbers == (("gpus_needed", 9), ("gpus_of_cluster", 4))  # not its smallest, 1


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ([1, 2], ReasonCode.KEPT),
        ([2, 1], ReasonCode.MOVED),
        ([3, 1], ReasonCode.GREW),
        ([0, 2], ReasonCode.SHRANK),
        ([0, 0], ReasonCode.STOPPED),
    ],
)
def test_every_change_of_a_running_job_has_its_code(row: list[int], code: ReasonCode) -> None:
    grid = Grid.of(snapshot(nodes(4, 2), JOBS[0]), at_requested_size=False)
    assert code_of(grid.decision(np.array([row])), "late") is code


def test_reasons_carry_numbers() -> None:
    grid = Grid.of(snapshot(nodes(4, 2), *JOBS), at_requested_size=False)
    alloc = np.array([[1, 0], [0, 0]])
    decision = grid.decision(alloc, numbers={"x": [0.5, 2.0]}, behind=np.array([True, True]))
    started, stopped, large = decision.reasons
    assert started.numbers == (("gpus_before", 0), ("gpus_after", 1), ("x", 0.5))
    assert stopped.numbers == (("gpus_before", 3), ("gpus_after", 0), ("x", 2.0))
    assert large.numbers == (("gpus_needed", 9), ("gpus_of_cluster", 6))
    assert set(decision.allocations) == {JobId("early")}


def test_types_are_ordered_by_nominal_speed_and_racks_by_name() -> None:
    cluster = mixed(nodes(4, 2, 8, 1), types=["k80", "a100"], racks=["r1", None])
    grid = Grid.of(snapshot(cluster), at_requested_size=False)
    assert [(one.name, one.speed, one.gpus, one.largest) for one in grid.types] == [
        ("a100", 3.0, 3, 2),
        ("k80", 0.5, 12, 8),
    ]
    assert (grid.kind.tolist(), grid.rack.tolist()) == ([1, 0, 1, 0], [1, 0, 1, 0])
    alloc = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]])
    assert grid.locality_of(alloc).tolist() == [2, 1, 0, 0]
    assert grid.kind_of(alloc).tolist() == [1, 1, 1, 0]


def test_a_job_must_fit_one_type() -> None:
    cluster = mixed(nodes(4, 4), types=["t4", "a100"])
    grid = Grid.of(snapshot(cluster, job("a", requested_gpus=5)), at_requested_size=True)
    (reason,) = grid.decision(grid.held).reasons
    assert reason.code is ReasonCode.TOO_LARGE
    assert reason.numbers == (("gpus_needed", 5), ("gpus_of_one_type", 4))
