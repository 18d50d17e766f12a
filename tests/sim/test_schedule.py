"""Jobs whose batch changes by itself, simulated: by samples, whatever befalls them."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.control.events import BatchChanged, JobFinished, JobReferenced, JobReported
from headway.core.model.schedule import batch_size_at
from headway.core.policy.pollux import Pollux
from headway.core.types import (
    BatchContract,
    BatchMode,
    BatchRule,
    JobSpec,
    RuleName,
    ScheduledBatch,
)
from headway.sim.driver import Setup
from headway.sim.schedule import regimes, schedule_of

RAMP = (ScheduledBatch(0, 16), ScheduledBatch(3000, 64), ScheduledBatch(9000, 32))


def dynamic(kit: Any, name: str = "a", **batch: Any) -> JobSpec:
    """The toy job, 12,000 samples long, with a schedule of its own."""
    job: JobSpec = kit.job(name, rigid=False)
    contract: BatchContract = replace(
        job.batch, mode=BatchMode.SCHEDULE, max_batch_size=256, min_batch_per_gpu=1, **batch
    )
    first = contract.schedule[0].batch_size if contract.schedule else 32
    return replace(job, batch=contract, requested_batch_size=first)


def setup(kit: Any, *jobs: JobSpec, **profile: Any) -> Setup:
    return Setup(
        workload=kit.workload(*jobs, profile=kit.toy(**profile)),
        cluster=kit.cluster("2x4"),
        round_s=10.0,
        restart_s=3.0,
        seed=1,
    )


def changes(log: list[Any]) -> list[tuple[int, int, str]]:
    return [
        (event.change.samples, event.change.new_batch_size, str(event.change.code))
        for event in log
        if isinstance(event, BatchChanged)
    ]


def test_a_declared_schedule_is_what_it_is_and_one_regime_follows_another(kit: Any) -> None:
    job = dynamic(kit, schedule=RAMP)
    assert schedule_of(job, kit.toy()) == RAMP
    assert regimes(RAMP, 12_000.0) == ((16, 3000.0), (64, 6000.0), (32, 3000.0))
    assert regimes(RAMP, 5000.0) == ((16, 3000.0), (64, 2000.0))
    assert schedule_of(kit.job("fixed"), kit.toy()) == ()


def test_gns_doubles_when_the_noise_scale_has_grown_past_the_batch(kit: Any) -> None:
    """phi grows in equal factors: 20, 42, 89, 189 in the four epochs."""
    job = dynamic(kit, rule=BatchRule(name=RuleName.GNS, every_epochs=1))
    profile = kit.toy(noise=20.0, last_noise=400.0)
    assert schedule_of(job, profile) == (
        ScheduledBatch(0, 32),
        ScheduledBatch(6000, 64),
        ScheduledBatch(9000, 128),
    )


def test_accordion_leaves_the_critical_regime_when_the_gradient_norm_settles(kit: Any) -> None:
    """phi that grows a hundredfold an epoch is a norm that falls to a tenth; then it stays."""
    rule = BatchRule(name=RuleName.ACCORDION, every_epochs=1)
    settled = schedule_of(dynamic(kit, rule=rule), kit.toy(noise=30.0))
    assert settled == (ScheduledBatch(0, 32), ScheduledBatch(6000, 256))
    falling = schedule_of(dynamic(kit, rule=rule), kit.toy(noise=1.0, last_noise=1e6))
    assert falling == (ScheduledBatch(0, 32),)


@pytest.mark.parametrize(
    "batch",
    [
        {"schedule": RAMP},
        {"rule": BatchRule(name=RuleName.GNS, every_epochs=1)},
        {"rule": BatchRule(name=RuleName.ACCORDION, every_epochs=1)},
    ],
)
def test_a_run_follows_its_schedule(kit: Any, batch: dict[str, Any]) -> None:
    job = dynamic(kit, **batch)
    log, made = kit.run(setup(kit, job, noise=40.0), kit.shuffle(often=0.7))
    known = schedule_of(job, made.workload.profile_of(job.job_id))
    # told when it happens, or at the next start where the job was waiting; never before
    assert [size for _, size, _ in changes(log)] == [step.batch_size for step in known[1:]]
    for (samples, _, code), step in zip(changes(log), known[1:], strict=True):
        assert samples == pytest.approx(step.from_samples, abs=1)
        assert code in {"Scheduled", "NoiseAboveBatch", "CalmRegime"}
    assert any(isinstance(event, JobFinished) for event in log)


@given(seed=st.integers(0, 1000), sizes=st.lists(st.integers(8, 256), min_size=1, max_size=5))
@settings(max_examples=20)
def test_epochs_are_kept_exactly_whatever_the_batches(
    kit: Any, seed: int, sizes: list[int]
) -> None:
    """The ancestor rounded epochs up at each change: a job of 720 s ended after 18,622 s."""
    schedule = tuple(ScheduledBatch(2000 * index, size) for index, size in enumerate(sizes))
    job = dynamic(kit, schedule=schedule)
    given_ = replace(setup(kit, job), seed=seed)
    log, _ = kit.run(given_, Pollux())
    reports = [event.report for event in log if isinstance(event, JobReported)]
    for report in reports:
        assert report.progress_examples == pytest.approx(report.samples, abs=1)
        assert report.batch_size == batch_size_at(schedule, report.samples + 0.5)
    assert sum(isinstance(event, JobFinished) for event in log) == 1


def test_alone_it_takes_the_sum_of_its_regimes(kit: Any) -> None:
    """At 10 ms an example, batches that fill two GPUs of four do not change how long it takes;
    a synchronisation of 0.1 s a step does: 3000/16 + 6000/64 + 3000/32 steps."""
    job = replace(dynamic(kit, schedule=RAMP), requested_gpus=2)
    log, _ = kit.run(setup(kit, job, sync_s=0.1), kit.shuffle())
    (reference,) = [event for event in log if isinstance(event, JobReferenced)]
    steps = 3000 / 16 + 6000 / 64 + 3000 / 32
    assert reference.exclusive_s == pytest.approx(12_000 / 200 + 0.1 * steps)
