"""The course of a noise scale: what is learned, what is forecast, and what it is worth."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.predict.noise import MARKS, NoiseCourse, times_over_present
from headway.core.types import JobView
from headway.testing.snapshots import job, running

WORK = 1e6


def at(name: str, share: float, noise_scale: float | None) -> JobView:
    view = running(job(name), {"n0": 2})
    assert view.report is not None
    told = replace(view.report, progress_examples=share * WORK, noise_scale=noise_scale)
    return replace(view, spec=replace(view.spec, work_examples=WORK), report=told)


def grown(name: str) -> NoiseCourse:
    """What a job has told whose noise scale grew a hundredfold."""
    course = NoiseCourse()
    for share in MARKS.tolist():
        course = course.updated([at(name, share, 1e2 * 1e2**share)])
    return course


class TestCourse:
    def test_a_second_job_is_expected_to_go_the_way_of_the_first(self) -> None:
        ahead = grown("net-1").ahead([at("net-2", 0.0, 100.0)])[0]
        assert ahead[-1] == pytest.approx(1e4, rel=0.01)
        assert (np.diff(ahead) > 0).all()

    def test_it_goes_through_what_the_job_reports_now(self) -> None:
        ahead = grown("net-1").ahead([at("net-2", 0.2, 5_000.0)])[0]
        assert ahead[list(MARKS).index(0.2)] == pytest.approx(5_000.0)

    def test_with_nothing_seen_it_stays_as_it_is(self) -> None:
        ahead = NoiseCourse().ahead([at("net-2", 0.3, 700.0)])[0]
        assert ahead == pytest.approx(700.0)

    def test_another_kind_tells_of_the_steps_that_its_own_has_not_gone(self) -> None:
        ahead = grown("web-1").ahead([at("net-2", 0.0, 100.0)])[0]
        assert ahead[-1] > 1e3

    def test_an_infinite_noise_scale_is_a_very_large_one(self) -> None:
        """Efficiency knows it; its mean was no number, and neither was any forecast after it."""
        course = grown("net-1").updated([at("net-1", 0.5, np.inf)])
        assert np.isfinite(course.ahead([at("net-2", 0.1, np.inf), at("net-2", 0.6, 9.0)])).all()

    def test_a_report_counts_once_however_long_its_job_waits(self) -> None:
        """A job that waited for an hour outvoted all of its kind that ran meanwhile."""
        waits = at("net-1", 0.2, 1e6)
        once = grown("net-2").updated([waits])
        often = once
        for _ in range(60):
            often = often.updated([waits])
        asked = [at("net-3", 0.0, 100.0)]
        assert often.ahead(asked) == pytest.approx(once.ahead(asked))
        later = often.updated([at("net-1", 0.4, 1e6)])
        assert not np.allclose(later.ahead(asked), once.ahead(asked))

    def test_of_a_job_that_is_gone_it_keeps_only_what_it_taught(self) -> None:
        course = grown("net-1")
        assert course.counted
        assert course.updated([]).counted == {}
        assert course.updated([]).seen.keys() == course.seen.keys()

    def test_a_job_without_an_estimate_begins_where_its_kind_began(self) -> None:
        ahead = grown("net-1").ahead([at("net-2", 0.0, None)])[0]
        assert ahead[0] == pytest.approx(100.0, rel=0.01)

    def test_a_job_that_declares_no_end_or_adapts_nothing_does_not_follow_it(self) -> None:
        assert not NoiseCourse.follows(job("net-1"))
        fixed = job("net-1", adaptive=False)
        assert not NoiseCourse.follows(replace(fixed, spec=replace(fixed.spec, work_examples=WORK)))
        assert NoiseCourse.follows(at("net-1", 0.0, None))

    @given(st.lists(st.tuples(st.floats(0, 3), st.floats(0, 1e30)), max_size=8))
    def test_it_is_finite_and_never_negative(self, told: list[tuple[float, float]]) -> None:
        course = NoiseCourse()
        for share, noise_scale in told:
            course = course.updated([at("net-1", share, noise_scale)])
        ahead = course.ahead([at("net-2", share, phi) for share, phi in told] or [job("net-2")])
        assert np.isfinite(ahead).all()
        assert (ahead >= 0).all()


class TestTimesOverPresent:
    def test_they_are_one_at_the_present_noise_scale(self) -> None:
        jobs = [at("net-1", 0.1, 300.0)]
        slow = times_over_present(jobs, np.full((1, len(MARKS)), 300.0), np.array([4]), 4)
        assert slow == pytest.approx(1.0)

    def test_they_fall_as_it_grows(self) -> None:
        jobs = [at("net-1", 0.0, 10.0)]
        ahead = np.array([10.0 * 10.0 ** np.arange(len(MARKS))])
        slow = times_over_present(jobs, ahead, np.array([8]), 4)[0]
        assert (np.diff(slow) <= 1e-12).all()
        assert slow[-1] < 0.5
