"""Speedups against a fair share, on clusters of one GPU type and of several."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.policy.grid import Grid
from headway.core.policy.speedups import Speedups, fair_goodput
from headway.core.policy.tables import Goodputs, Places, Tables
from headway.core.types import JobView, Node
from headway.testing.snapshots import bounds, job, mixed, nodes, running, snapshot

MIXED = mixed(nodes(4, 4, 8), types=["t4", "t4", "a100"], racks=["r0", "r1", "r1"])


def grid_of(cluster: tuple[Node, ...], *jobs: JobView) -> Grid:
    return Grid.of(snapshot(cluster, *jobs), at_requested_size=False)


def tables_of(grid: Grid, most: int) -> Tables:
    limit = np.full(len(grid.jobs), most)
    places = Places.of(grid.types, has_racks=grid.has_racks)
    return Goodputs().updated(grid.jobs, places=places, most=limit).arrays(grid.jobs, limit)


def test_the_fair_share_of_one_type_is_that_of_the_paper() -> None:
    """Four GPUs on one node of four, six on two of them."""
    grid = grid_of(nodes(4, 4), running(job("a"), {"n0": 1}))
    tables = tables_of(grid, 8)
    of_four = fair_goodput(grid, tables, np.array([4]), one_node=False)
    assert of_four.tolist() == [tables.local[0, 0, 4]]
    of_six = fair_goodput(grid, tables, np.array([6]), one_node=False)
    assert of_six.tolist() == [tables.several[0, 0, 6]]


def test_the_fair_share_may_count_as_on_one_node_however_wide() -> None:
    """As in the published code: what is fair does not depend on how GPUs are cut into nodes."""
    narrow = grid_of(nodes(4, 4), running(job("a"), {"n0": 1}))
    wide = grid_of(nodes(8), running(job("a"), {"n0": 1}))
    fair = np.array([6])
    found = fair_goodput(narrow, tables_of(narrow, 8), fair, one_node=True)
    assert found.tolist() == [tables_of(wide, 8).local[0, 0, 6]]
    assert found > fair_goodput(narrow, tables_of(narrow, 8), fair, one_node=False)
    places, most = Places.of(narrow.types, has_racks=False), np.array([8])
    known = Goodputs().updated(narrow.jobs, places=places, most=most, fair=fair)
    remembered = fair_goodput(narrow, known.arrays(narrow.jobs, most), fair, one_node=True)
    assert remembered.tolist() == found.tolist()


def test_the_fair_share_of_a_mixed_cluster_is_the_mean_over_its_gpus() -> None:
    """Eight a100 and eight t4; six GPUs of the one are on one node, of the other on two."""
    grid = grid_of(MIXED, running(job("a"), {"n0": 1}))
    tables = tables_of(grid, 8)
    assert [one.name for one in grid.types] == ["a100", "t4"]
    assert tables.rack is not None
    expected = (tables.local[0, 0, 6] + tables.rack[0, 1, 6]) / 2
    assert fair_goodput(grid, tables, np.array([6]), one_node=False) == pytest.approx([expected])


def test_what_owner_or_cap_forbid_is_no_speedup_on_any_type() -> None:
    view = running(job("a", gpus=bounds(most=8, sizes=(1, 2, 4, 8))), {"n0": 2})
    grid = grid_of(MIXED, view)
    tables = tables_of(grid, 8)
    found = Speedups.of_goodput(grid, tables, np.array([4]), np.array([4]), one_node=False)
    for table in (found.new.local, found.new.rack, found.new.several):
        assert table is not None
        for kind in range(2):
            positive = set(np.flatnonzero(table[0, kind]).tolist())
            assert positive <= {1, 2, 4}
            assert {2, 4} <= positive
    assert found.keep[0] == pytest.approx(found.new.local[0, 1, 2])


def test_a_row_is_looked_up_by_type_and_by_racks() -> None:
    grid = grid_of(MIXED, running(job("a"), {"n2": 2}))
    tables = tables_of(grid, 8)
    found = Speedups.of_goodput(grid, tables, np.array([4]), np.array([8]), one_node=False)
    assert found.of(np.array([[0, 0, 3]])) == found.new.local[0, 0, 3]
    assert found.of(np.array([[2, 1, 0]])) == found.new.several[0, 1, 3]
    assert found.of(np.array([[0, 0, 0]])) == 0.0


def test_more_gpus_grow_a_job_on_its_own_type_only() -> None:
    waiting = replace(job("b"))
    grid = grid_of(MIXED, running(job("a"), {"n0": 2}), waiting)
    tables = tables_of(grid, 8)
    found = Speedups.of_goodput(grid, tables, np.array([4, 4]), np.array([8, 8]), one_node=False)
    grows = found.grows(5)
    assert grows[0].tolist() == [[False] * 5, [False, False, False, True, True]]
    assert grows[1].tolist() == [[False, True, True, True, True]] * 2
