"""What is left of jobs, and their virtual clocks."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.adaptation import STATIC, Adaptation
from headway.core.policy.course import Clocks, Course, courses
from headway.core.policy.grid import Grid
from headway.core.policy.tables import Goodputs, Places
from headway.core.predict.foresight import Foresight
from headway.core.predict.kinds import Kinds
from headway.core.predict.noise import MARKS, NoiseCourse
from headway.core.predict.trust import Trust
from headway.core.types import JobView
from headway.testing.snapshots import job, nodes, report, running, snapshot

NOW_S = 3_600.0
SAME = np.array([np.inf])  # what its last share is worth is no news


def at(name: str, done: float, work: float | None, *, adaptive: bool = False) -> JobView:
    view = running(job(name, adaptive=adaptive), {"n0": 1})
    told = replace(report(), progress_examples=done)
    return replace(view, spec=replace(view.spec, work_examples=work), report=told)


def course_of(*jobs: JobView, kinds: Kinds | None = None, doubt: float = 0.0) -> Course:
    grid = Grid.of(snapshot(nodes(4), *jobs), at_requested_size=False)
    places = Places.of(grid.types, has_racks=False)
    most = np.full(len(jobs), 4)
    tables = Goodputs().updated(grid.jobs, places=places, most=most).arrays(grid.jobs, most)
    told = Foresight().updated(grid.jobs), NoiseCourse(), kinds or Kinds(), Trust(usual=doubt)
    return courses(grid, tables, np.full(len(jobs), 10.0), np.full(len(jobs), 1), told)


def flat(whole: float) -> Course:
    """One job whose progress always takes as long."""
    one = np.ones((1, len(MARKS)))
    return Course.of(np.array([True]), np.array([0.0]), np.array([whole]), one)


class TestCourses:
    def test_what_is_declared_less_what_is_done(self) -> None:
        course = course_of(at("a", 300.0, 1_000.0))
        assert course.work_from(course.done) == pytest.approx(700.0)

    def test_a_job_that_declares_nothing_is_half_way(self) -> None:
        course = course_of(at("a", 300.0, None))
        assert course.work_from(course.done) == pytest.approx(300.0)

    def test_a_training_knows_its_length_better_than_who_submits_it(self) -> None:
        """Scripts submitted without their work were taken to be half way, at every moment anew."""
        for declared in (None, 400.0):
            view = at("a", 300.0, declared)
            assert view.report is not None
            told = replace(view, report=replace(view.report, total_examples=1_000.0))
            assert course_of(told).work_from(course_of(told).done) == pytest.approx(700.0)

    def test_so_is_one_that_went_beyond_what_it_declared(self) -> None:
        view = at("a", 1_500.0, 1_000.0)
        assert view.report is not None
        told = replace(view, report=replace(view.report, total_examples=1_000.0))
        course = course_of(told)
        assert course.work_from(course.done) == pytest.approx(1_500.0)

    def test_one_that_owners_declare_may_be_longer_the_nearer_it_seems_to_its_end(self) -> None:
        """Jobs that declared too little went first till they got there, then after all others."""
        left = [
            float(course_of(at("a", done, 1_000.0), doubt=0.3).work_from(np.array([done]))[0])
            for done in (0.0, 500.0, 1_000.0, 1_100.0)
        ]
        assert left[0] == pytest.approx(1_000.0, rel=1e-6)
        assert 500.0 < left[1] < 530.0
        assert 250.0 < left[2] < 290.0
        assert 250.0 < left[3] < 290.0

    def test_its_like_are_taken_to_need_as_much_more(self) -> None:
        liar = at("net-1", 3_000.0, 1_000.0)
        kinds = Kinds().updated([liar])
        course = course_of(at("net-2", 300.0, 1_000.0), kinds=kinds)
        assert course.work_from(course.done) == pytest.approx(2_700.0)

    def test_a_job_that_never_reported_is_as_short_as_the_shortest(self) -> None:
        course = course_of(at("a", 0.0, 1_000.0), at("b", 0.0, 500.0), job("c"))
        assert course.known.tolist() == [True, True, False]
        assert course.work_from(course.done)[2] == pytest.approx(500.0)

    def test_so_is_one_that_is_lent_a_report_and_declares_nothing(self) -> None:
        """Twice nothing is no length: it was promised to end in a second, and others made way."""
        like = running(at("net-1", 300.0, None), {"n0": 4})
        lent = Kinds().updated([like]).lent(job("net-2", adaptive=False))
        assert lent.report is not None
        course = course_of(at("a", 0.0, 500.0), lent)
        assert course.known.tolist() == [True, False]
        assert course.work_from(course.done)[1] == pytest.approx(500.0)

    def test_who_asks_for_more_than_the_cluster_has_does_not_stop_the_others(self) -> None:
        """Beside a job with regimes the goodput of 64 GPUs was looked up in a table of four."""
        planned = at("a", 0.0, None)
        adaptation = Adaptation(
            rule=STATIC, model="toy", configurations=(128,), epochs=10.0, samples_per_epoch=1_000
        )
        regimes = replace(planned, spec=replace(planned.spec, adaptation=adaptation))
        wide = at("b", 300.0, 1_000.0)
        jobs = [regimes, replace(wide, spec=replace(wide.spec, requested_gpus=64))]
        for one in (jobs, [replace(regimes, spec=replace(regimes.spec, requested_gpus=64)), wide]):
            course = course_of(*one)
            assert course.work_from(course.done)[1] == pytest.approx(700.0)

    def test_work_is_less_where_the_noise_scale_will_grow(self) -> None:
        slow = np.linspace(1.0, 0.1, len(MARKS))[None]
        course = Course.of(np.array([True]), np.array([0.0]), np.array([1_000.0]), slow)
        assert course.work_from(course.done)[0] < 700.0


class TestClocks:
    def test_a_clock_goes_on_at_the_share(self) -> None:
        view = at("a", 0.0, 1_000.0)
        clocks = Clocks(at_s=NOW_S - 60.0)
        one = np.array([1.0])
        clocks = clocks.advanced([view], NOW_S, one, np.array([5.0]), flat(1_000.0), SAME)
        assert clocks.done([view]) == pytest.approx(300.0)

    def test_at_its_end_it_stops_and_says_when_that_was(self) -> None:
        view = at("a", 0.0, 1_000.0)
        one, pace = np.array([1.0]), np.array([100.0])
        clocks = Clocks(at_s=NOW_S - 60.0).advanced([view], NOW_S, one, pace, flat(1_000.0), SAME)
        ends = NOW_S - 60.0 + 10.0
        assert clocks.age_at_end_s([view], NOW_S, np.array([0.0])) == pytest.approx(ends)
        later = clocks.advanced([view], NOW_S + 60, one, pace, flat(1_000.0), SAME)
        assert later.age_at_end_s([view], NOW_S + 60, np.array([0.0])) == pytest.approx(ends)

    def test_it_was_never_at_its_end_if_its_share_is_worth_far_less_than_was_thought(self) -> None:
        """A job whose steps sleep ran on two GPUs first: one was thought to end it in 1.5 s."""
        view, one = at("a", 0.0, 1_000.0), np.array([1.0])
        thought, is_worth = np.array([100.0]), np.array([2.0])
        clocks = Clocks(at_s=NOW_S - 60.0).advanced(
            [view], NOW_S, one, thought, flat(1_000.0), SAME
        )
        later = clocks.advanced([view], NOW_S + 60, one, is_worth, flat(1_000.0), is_worth)
        assert later.done([view]) == pytest.approx(1_000.0 * 2.0 / 100.0 + 60 * 2.0)
        age = later.age_at_end_s([view], NOW_S + 60, np.array([7.0]))
        assert age == pytest.approx(NOW_S + 67.0)

    def test_it_stays_as_it_is_where_a_training_only_grows_slower(self) -> None:
        view, one, pace = at("a", 0.0, 1_000.0), np.array([1.0]), np.array([10.0])
        clocks = Clocks(at_s=NOW_S - 60.0).advanced([view], NOW_S, one, pace, flat(1_000.0), SAME)
        slower = np.array([6.0])
        later = clocks.advanced([view], NOW_S + 60, one, slower, flat(1_000.0), slower)
        assert later.done([view]) == pytest.approx(60 * 10.0 + 60 * 6.0)

    def test_it_runs_on_if_the_job_turns_out_to_be_longer(self) -> None:
        view = at("a", 0.0, 1_000.0)
        one, pace = np.array([1.0]), np.array([100.0])
        clocks = Clocks(at_s=NOW_S - 60.0).advanced([view], NOW_S, one, pace, flat(1_000.0), SAME)
        longer = clocks.advanced([view], NOW_S + 60, one, pace, flat(20_000.0), SAME)
        age = longer.age_at_end_s([view], NOW_S + 60, np.array([7.0]))
        assert age == pytest.approx(NOW_S + 67.0)

    def test_the_time_before_the_first_report_counts_when_its_worth_is_known(self) -> None:
        view = replace(at("a", 0.0, 1_000.0), report=None)
        unseen = replace(flat(1_000.0), known=np.array([False]))
        clocks = Clocks(at_s=NOW_S - 120.0)
        clocks = clocks.advanced([view], NOW_S - 60, np.array([2.0]), np.array([9.9]), unseen, SAME)
        assert clocks.done([view]) == 0.0
        clocks = clocks.advanced(
            [view], NOW_S, np.array([4.0]), np.array([4.0]), flat(1_000.0), SAME
        )
        assert clocks.done([view]) == pytest.approx(60 * 4.0 + 60 * 2.0)

    def test_a_job_that_came_since_counts_from_its_coming(self) -> None:
        view = at("a", 0.0, 1_000.0)
        late = replace(view, spec=replace(view.spec, submitted_s=NOW_S - 10.0))
        one = np.array([1.0])
        clocks = Clocks(at_s=NOW_S - 60.0).advanced([late], NOW_S, one, one, flat(1_000.0), SAME)
        assert clocks.done([late]) == pytest.approx(10.0)
