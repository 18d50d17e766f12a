"""Where the time of an epoch comes from: measured by the job, by another one, else the model."""

from dataclasses import replace

import pytest

from headway.core.adaptation import Adaptation, Regime
from headway.core.predict.speed import Asked, epoch_times_s, measured_step_s, steps_per_epoch
from headway.core.types import BatchContract, BatchMode, JobReport, ThroughputParams

PLAN = Adaptation(
    rule="gns", model="LM", configurations=(10, 20, 40), epochs=30.0, samples_per_epoch=1_000
)
BATCH = BatchContract(
    initial_batch_size=10, max_batch_size=40, max_batch_per_gpu=40, mode=BatchMode.SCHEDULE
)
# a pass takes 0.1 s and 0.01 s for each example, on one GPU
PARAMS = ThroughputParams(
    alpha_grad_s=0.1,
    beta_grad_s=0.01,
    alpha_local_s=0.0,
    beta_local_s=0.0,
    alpha_node_s=0.0,
    beta_node_s=0.0,
    gamma=1.0,
)


def report(*regimes: Regime) -> JobReport:
    return JobReport(
        throughput=PARAMS,
        noise_scale=None,
        progress_examples=0.0,
        batch_per_gpu=10,
        accum_steps=0,
        batch_size=10,
        regimes=regimes,
    )


def asked(*regimes: Regime, sizes: tuple[int, ...] = (10, 20, 40), gpus: int = 1) -> Asked:
    return Asked(
        adaptation=PLAN, batch=BATCH, report=report(*regimes), batch_sizes=sizes, gpus=gpus
    )


def test_what_has_not_run_comes_from_the_goodput_model() -> None:
    """What a system without a throughput model cannot know: 100 steps of 0.2 s, 50 of 0.3 s, ..."""
    (times,) = epoch_times_s([asked()], {})
    assert times == pytest.approx((100 * 0.2, 50 * 0.3, 25 * 0.5))


def test_what_has_run_is_as_measured_and_the_model_agrees_with_it() -> None:
    ran = Regime(batch_size=10, began_epoch=0.0, epoch_s=40.0, gpus=1)
    (times,) = epoch_times_s([asked(ran)], {})
    assert times == pytest.approx((40.0, 2 * 50 * 0.3, 2 * 25 * 0.5))


def test_another_jobs_measurement_comes_before_the_model() -> None:
    ran = Regime(batch_size=10, began_epoch=0.0, epoch_s=40.0, gpus=1)
    others = {("LM", 20, 1): 0.25, ("LM", 40, 2): 9.0, ("A3C", 40, 1): 9.0}
    (times,) = epoch_times_s([asked(ran)], others)
    assert times == pytest.approx((40.0, 50 * 0.25, 2 * 25 * 0.5))


def test_the_shape_that_others_have_measured_on_other_gpus_comes_before_the_model() -> None:
    """40 for one GPU took 1.5 times as long as 10 there; so it does on two."""
    ran = Regime(batch_size=20, began_epoch=0.0, epoch_s=20.0, gpus=2)  # steps of 0.4 s
    others = {("LM", 10, 1): 1.0, ("LM", 40, 1): 1.5, ("LM", 20, 2): 0.4}
    (times,) = epoch_times_s([asked(ran, sizes=(20, 80), gpus=2)], others)
    assert times == pytest.approx((20.0, 13 * 0.4 * 1.5))


def test_a_measurement_on_other_gpus_does_not_count() -> None:
    ran = Regime(batch_size=10, began_epoch=0.0, epoch_s=40.0, gpus=2)
    assert measured_step_s(PLAN, report(ran)) == {("LM", 10, 2): pytest.approx(0.4)}
    assert epoch_times_s([asked(ran)], {}) == epoch_times_s([asked()], {})


def test_a_batch_that_does_not_fit_is_accumulated() -> None:
    small = replace(asked(sizes=(80,)), batch=replace(BATCH, max_batch_per_gpu=20))
    (times,) = epoch_times_s([small], {})
    assert times == pytest.approx((13 * 4 * 0.3,))  # 80 in four passes of 20


def test_a_batch_smaller_than_its_gpus_take_still_has_a_time() -> None:
    tight = replace(asked(sizes=(10,), gpus=4), batch=replace(BATCH, min_batch_per_gpu=8))
    (times,) = epoch_times_s([tight], {})
    assert times[0] > 0


def test_many_jobs_at_once_are_as_each_alone() -> None:
    jobs = [asked(), asked(sizes=(40,)), asked(sizes=(20, 40), gpus=2)]
    assert epoch_times_s(jobs, {}) == [epoch_times_s([job], {})[0] for job in jobs]
    assert epoch_times_s([], {}) == []


def test_the_last_short_step_counts_as_a_step() -> None:
    assert steps_per_epoch(PLAN, 300) == 4
    assert steps_per_epoch(PLAN, 2_000) == 1
