"""Declared schedules: what people write, which batch at which sample, what a policy is told."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInputError
from headway.core.model.goodput import JobModels, best
from headway.core.model.schedule import (
    at_present,
    batch_size_at,
    first_batch_size,
    known_sizes,
    most_for_fewest,
    next_change,
    parse_schedule,
)
from headway.core.types import (
    BatchContract,
    BatchMode,
    BatchRule,
    JobReport,
    RuleName,
    ScheduledBatch,
    ThroughputParams,
)

RAMP = (ScheduledBatch(0, 64), ScheduledBatch(1000, 128), ScheduledBatch(5000, 32))
CONTRACT = BatchContract(
    initial_batch_size=64,
    max_batch_size=128,
    max_batch_per_gpu=64,
    mode=BatchMode.SCHEDULE,
    schedule=RAMP,
)


def report(batch_size: int, samples: int = 0) -> JobReport:
    return JobReport(
        throughput=ThroughputParams(
            alpha_grad_s=0.0,
            beta_grad_s=1e-2,
            alpha_local_s=0.0,
            beta_local_s=0.0,
            alpha_node_s=0.0,
            beta_node_s=0.0,
            gamma=1.0,
        ),
        noise_scale=3.0,
        progress_examples=float(samples),
        batch_per_gpu=batch_size,
        accum_steps=0,
        batch_size=batch_size,
        samples=samples,
    )


def test_megatrons_form_in_samples_and_in_tokens() -> None:
    """``0:768 250B:1536 500B:3072 750B:6144``, as Megatron-LM takes it since April 2026."""
    text = "0:768 250B:1536 500b:3072 0.75T:6144"
    steps = parse_schedule(text, tokens_per_sample=4096)
    assert [step.batch_size for step in steps] == [768, 1536, 3072, 6144]
    assert [step.from_samples for step in steps] == [0, 61035157, 122070313, 183105469]
    assert parse_schedule("0:64,1K:128, 5000:32") == RAMP


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must begin at 0"),
        ("10:64", "must begin at 0"),
        ("0:64 100:128 100:256", "100 samples do not come after 100"),
        ("0:64 100-128", "'100-128' is no threshold and batch size"),
        ("0:0", "'0:0' is no threshold"),
        ("0:64 1Q:5", "'1Q:5' is no threshold"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_named(text: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match="schedule: ") as error:
        parse_schedule(text)
    assert said in str(error.value)


@given(st.integers(0, 10_000))
def test_a_batch_size_holds_from_its_threshold_to_the_next(samples: int) -> None:
    size = batch_size_at(RAMP, samples)
    assert size == (64 if samples < 1000 else 128 if samples < 5000 else 32)
    then = next_change(RAMP, samples)
    if then is None:
        assert samples >= 5000
    else:
        assert then > samples
        assert batch_size_at(RAMP, then - 1) == size != batch_size_at(RAMP, then)


def test_a_policy_sees_a_fixed_batch_of_the_present_size() -> None:
    assert first_batch_size(CONTRACT) == 64
    assert at_present(CONTRACT, None).max_batch_size == 64
    now = at_present(CONTRACT, report(128))
    assert (now.initial_batch_size, now.max_batch_size, now.mode) == (128, 128, BatchMode.FIXED)
    # 128 examples at 10 ms on two GPUs, each of them in full whatever the noise scale is
    found = best(JobModels.of([(CONTRACT, report(128))]), 2, False)
    assert (found.batch_size[0, 0], found.batch_per_gpu[0, 0]) == (128, 64)
    assert found.goodput_per_s[0, 0] == pytest.approx(200.0)


def test_a_rule_says_nothing_beforehand() -> None:
    ruled = replace(CONTRACT, schedule=(), rule=BatchRule(name=RuleName.GNS))
    assert first_batch_size(ruled) == 64
    assert at_present(ruled, report(128)).initial_batch_size == 128


def test_a_frozen_batch_is_a_fixed_one_until_the_freeze_ends() -> None:
    free = replace(CONTRACT, mode=BatchMode.ADAPTIVE, schedule=())
    frozen = replace(free, freeze_before_samples=100, freeze_after_samples=900)
    assert at_present(frozen, None).max_batch_size == 64
    assert at_present(frozen, report(64, 99)).mode is BatchMode.FIXED
    assert at_present(frozen, report(96, 500)) == frozen
    assert at_present(frozen, report(96, 900)).initial_batch_size == 96
    assert at_present(free, report(96, 900)) == free


def test_what_the_fewest_gpus_must_be_able_to_share() -> None:
    """A fixed batch of two on four GPUs waited for ever, and nobody said why."""
    free = replace(CONTRACT, mode=BatchMode.ADAPTIVE, schedule=())
    assert known_sizes(CONTRACT) == (32, 128)
    assert most_for_fewest(CONTRACT) == 32
    assert most_for_fewest(free) == 128
    assert most_for_fewest(replace(free, freeze_before_samples=1)) == 64
    assert most_for_fewest(replace(free, mode=BatchMode.FIXED)) == 64


@given(gpus=st.integers(1, 8), each=st.integers(1, 64), mode=st.sampled_from(BatchMode))
def test_beyond_it_no_goodput_is_left(gpus: int, each: int, mode: BatchMode) -> None:
    contract = replace(
        CONTRACT,
        mode=mode,
        min_batch_per_gpu=each,
        schedule=(ScheduledBatch(0, 64),) if mode is BatchMode.SCHEDULE else (),
    )
    runs = bool(best(JobModels.of([(contract, None)]), [gpus], [0]).goodput_per_s[0, 0] > 0)
    assert runs == (most_for_fewest(contract) >= gpus * each)
