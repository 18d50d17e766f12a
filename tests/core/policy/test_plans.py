"""A population remembered by names: who stays keeps its rows, who is new holds nothing."""

import numpy as np

from headway.core.policy.grid import Grid
from headway.core.policy.plans import Plans
from headway.testing.snapshots import job, nodes, snapshot


def grid(names: str, count: int) -> Grid:
    return Grid.of(
        snapshot(nodes(*[4] * count), *(job(name) for name in names)), at_requested_size=False
    )


def test_jobs_and_nodes_come_and_go() -> None:
    alloc = np.arange(12).reshape(2, 3, 2)
    plans = Plans.of(grid("abc", 2), alloc)
    assert plans.on(grid("abc", 2)).tolist() == alloc.tolist()
    later = plans.on(grid("bcd", 3))
    assert later[:, :2, :2].tolist() == alloc[:, 1:].tolist()
    assert not later[:, 2].any()
    assert not later[:, :, 2].any()


def test_nothing_remembered_is_no_plan() -> None:
    assert Plans().on(grid("ab", 2)).shape == (0, 2, 2)
    assert Plans.of(grid("a", 1), np.ones((3, 1, 1), dtype=np.int64)).on(grid("b", 1)).sum() == 0
    assert Plans() == Plans()
