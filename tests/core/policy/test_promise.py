"""Finish times and costs of what a job may hold, by hand and as laws."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.policy.promise import Promise


def promise(age_s: float = 100.0, left_s: float = 1_000.0, lookahead_s: float = 600.0) -> Promise:
    one = np.array
    return Promise(
        known=one([True]),
        age_s=one([age_s]),
        left_s=one([left_s]),
        egalitarian_s=one([1_100.0]),
        share_per_s=one([2.0]),
        growth=one([1.0]),
        error=one([0.1]),
        lookahead_s=one([lookahead_s]),
    )


def finish_s(made: Promise, pace: float, delay_s: float = 0.0) -> float:
    return float(made.finish_s(np.array([pace]), np.array([delay_s]))[0])


class TestFinish:
    def test_at_its_share_it_ends_as_promised(self) -> None:
        assert finish_s(promise(), 1.0) == 1_100.0
        assert promise().rho_hat[0] == 1.0

    def test_without_gpus_it_is_a_look_ahead_late(self) -> None:
        assert finish_s(promise(), 0.0) == 1_700.0

    def test_twice_the_share_gains_a_look_ahead(self) -> None:
        assert finish_s(promise(), 1.5) == 800.0

    def test_a_job_that_ends_within_it_ends_when_it_ends(self) -> None:
        assert finish_s(promise(), 4.0) == 350.0

    def test_a_restart_is_lost(self) -> None:
        assert finish_s(promise(), 1.0, 60.0) == 1_160.0
        assert finish_s(promise(), 4.0, 60.0) == 410.0

    @given(st.floats(0, 50), st.floats(0, 50), st.floats(0, 500), st.floats(1, 1e5))
    def test_more_goodput_and_less_delay_are_never_worse(
        self, pace: float, more: float, delay_s: float, left_s: float
    ) -> None:
        made = promise(left_s=left_s)
        now = finish_s(made, pace, delay_s)
        assert finish_s(made, pace + more, delay_s) <= now + 1e-6
        assert finish_s(made, pace, delay_s / 2) <= now + 1e-6


class TestTheNextEnd:
    def ahead_s(self, pace: list[float], least_s: float = 600.0) -> list[float]:
        """Of two jobs with 1,000 s left at their shares, that looked an hour ahead."""
        one = promise(lookahead_s=3_600.0)
        both = {name: getattr(one, name).repeat(2) for name in one.__slots__}
        made = Promise(**both).to_the_next_end(np.array(pace), np.array([least_s, 700.0]))
        return [float(each) for each in made.lookahead_s]

    def test_no_job_looks_further_than_the_soonest_end(self) -> None:
        assert self.ahead_s([0.0, 0.5]) == [2_000.0, 2_000.0]

    def test_but_as_far_as_each_does_at_least(self) -> None:
        assert self.ahead_s([2.0, 0.5]) == [600.0, 700.0]

    def test_nor_further_than_it_did(self) -> None:
        assert self.ahead_s([0.0, 0.1]) == [3_600.0, 3_600.0]


class TestCost:
    def test_it_is_the_issue_of_slowdown_and_length(self) -> None:
        made = promise()
        cost = made.cost(np.array([2_200.0]), b=0.5, q=2.0)
        assert cost[0] == pytest.approx((1_100 / 3_600) ** 0.5 * 4.0)

    def test_with_b_and_q_of_one_all_seconds_count_alike(self) -> None:
        made = promise()
        late, later = (float(made.cost(np.array([t]), b=1.0, q=1.0)[0]) for t in (1_200, 1_300))
        assert late - later == pytest.approx(-100 / 3_600)

    def test_a_quarter_left_counts_twice_and_less_than_a_look_ahead_no_more(self) -> None:
        fresh = replace(promise(), egalitarian_s=np.array([4_000.0]), left_s=np.array([4_000.0]))

        def over_fresh(left_s: float) -> float:
            made = replace(fresh, left_s=np.array([left_s]))
            ages_s = np.array([5_000.0])
            near, far = (one.cost(ages_s, b=0.9, q=2.0, near=0.5) for one in (made, fresh))
            return float(near[0] / far[0])

        assert over_fresh(1_000.0) == pytest.approx(2.0)
        assert over_fresh(600.0) == over_fresh(1.0) == pytest.approx((4_000 / 600) ** 0.5)
        assert over_fresh(8_000.0) == 1.0, "who is behind loses nothing"

    def test_a_second_of_the_makespan_is_worth_as_many_of_a_job_as_jobs_are_there(self) -> None:
        """Of a job whose share is to triple, one that is spared lets all end three sooner."""
        made = replace(promise(), growth=np.array([3.0]))
        ages_s = np.array([1_500.0])
        alone, both = (float(made.cost(ages_s, b=0.9, q=2.0, makespan=m)[0]) for m in (0.0, 0.25))
        assert both == pytest.approx(1.75 * alone)


@given(st.floats(1.0, 1e40), st.floats(1.0, 1e40), st.floats(0, 2), st.floats(1, 20))
def test_costs_are_finite_and_so_are_their_ratios(
    age_s: float, than_s: float, b: float, q: float
) -> None:
    late = replace(promise(), egalitarian_s=np.array([than_s]))
    with np.errstate(over="raise"):
        cost = late.cost(np.array([age_s]), b=b, q=q, near=2.0)
        assert 0 < float(cost[0]) < 1e200
