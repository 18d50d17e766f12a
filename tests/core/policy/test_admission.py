"""Admission in an order, at one size a job."""

import numpy as np

from headway.core.policy.admission import admit, pack_fastest, place, requested_gpus
from headway.core.policy.grid import Grid
from headway.core.types import JobView
from headway.testing.snapshots import job, mixed, nodes, running, snapshot


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


MIXED = mixed(nodes(4, 4, 4), types=["t4", "a100", "k80"])


def mixed_grid(*jobs: JobView) -> Grid:
    return Grid.of(snapshot(MIXED, *jobs), at_requested_size=True)


def test_the_fastest_type_with_room_is_taken_and_no_job_has_two() -> None:
    """a100, t4, k80 by nominal speed: three GPUs each, and a fourth job finds no three together."""
    jobs = [job(name, requested_gpus=3, submitted_s=at) for at, name in enumerate("abcd")]
    grid = mixed_grid(*jobs)
    need = requested_gpus(grid)
    admitted = admit(grid, [0, 1, 2, 3], need)
    assert [grid.types[kind].name for kind in admitted.values()] == ["a100", "t4", "k80"]
    assert place(grid, admitted, need).tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 3], [0, 0, 0]]


def test_nobody_is_pushed_off_a_type_while_another_has_room() -> None:
    first = job("a", requested_gpus=3)
    runs = running(job("b", requested_gpus=3, submitted_s=1.0), {"n1": 3})
    grid = mixed_grid(first, runs)
    need = requested_gpus(grid)
    alloc = place(grid, admit(grid, [0, 1], need), need)
    assert alloc.tolist() == [[3, 0, 0], [0, 3, 0]]


def test_where_there_is_no_other_room_who_comes_first_pushes_the_later_one_off() -> None:
    """Four GPUs are nowhere free; the last in the order loses its own, and there is no place."""
    first = job("a", requested_gpus=4)
    others = [
        running(job(name, requested_gpus=2, submitted_s=at), {node: 2})
        for at, (name, node) in enumerate((("b", "n0"), ("c", "n1"), ("d", "n2")), start=1)
    ]
    grid = mixed_grid(first, *others)
    need = requested_gpus(grid)
    alloc = place(grid, admit(grid, [0, 1, 2, 3], need), need)
    assert alloc.tolist() == [[0, 4, 0], [2, 0, 0], [2, 0, 0], [0, 0, 2]]


def test_packing_looks_at_one_type_after_the_other() -> None:
    grid = mixed_grid(job("a"))
    free = np.array([2, 1, 4])
    assert [
        None if found is None else found.tolist()
        for found in (
            pack_fastest(grid, free, 1),
            pack_fastest(grid, free, 2),
            pack_fastest(grid, free, 5),
        )
    ] == [[0, 1, 0], [2, 0, 0], None]
