"""Who runs and where, in an order, where CPUs or memory count."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.policy.admission import admit, place, requested_gpus
from headway.core.policy.grid import Grid
from headway.core.policy.seating import Totals, seat, smaller
from headway.core.types import JobView, Node
from headway.testing.snapshots import bounds, job, nodes, random_job, running, snapshot

TWO = tuple(replace(node, cpus=8.0) for node in nodes(4, 4))


def asking(view: JobView, cpus: float) -> JobView:
    return replace(view, spec=replace(view.spec, cpus_per_gpu=cpus))


def grid_of(*jobs: JobView, on: tuple[Node, ...] = TWO) -> Grid:
    return Grid.of(snapshot(on, *jobs), at_requested_size=True)


def test_two_jobs_for_which_there_are_gpus_but_not_cpus_go_to_two_nodes() -> None:
    jobs = [
        asking(job(name, requested_gpus=2, submitted_s=at), 4.0) for at, name in enumerate("abc")
    ]
    grid = grid_of(*jobs)
    alloc = seat(grid, [0, 1, 2], requested_gpus(grid))
    assert alloc.sum(axis=1).tolist() == [2, 2, 0]
    assert alloc.sum(axis=0).tolist() == [2, 2]


def test_a_job_is_spread_where_no_node_has_enough_beside_its_gpus() -> None:
    grid = grid_of(asking(job("a", requested_gpus=4), 4.0))
    assert seat(grid, [0], requested_gpus(grid)).tolist() == [[2, 2]]


def test_who_runs_stays_and_the_last_in_the_order_makes_room_first() -> None:
    first = asking(job("a", requested_gpus=2, submitted_s=3.0), 4.0)
    stays = asking(running(job("b", requested_gpus=2, submitted_s=1.0), {"n0": 2}), 4.0)
    goes = asking(running(job("c", requested_gpus=2, submitted_s=2.0), {"n1": 2}), 4.0)
    grid = grid_of(first, stays, goes)  # rows by submission: b, c, a
    alloc = seat(grid, [2, 0, 1], requested_gpus(grid))
    assert alloc.tolist() == [[2, 0], [0, 0], [0, 2]]


def test_who_is_not_in_the_way_stays_though_it_is_last() -> None:
    """Memory of node n1 is of no use to a job that needs n0's CPUs."""
    cluster = (replace(nodes(4)[0], cpus=8.0), replace(nodes(4, 4)[1], cpus=1.0))
    first = asking(job("a", requested_gpus=2, submitted_s=3.0), 4.0)
    in_the_way = asking(running(job("b", requested_gpus=2, submitted_s=1.0), {"n0": 2}), 4.0)
    not_in_it = asking(running(job("c", requested_gpus=1, submitted_s=2.0), {"n1": 1}), 1.0)
    grid = grid_of(first, in_the_way, not_in_it, on=cluster)
    assert seat(grid, [2, 0, 1], requested_gpus(grid)).tolist() == [[0, 0], [0, 1], [2, 0]]


@pytest.mark.parametrize("seed", range(20))
def test_with_gpus_alone_it_is_admission_and_placement(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = [random_job(rng, f"j{at}", float(at)) for at in range(6)]
    grid = grid_of(*jobs, on=nodes(*rng.integers(1, 6, 3).tolist()))
    need, order = requested_gpus(grid), rng.permutation(len(grid.jobs)).tolist()
    assert (seat(grid, order, need) == place(grid, admit(grid, order, need), need)).all()


def test_who_holds_nothing_gets_the_largest_size_that_fits() -> None:
    grid = grid_of(asking(job("a", gpus=bounds(least=1, most=8)), 4.0), asking(job("b"), 4.0))
    alloc = smaller(grid, np.array([[0, 0], [0, 1]]), [0, 1])
    assert alloc.sum(axis=1).tolist() == [3, 1]


def test_totals_are_of_each_type_and_count_what_goes_with_gpus() -> None:
    totals = Totals.of(grid_of(asking(job("a"), 4.0), job("b")))
    assert totals.enough(0, 4).tolist() == [True]
    assert totals.enough(0, 5).tolist() == [False]
    totals.take(0, 0, 4)
    assert totals.enough(1, 4).tolist() == [True]
    assert totals.enough(1, 5).tolist() == [False]
