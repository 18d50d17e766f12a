"""What the market remembers, and what it promises on instances with known answers."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.policy.grid import Grid
from headway.core.policy.headway import Headway
from headway.core.policy.market import LEAST_ERROR, UNKNOWN_ERROR, Market
from headway.core.policy.promise import Promise
from headway.core.types import JobView
from headway.testing.snapshots import bounds, decide, job, nodes, report, running, snapshot


def promised(
    *jobs: JobView,
    weight: list[float] | None = None,
    now_s: float = 60.0,
    cluster: tuple[int, ...] = (4, 4),
) -> Promise:
    seen = snapshot(nodes(*cluster), *jobs, now_s=now_s)
    grid = Grid.of(seen, at_requested_size=False)
    memory = Market().seen(seen, grid.jobs, 14_400.0)
    each = np.array(weight or [1.0] * len(jobs))
    promise, _, _ = memory.promised(grid, each, now_s, np.full(len(jobs), 600.0))
    return promise


def rigid(name: str, work: float = 1e6, done: float = 0.0) -> JobView:
    view = running(job(name, adaptive=False, gpus=bounds(most=1)), {"n0": 1})
    told = replace(report(), progress_examples=done)
    return replace(view, spec=replace(view.spec, work_examples=work), report=told)


class TestPromise:
    def test_a_job_alone_is_promised_what_it_takes_alone(self) -> None:
        promise = promised(rigid("a"))
        assert promise.left_s[0] == pytest.approx(1e6 / promise.share_per_s[0])

    def test_a_job_on_its_clock_has_a_rho_of_one(self) -> None:
        on_time = promised(rigid("a")).share_per_s[0] * 60.0
        assert promised(rigid("a", done=on_time)).rho_hat[0] == pytest.approx(1.0)

    def test_who_has_not_run_is_behind_and_who_has_run_more_is_ahead(self) -> None:
        behind, ahead = promised(rigid("a"), rigid("b", done=9e5)).rho_hat
        assert behind > 1.0 > ahead

    def test_a_larger_budget_is_an_earlier_promise(self) -> None:
        jobs = [replace(rigid(name), allocation=job("x").allocation) for name in "abcdefghijklmnop"]
        promise = promised(*jobs, weight=[2.0, *[1.0] * 15])
        assert promise.egalitarian_s[0] < promise.egalitarian_s[1]

    def test_nothing_known_is_a_wide_interval(self) -> None:
        promise = promised(job("a"), rigid("b"))
        unknown, known = promise.error
        assert unknown == UNKNOWN_ERROR
        assert known == LEAST_ERROR
        assert promise.known.tolist() == [False, True]

    def test_so_is_a_length_that_nobody_has_told(self) -> None:
        """A script that was submitted as it is was promised its end in 14 s, ± 0; it took 190 s."""
        silent = running(job("a"), {"n0": 1})
        told = replace(silent, report=replace(report(), total_examples=1e6))
        assert promised(silent).error[0] == UNKNOWN_ERROR
        assert not promised(silent).known[0]
        assert promised(told).error[0] < UNKNOWN_ERROR
        assert promised(told).known[0]

    def test_an_error_of_the_fit_and_of_the_noise_scale_widen_it(self) -> None:
        view = running(job("a"), {"n0": 1})
        sure = replace(report(), step_error=0.0, total_examples=1e6)
        unsure = replace(sure, step_error=0.2, noise_scale_error=4_000.0, batch_size=512)
        errors = [promised(replace(view, report=one)).error[0] for one in (sure, unsure)]
        assert errors[1] > np.hypot(LEAST_ERROR, 0.2) > 0.2 > errors[0]

    def test_what_is_not_known_of_the_noise_scale_is_nothing_to_a_job_at_its_initial_size(
        self,
    ) -> None:
        """A job of a fixed batch was promised a wide interval for a phi that it does not use."""
        told = replace(report(), noise_scale_error=4_000.0, step_error=0.0, total_examples=1e6)
        view = running(job("a"), {"n0": 1})
        initial = replace(told, batch_size=view.spec.batch.initial_batch_size)
        assert promised(replace(view, report=initial)).error[0] == LEAST_ERROR
        larger = replace(told, batch_size=512)
        assert promised(replace(view, report=larger)).error[0] > LEAST_ERROR


class TestRestart:
    """A service that was started again reckoned the past of a busy hour with the share of now."""

    def after_a_busy_hour(self, *, ended: bool = False) -> tuple[Promise, tuple[JobView, ...]]:
        jobs = tuple(rigid(name, work=1e5 if ended else 1e7) for name in "abcdefghijklmnop")
        weight, memory = np.ones(16), Market()
        for now_s, some in ((0.0, jobs), (3_600.0, jobs), (3_660.0, jobs[:2])):
            seen = snapshot(nodes(4), *some, now_s=now_s)
            grid = Grid.of(seen, at_requested_size=False)
            memory = memory.seen(seen, grid.jobs, 14_400.0)
            lookahead_s = np.full(len(some), 600.0)
            promise, _, memory = memory.promised(grid, weight[: len(some)], now_s, lookahead_s)
        return promise, jobs[:2]

    def anew(self, jobs: tuple[JobView, ...], told_s: list[float | None]) -> list[float]:
        told = [replace(job, egalitarian_s=age_s) for job, age_s in zip(jobs, told_s, strict=True)]
        return promised(*told, now_s=3_660.0, cluster=(4,)).egalitarian_s.tolist()

    def test_a_job_is_promised_what_it_was_told(self) -> None:
        before, jobs = self.after_a_busy_hour()
        told_s = before.egalitarian_s.tolist()
        assert self.anew(jobs, told_s) == pytest.approx(told_s)
        assert self.anew(jobs, [None, None])[0] < 0.95 * told_s[0]

    def test_so_is_one_that_would_have_ended_by_now(self) -> None:
        before, jobs = self.after_a_busy_hour(ended=True)
        told_s = before.egalitarian_s.tolist()
        assert told_s[0] < 3_660.0
        assert self.anew(jobs, told_s) == pytest.approx(told_s)

    def test_a_clock_that_is_there_goes_on(self) -> None:
        seen = snapshot(nodes(4), replace(rigid("a"), egalitarian_s=1e9), now_s=60.0)
        grid = Grid.of(seen, at_requested_size=False)
        one = np.ones(1)
        _, _, memory = Market().promised(grid, one, 60.0, 600.0 * one)
        promise, _, _ = memory.promised(grid, one, 120.0, 600.0 * one)
        assert memory.clocks.each.keys() == {"a"}
        lied = replace(seen, jobs=(replace(seen.jobs[0], egalitarian_s=5.0),))
        again, _, _ = memory.promised(
            Grid.of(lied, at_requested_size=False), one, 120.0, 600.0 * one
        )
        assert again.egalitarian_s == pytest.approx(promise.egalitarian_s)


class TestMemory:
    def test_the_usual_share_follows_slowly(self) -> None:
        seen = snapshot(nodes(4), rigid("a"), now_s=0.0)
        memory = Market().seen(seen, seen.jobs, 600.0)
        assert memory.usual_share == 1.0
        more = snapshot(nodes(4), rigid("a"), rigid("b"), now_s=600.0)
        later = memory.seen(more, more.jobs, 600.0)
        assert later.usual_share == pytest.approx(0.5 + 0.5 / np.e)

    def test_the_last_news_is_the_last_arrival_or_end(self) -> None:
        seen = replace(snapshot(nodes(4), rigid("a"), now_s=60.0), arrivals=1)
        memory = Market().seen(seen, seen.jobs, 600.0)
        calm = memory.seen(replace(seen, now_s=120.0), seen.jobs, 600.0)
        assert (memory.news_s, calm.news_s) == (60.0, 60.0)
        ended = calm.seen(replace(seen, now_s=180.0, departures=1), seen.jobs, 600.0)
        assert ended.news_s == 180.0

    def test_an_error_beyond_sense_is_that_of_a_job_of_which_nothing_is_known(self) -> None:
        """The square of such a standard error overflowed, and the round was lost."""
        view = running(job("a"), {"n0": 1})
        told = replace(report(), noise_scale_error=1e300, batch_size=512)
        seen = snapshot(nodes(4), replace(view, report=told))
        decision = decide(Headway(), seen)
        numbers = dict(decision.reasons[0].numbers)
        assert numbers["finish_error_s"] < np.inf
        assert promised(replace(view, report=told)).error[0] == UNKNOWN_ERROR
