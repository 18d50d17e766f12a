"""Goodput of fractional shares, and the shares to come."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.policy.egalitarian import FACTORS, Curves, Drain, sizes_above
from headway.core.policy.grid import Grid
from headway.core.policy.tables import Goodputs, Places, Tables
from headway.core.types import GpuBounds, JobView
from headway.testing.snapshots import bounds, job, mixed, nodes, report, snapshot


def grid(*jobs: JobView, types: tuple[str, ...] = ()) -> Grid:
    cluster = nodes(4, 4)
    if types:
        cluster = mixed(cluster, types=types)
    return Grid.of(snapshot(cluster, *jobs), at_requested_size=False)


def tables(seen: Grid) -> Tables:
    places = Places.of(seen.types, has_racks=seen.has_racks)
    most = np.full(len(seen.jobs), 8)
    return Goodputs().updated(seen.jobs, places=places, most=most).arrays(seen.jobs, most)


def known(name: str, gpus: GpuBounds | None = None) -> JobView:
    return replace(job(name, gpus=gpus), report=report())


class TestCurves:
    def test_half_a_share_of_a_rigid_job_is_half_its_goodput(self) -> None:
        seen = grid(known("a", bounds(least=4, most=4)))
        curves = Curves.of(seen, tables(seen))
        whole = curves.at(np.array([4.0]))
        assert curves.at(np.array([2.0])) == pytest.approx(whole / 2)
        assert curves.at(np.array([8.0])) == pytest.approx(whole)
        assert whole == pytest.approx(tables(seen).local[0, 0, 4])

    def test_more_is_never_less_and_adds_ever_less(self) -> None:
        seen = grid(known("a"))
        curve = [float(Curves.of(seen, tables(seen)).at(np.array([x]))[0]) for x in range(9)]
        steps = np.diff(curve)
        assert (steps >= -1e-9).all()
        assert (np.diff(steps) <= 1e-6).all()

    def test_a_share_of_two_types_is_a_share_of_each(self) -> None:
        seen = grid(known("a"), types=("t4", "a100"))
        each = tables(seen).local[0, :, 4]
        assert Curves.of(seen, tables(seen)).at(np.array([4.0]))[0] == pytest.approx(each.mean())


class TestSizesAbove:
    def test_a_size_that_the_owner_allows(self) -> None:
        jobs = [
            known("a", bounds(sizes=(1, 4, 8))),
            known("b", bounds(least=2, most=3)),
            known("c"),
        ]
        assert sizes_above(grid(*jobs), np.array([1.5, 0.5, 2.2])).tolist() == [4, 2, 3]
        assert sizes_above(grid(*jobs), np.array([9.0, 9.0, 9.0])).tolist() == [8, 3, 8]


work_left = st.lists(st.floats(1.0, 1e6), min_size=1, max_size=12)


class TestDrain:
    def drain(self, work: list[float], most: float) -> Drain:
        curves = Curves(steps=np.ones((len(work), 64)))  # a GPU is a unit a second
        return Drain.of(curves, np.full(len(work), 2.0), np.array(work), most=most)

    def test_with_the_usual_number_of_jobs_shares_stay(self) -> None:
        assert self.drain([10.0, 20.0], 1.0).time_s(np.array([10.0, 20.0])).tolist() == [5, 10]

    @given(work_left, st.floats(1.0, 12.0))
    def test_the_work_of_a_time_is_that_which_takes_it(
        self, work: list[float], most: float
    ) -> None:
        made, whole = self.drain(work, most), np.array(work)
        assert made.work_in(made.time_s(whole)) == pytest.approx(whole)

    @given(work_left)
    def test_they_never_fall_and_never_grow_beyond_what_is_usual(self, work: list[float]) -> None:
        made = self.drain(work, 2.5)
        assert (np.diff(made.rates_per_s, axis=1) >= 0).all()
        least = np.array(work) / (2.0 * FACTORS[FACTORS <= 2.5].max())
        assert (made.time_s(np.array(work)) >= least - 1e-6).all()
        assert (made.time_s(np.array(work)) <= np.array(work) / 2.0 + 1e-6).all()

    @given(work_left)
    def test_who_has_more_left_ends_later(self, work: list[float]) -> None:
        ordered = sorted(work)
        assert (np.diff(self.drain(ordered, 4.0).time_s(np.array(ordered))) >= -1e-6).all()

    @given(work_left, st.floats(1.0, 12.0))
    def test_where_gpus_add_alike_the_gpus_of_a_time_are_its_work(
        self, work: list[float], most: float
    ) -> None:
        made, whole = self.drain(work, most), np.array(work)
        gpus = 2.0 * made.growth(whole, np.full(len(work), np.inf))
        assert gpus * made.time_s(whole) == pytest.approx(whole)

    def test_a_share_grows_more_for_who_stays_longer_and_not_beyond_what_a_job_may_hold(
        self,
    ) -> None:
        work = np.array([10.0, 10.0, 10.0, 1e6])
        made = self.drain(work.tolist(), 4.0)
        short, long = made.growth(work, np.full(4, np.inf))[[0, 3]]
        assert 1.0 == short < 3.9 < long < 4.0
        assert made.growth(work, np.array([1.0, 1.0, 1.0, 1.5]))[3] == pytest.approx(1.5, abs=0.01)
