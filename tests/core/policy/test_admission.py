"""Admission in an order, at one size a job."""

import numpy as np

from headway.core.policy.admission import admit, place, requested_gpus
from headway.core.policy.grid import Grid
from headway.core.types import JobView
from headway.testing.snapshots import job, nodes, running, snapshot


def grid_of(*jobs: JobView) -> Grid:
    return Grid.of(snapshot(nodes(4, 4), *jobs), at_requested_size=True)


def test_a_smaller_job_takes_what_a_larger_one_leaves() -> None:
    jobs = [job(name, requested_gpus=gpus) for name, gpus in (("a", 5), ("b", 4), ("c", 3))]
    grid = grid_of(*jobs)
    assert admit(grid, [0, 1, 2], requested_gpus(grid)) == {0: 0, 2: 0}
    assert admit(grid, [1, 2, 0], requested_gpus(grid)) == {1: 0, 2: 0}


def test_who_may_not_be_preempted_needs_what_it_holds() -> None:
    pinned = running(job("a", requested_gpus=2, preemptible=False), {"n0": 3})
    assert requested_gpus(grid_of(pinned, job("b", requested_gpus=2))).tolist() == [3, 2]


def test_who_has_its_size_stays_and_the_others_get_few_nodes() -> None:
    stays = running(job("a", requested_gpus=2), {"n0": 1, "n1": 1})
    other_size = running(job("b", requested_gpus=3), {"n0": 2})
    grid = grid_of(stays, other_size, job("c", requested_gpus=3))
    alloc = place(grid, dict.fromkeys([0, 1, 2], 0), requested_gpus(grid))
    assert alloc[0].tolist() == [1, 1]
    assert np.sort(alloc[1:], axis=0).tolist() == [[0, 0], [3, 3]]
    assert place(grid, {2: 0}, requested_gpus(grid))[:2].sum() == 0
