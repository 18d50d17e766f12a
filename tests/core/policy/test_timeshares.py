"""Shares into rounds: what each gets comes to what it was promised."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.ids import JobId
from headway.core.policy.grid import Grid
from headway.core.policy.remaining import Ahead
from headway.core.policy.timeshares import Accounts, decide_by_shares, equal_share, with_spare
from headway.core.types import NOTHING, FloatArray, JobView
from headway.testing.snapshots import job, nodes, snapshot


def played(
    shares: dict[str, float], rounds: int, *, gpus: int = 1, reset_s: float = 0.0
) -> tuple[dict[str, int], Accounts]:
    """Rounds that each job ran, of jobs of one GPU."""

    def divide(grid: Grid, forecast: Ahead) -> FloatArray:
        return np.array([shares[view.spec.job_id] for view in grid.jobs])

    views: dict[str, JobView] = {name: job(name) for name in shares}
    memory, ran = Accounts(), dict.fromkeys(shares, 0)
    for index in range(rounds):
        seen = snapshot(nodes(gpus), *views.values(), now_s=60.0 * index, round_index=index)
        decision, memory = decide_by_shares(seen, memory, divide, reset_s=reset_s)
        for name, view in views.items():
            allocation = decision.of(JobId(name))
            ran[name] += bool(allocation)
            views[name] = replace(view, allocation=allocation)
    return ran, memory


@pytest.mark.parametrize("share", [0.5, 0.25, 0.1])
def test_rounds_come_to_the_shares(share: float) -> None:
    ran, memory = played({"a": share, "b": 1.0 - share}, 200)
    assert ran["a"] == pytest.approx(200 * share, abs=3)
    account = memory.of[JobId("a")]
    assert account.received_s == pytest.approx(account.promised_s, abs=180)


def test_what_idles_is_filled_by_who_has_no_share() -> None:
    ran, _ = played({"a": 1.0, "b": 0.0}, 10, gpus=2)
    assert ran == {"a": 10, "b": 10}


def test_with_a_reset_who_came_since_waits_though_gpus_idle() -> None:
    """What the published code does for up to 1,000 s."""

    def divide(grid: Grid, forecast: Ahead) -> FloatArray:
        return np.ones(len(grid.jobs))

    first = snapshot(nodes(2), job("a"), now_s=0.0)
    _, memory = decide_by_shares(first, Accounts(), divide, reset_s=100.0)
    both = (job("a"), job("b"))
    early = replace(snapshot(nodes(2), *both, now_s=60.0), arrivals=1)
    decision, memory = decide_by_shares(early, memory, divide, reset_s=100.0)
    assert set(decision.allocations) == {"a"}
    decision, _ = decide_by_shares(replace(early, now_s=120.0), memory, divide, reset_s=100.0)
    assert set(decision.allocations) == {"a", "b"}
    at_once, _ = decide_by_shares(early, memory, divide)
    assert set(at_once.allocations) == {"a", "b"}


def test_an_equal_share_is_of_gpus_and_at_most_all_the_time() -> None:
    jobs = [job("wide", requested_gpus=4), job("narrow", requested_gpus=1)]
    grid = Grid.of(snapshot(nodes(4), *jobs), at_requested_size=True)
    by_name = dict(zip((view.spec.job_id for view in grid.jobs), equal_share(grid), strict=True))
    assert by_name == {"wide": 0.5, "narrow": 1.0}
    assert NOTHING.gpus == 0


def test_with_a_reset_who_has_most_of_the_time_may_run_twice_before_others_run_once() -> None:
    """Half a round counts as received; without it makespans of ossp were 13 % too long."""
    ran, _ = played({"most": 0.8, "some": 0.2}, 2, reset_s=1_000.0)
    assert ran == {"most": 2, "some": 0}
    ran, _ = played({"most": 0.8, "some": 0.2}, 2)
    assert ran == {"most": 1, "some": 1}


@given(st.lists(st.tuples(st.integers(1, 8), st.floats(0.0, 1.0)), min_size=1, max_size=8))
def test_what_is_left_is_given_out_in_order(jobs: list[tuple[int, float]]) -> None:
    width, shares = np.array([one[0] for one in jobs]), np.array([one[1] for one in jobs])
    gpus = float(width @ shares) + 3.0
    filled = with_spare(shares, width, gpus)
    assert float(width @ filled) == pytest.approx(min(gpus, float(width.sum())))
    assert (filled >= shares).all()
    assert (filled <= 1.0 + 1e-12).all()
    short = np.flatnonzero(filled < 1.0 - 1e-9)
    if len(short):
        assert filled[short[0] + 1 :] == pytest.approx(shares[short[0] + 1 :])


def test_with_a_reset_nobody_waits_for_nobody() -> None:
    """Who was given time has ended: later ones waited a whole reset, and nothing was running."""
    first, later = snapshot(nodes(1), job("a"), now_s=0.0), snapshot(nodes(1), job("b"), now_s=60.0)
    _, memory = decide_by_shares(first, Accounts(), lambda grid, _: np.ones(1), reset_s=1e5)
    both = replace(later, jobs=(job("a"), job("b")))
    waits, _ = decide_by_shares(both, memory, lambda grid, _: np.ones(2), reset_s=1e5)
    assert set(waits.allocations) == {"a"}
    decision, _ = decide_by_shares(later, memory, lambda grid, _: np.ones(1), reset_s=1e5)
    assert set(decision.allocations) == {"b"}
