"""What declared lengths are worth, by hand, as laws and against drawn ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.predict.trust import MOST_ERROR, USUAL_JOBS, Trust, expected, is_sure
from headway.core.types import JobView
from headway.testing.snapshots import job, report, running


def at(name: str, done: float, declared: float | None = 100.0, tenant: str = "default") -> JobView:
    view = running(job(name), {"n0": 1})
    told = replace(report(), progress_examples=done)
    return replace(
        view, spec=replace(view.spec, work_examples=declared, tenant=tenant), report=told
    )


class TestExpected:
    def test_what_is_declared_is_the_mean_of_what_is_to_be_expected(self) -> None:
        assert expected(0.0, 100.0, 0.5) == 100.0
        assert expected(1e-3, 100.0, 0.5) == pytest.approx(100.0)

    @pytest.mark.parametrize("done", [30.0, 80.0, 100.0])
    def test_it_is_the_mean_of_drawn_lengths_that_are_longer(self, done: float) -> None:
        drawn = 100.0 * np.exp(np.random.default_rng(0).normal(-0.125, 0.5, 200_000))
        assert expected(done, 100.0, 0.5) == pytest.approx(drawn[drawn > done].mean(), rel=5e-3)

    def test_without_an_error_a_job_is_taken_at_its_word(self) -> None:
        assert expected(99.0, 100.0, 0.0) == 100.0
        assert expected(99.0, 100.0, 0.0, overrun=3.0) == 300.0

    def test_the_further_beyond_its_word_the_more_is_still_to_come(self) -> None:
        """At 0.3 for good, a job at four times its word would always have seemed nearly done."""
        more = [expected(done, 100.0, 0.3) / done - 1.0 for done in (110.0, 200.0, 400.0)]
        assert more == sorted(more)
        assert more[0] < 0.3
        assert more[2] > 1.0

    @given(st.floats(0, 1e12), st.floats(1e-300, 1e12), st.floats(0, MOST_ERROR), st.floats(1, 1e3))
    def test_there_is_always_a_length_and_never_less_than_is_done(
        self, done: float, declared: float, error: float, overrun: float
    ) -> None:
        whole = expected(done, declared, error, overrun)
        assert np.isfinite(whole)
        assert whole >= done * (1.0 - 1e-9)

    def test_next_to_nothing_done_is_nothing(self) -> None:
        assert expected(5e-324, 1e12, 0.3) == 1e12  # the share done is below any number


class TestTrust:
    def test_who_has_shown_nothing_is_off_by_the_usual(self) -> None:
        assert Trust().updated([at("a", 50.0)]).errors() == {}

    def test_jobs_that_keep_their_word_earn_trust(self) -> None:
        seen = Trust(usual=0.3)
        for count in range(30):
            seen = seen.updated([at(f"a{count}", 99.0)])
        assert seen.updated([]).errors()["default"] == pytest.approx(0.3 * (10 / 40) ** 0.5)

    def test_one_that_goes_beyond_it_loses_it_at_once(self) -> None:
        errors = Trust(usual=0.3).updated([at("a", 300.0)]).errors()
        square = (USUAL_JOBS * 0.09 + 2 * np.log(3.0) ** 2) / (USUAL_JOBS + 1)
        assert errors["default"] == pytest.approx(square**0.5)

    def test_a_job_that_is_gone_early_may_have_been_cancelled(self) -> None:
        assert Trust().updated([at("a", 10.0)]).updated([]).errors() == {}

    def test_the_word_of_one_tenant_says_nothing_of_another(self) -> None:
        errors = Trust().updated([at("a", 900.0, tenant="x"), at("b", 90.0, tenant="y")]).errors()
        assert set(errors) == {"x"}

    @pytest.mark.parametrize("error", [0.3, 0.7])
    def test_the_error_of_drawn_words_is_found(self, error: float) -> None:
        ratios = np.exp(error * np.random.default_rng(0).standard_normal(400)).tolist()
        seen = Trust()
        for count, ratio in enumerate(ratios):
            seen = seen.updated([at(f"a{count}", 100.0 * ratio)])
        assert seen.updated([]).errors()["default"] == pytest.approx(error, rel=0.15)

    def test_a_length_that_the_training_itself_tells_is_no_word(self) -> None:
        view = at("a", 300.0)
        assert view.report is not None
        told = replace(view, report=replace(view.report, total_examples=200.0))
        assert is_sure(told)
        assert not is_sure(view)
        assert Trust().updated([told]).errors() == {}
        assert Trust().updated([view]).updated([told]).errors() == {}  # nor has it ended
        assert Trust().updated([at("a", 300.0, None)]).errors() == {}

    def test_next_to_nothing_declared_stays_finite(self) -> None:
        assert Trust().updated([at("a", 1e8, 1e-300)]).errors()["default"] <= MOST_ERROR
