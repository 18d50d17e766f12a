"""Remaining time from what jobs declare and report."""

from dataclasses import replace

import pytest

from headway.core.adaptation import Adaptation, Regime
from headway.core.policy.remaining import ASSUMED_S, Ahead, ahead
from headway.core.predict.foresight import Foresight
from headway.core.types import JobView
from headway.testing.snapshots import job, report


def foreseen(*jobs: JobView) -> Ahead:
    return ahead(jobs, Foresight().updated(jobs), per_node=4)


def planned(name: str, *, epochs_done: float | None, gpus: int = 1, model: str = "m") -> JobView:
    """Ten epochs of 1,000 samples: declared 64 for four epochs, then 128; an epoch takes 30 s."""
    adaptation = Adaptation(
        rule="declared",
        model=model,
        configurations=(64, 128),
        epochs=10.0,
        samples_per_epoch=1_000,
        starts=(0.0, 4.0),
    )
    view = job(name, requested_gpus=gpus)
    view = replace(view, spec=replace(view.spec, adaptation=adaptation, work_examples=10_000.0))
    if epochs_done is None:
        return view
    regimes = (Regime(batch_size=64, began_epoch=0.0, epoch_s=30.0, gpus=gpus),)
    if epochs_done > 4:
        regimes += (Regime(batch_size=128, began_epoch=4.0, epoch_s=20.0, gpus=gpus),)
    told = replace(report(), progress_examples=1_000 * epochs_done, regimes=regimes)
    return replace(view, report=replace(told, batch_size=regimes[-1].batch_size))


def test_regimes_count_at_their_own_speeds_behind_and_ahead() -> None:
    made = foreseen(planned("a", epochs_done=6.0))
    assert made.done_s.tolist() == pytest.approx([4 * 30 + 2 * 20])
    assert made.left_s.tolist() == pytest.approx([4 * 20])
    assert made.share.sum(axis=1).tolist() == pytest.approx([0.4])


def test_what_another_job_of_the_model_measured_is_known() -> None:
    made = foreseen(planned("old", epochs_done=6.0), planned("new", epochs_done=None))
    assert made.left_s[1] == pytest.approx(4 * 30 + 6 * 20)
    assert made.done_s[1] == 0.0


def test_with_other_gpus_a_step_takes_as_long_with_as_many_examples_for_each() -> None:
    """16 steps of 1.875 s at 64 on one GPU, 8 of 2.5 s at 128; so 64 on two take 1.5625 s."""
    made = foreseen(planned("old", epochs_done=6.0), planned("wide", epochs_done=None, gpus=2))
    assert made.left_s[1] == pytest.approx(4 * 16 * 1.5625 + 6 * 8 * 1.875)


def test_of_which_nothing_is_known_is_as_short_as_the_shortest() -> None:
    """Else a short job that never ran would wait behind all that are known to be short."""
    assert foreseen(planned("alone", epochs_done=None)).left_s.tolist() == [ASSUMED_S]
    other = planned("other", epochs_done=None, model="unheard of")
    plain = replace(job("plain"), report=replace(report(), samples=1_280))
    plain = replace(plain, spec=replace(plain.spec, work_samples=2_560.0))
    made = foreseen(planned("old", epochs_done=6.0), plain, other)
    assert made.left_s[2] == pytest.approx(made.exclusive_s[1])
    assert made.left_s[2] < made.exclusive_s[0]


def test_an_active_job_is_not_done_whatever_it_declared() -> None:
    made = foreseen(planned("late", epochs_done=10.0))
    assert made.left_s[0] == pytest.approx(1.0)
    assert 0.0 < made.share.sum() < 1.0


def test_a_job_without_a_plan_counts_its_steps() -> None:
    view = replace(job("plain"), report=replace(report(), samples=1_280))
    view = replace(view, spec=replace(view.spec, work_samples=6_400.0))
    made = foreseen(view)
    step_s = 0.018 + 0.0007 * 128
    assert made.done_s[0] == pytest.approx(10 * step_s)
    assert made.left_s[0] == pytest.approx(40 * step_s)
    assert made.share[0, 0] == pytest.approx(0.8)
