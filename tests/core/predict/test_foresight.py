"""What a policy keeps: news of other jobs change an outlook, the own future never does."""

from collections.abc import Sequence

import pytest

from headway.core.adaptation import Adaptation, Regime
from headway.core.ids import JobId
from headway.core.predict import foresight
from headway.core.predict.foresight import Foresight, adaptation_of
from headway.core.types import (
    NOTHING,
    BatchContract,
    BatchMode,
    GpuBounds,
    JobReport,
    JobSpec,
    JobView,
    ThroughputParams,
)

PARAMS = ThroughputParams(
    alpha_grad_s=0.1,
    beta_grad_s=0.01,
    alpha_local_s=0.0,
    beta_local_s=0.0,
    alpha_node_s=0.0,
    beta_node_s=0.0,
    gamma=1.0,
)
PLAN = Adaptation(
    rule="gns", model="LM", configurations=(10, 20), epochs=100.0, samples_per_epoch=1_000
)


def view(
    name: str,
    *regimes: Regime,
    done: float = 0.0,
    adaptation: Adaptation | None = PLAN,
    work_examples: float | None = None,
) -> JobView:
    report = JobReport(
        throughput=PARAMS,
        noise_scale=None,
        progress_examples=1_000 * done,
        batch_per_gpu=10,
        accum_steps=0,
        batch_size=10,
        regimes=regimes,
    )
    spec = JobSpec(
        job_id=JobId(name),
        name=name,
        submitted_s=0.0,
        gpus=GpuBounds(),
        batch=BatchContract(
            initial_batch_size=10, max_batch_size=20, max_batch_per_gpu=20, mode=BatchMode.SCHEDULE
        ),
        requested_gpus=1,
        requested_batch_size=10,
        work_examples=work_examples,
        adaptation=adaptation,
    )
    return JobView(
        spec=spec,
        allocation=NOTHING,
        attained_gpu_s=0.0,
        restarts=0,
        max_gpus_held=1,
        first_started_s=0.0,
        report=report if regimes or adaptation is None or done else None,
    )


def begun(*pairs: tuple[int, float], epoch_s: float | None = None) -> Sequence[Regime]:
    return [
        Regime(batch_size=size, began_epoch=began, epoch_s=epoch_s, gpus=1) for size, began in pairs
    ]


def test_a_newcomer_has_the_uniform_prior_until_another_job_has_shown_more() -> None:
    young = view("b", *begun((10, 0.0)), done=5.0)
    first = Foresight().updated([view("a", *begun((10, 0.0)), done=10.0), young])
    assert first.kept[JobId("b")].outlook.expected == (50.0, 50.0)
    after = first.updated([view("a", *begun((10, 0.0), (20, 11.0)), done=12.0), young])
    assert after.kept[JobId("b")].outlook.expected == (11.0, 89.0)
    assert after.kept[JobId("b")].outlook.learned_from >= 1


def test_a_job_that_is_gone_is_remembered() -> None:
    ran = view("a", *begun((10, 0.0), (20, 11.0), epoch_s=7.0), done=95.0)
    later = Foresight().updated([ran]).updated([view("b", *begun((10, 0.0)), done=1.0)])
    assert later.kept[JobId("b")].outlook.expected == (11.0, 89.0)
    assert later.step_s["LM", 20, 1] == pytest.approx(7.0 / 50)
    assert list(later.kept) == [JobId("b")]


def test_a_job_that_left_early_tells_nothing_of_what_it_did_not_reach() -> None:
    left = view("a", *begun((10, 0.0)), done=30.0)
    later = Foresight().updated([left]).updated([view("b", *begun((10, 0.0)), done=1.0)])
    assert later.kept[JobId("b")].outlook.expected == (50.0, 50.0)


def test_memory_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foresight, "MOST_GONE", 3)
    kept = Foresight()
    for index in range(10):
        kept = kept.updated([view(f"j{index}")])
    assert list(kept.known) == [JobId(f"j{index}") for index in (6, 7, 8, 9)]


def test_an_outlook_is_kept_while_nothing_happens() -> None:
    jobs = [view("a", *begun((10, 0.0)), done=10.0), view("b", *begun((10, 0.0)), done=5.0)]
    first = Foresight().updated(jobs)
    second = first.updated([view("a", *begun((10, 0.0)), done=20.0), jobs[1]])
    assert second.kept[JobId("a")].outlook is first.kept[JobId("a")].outlook


def test_remaining_time_of_a_snapshots_jobs() -> None:
    """20 epochs of 100 steps of 0.2 s done of 50; then 50 epochs of 50 steps of 0.3 s."""
    job = view("a", *begun((10, 0.0)), done=20.0)
    found = Foresight().updated([job]).forecast([job], [1])
    assert found.remaining_s[0] == pytest.approx(30 * 20 + 50 * 15)
    assert found.epochs[0].tolist() == pytest.approx([30.0, 50.0])


def test_a_job_without_a_plan_is_one_long_epoch() -> None:
    job = view("a", adaptation=None, done=1.0, work_examples=5_000.0)
    assert adaptation_of(job).samples_per_epoch == 5_000
    found = Foresight().updated([job]).forecast([job], [1])
    assert found.remaining_s[0] == pytest.approx(0.8 * 500 * 0.2)
    assert found.spread_s[0] == 0.0


def test_a_job_that_does_not_say_when_it_ends_runs_as_long_again() -> None:
    job = view("a", adaptation=None, done=3.0)
    found = Foresight().updated([job]).forecast([job], [1])
    assert found.remaining_s[0] == pytest.approx(0.5 * 600 * 0.2)
