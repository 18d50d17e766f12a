"""What goes with GPUs: whole units, exact sums."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.core.solve.beside import BEYOND, Beside, Room


def small(seed: int) -> tuple[Beside, np.ndarray]:
    """Two resources, three jobs, three nodes, and a placement that may be too much for them."""
    rng = np.random.default_rng(seed)
    beside = Beside(each=rng.integers(0, 4, (3, 2)), room=rng.integers(0, 20, (3, 2)))
    return beside, rng.integers(0, 4, (3, 3))


@given(st.integers(0, 2**32 - 1))
def test_a_placement_fits_if_no_node_gives_more_than_it_has(seed: int) -> None:
    beside, alloc = small(seed)
    by_hand = all(
        sum(int(alloc[job, node] * beside.each[job, what]) for job in range(3))
        <= beside.room[node, what]
        for node in range(3)
        for what in range(2)
    )
    assert beside.fits(alloc) == by_hand


@given(st.integers(0, 2**32 - 1), st.integers(0, 2), st.integers(0, 2))
def test_a_job_may_have_what_is_free_and_not_one_gpu_more(seed: int, job: int, node: int) -> None:
    beside, alloc = small(seed)
    alloc = np.where(np.arange(3)[:, None] == job, 0, alloc)
    if not beside.fits(alloc):
        return
    room = Room(np.full(3, 8), beside, alloc)
    free = int(room.free(job)[node])
    row = np.where(np.arange(3) == node, free, 0)
    assert beside.fits(alloc + (np.arange(3)[:, None] == job) * row)
    more = alloc.copy()
    more[job, node] = free + 1
    assert more.sum(axis=0)[node] > 8 or not beside.fits(more)
    room.take(job, row)
    assert room.free(job)[node] == 0


def test_without_resources_gpus_alone_count() -> None:
    nothing = Beside.nothing(2, 3)
    assert not nothing
    assert nothing.fits(np.full((2, 3), 1_000))
    assert nothing.within(0, nothing.room).tolist() == [BEYOND] * 3
    room = Room(np.array([4, 3, 2]), nothing, np.ones((2, 3), np.int64))
    assert room.free(0).tolist() == [2, 1, 0]


def test_a_part_has_what_the_others_leave() -> None:
    beside = Beside(each=np.array([[2], [3]]), room=np.array([[10], [10]]))
    part = beside.part(np.array([1]), np.array([0]), np.array([[4, 0], [0, 0]]))
    assert (part.each.tolist(), part.room.tolist()) == ([[3]], [[2]])
