"""How the batch of a job that changes it by itself really goes: the truth of mode ``schedule``.

A declared schedule is what it is. A rule is run along the profile: its noise scale, and the
gradient norm that goes with it, sqrt(tr Sigma / phi) with a constant tr Sigma (Pollux, Eqn. 5).
Both depend on epoch and batch size alone, so the schedule is known before the job runs; what
is not known is when each regime begins in seconds.
"""

from itertools import pairwise

import numpy as np

from headway.core.adaptation import DECLARED
from headway.core.model.rules import EpochSigns, RuleState, after_epoch
from headway.core.model.schedule import declared
from headway.core.types import BatchContract, ChangeCode, JobSpec, RuleName, ScheduledBatch
from headway.traces.base import JobProfile

_HALF_A_SAMPLE = 0.5  # samples are whole in training and real numbers here


def schedule_of(job: JobSpec, profile: JobProfile) -> tuple[ScheduledBatch, ...]:
    """The batch sizes of a job and the samples from which they hold; none where it has no such."""
    batch = job.batch
    if batch.rule is None or batch.replay:
        return declared(batch) if batch.follows else ()
    state = RuleState(batch_size=batch.initial_batch_size)
    steps = [ScheduledBatch(0, state.batch_size)]
    work = job.work_examples or profile.work_examples
    for epoch, end in enumerate(profile.epoch_ends[:-1]):
        phi = float(profile.noise_scales(np.array([float(state.batch_size)]))[epoch, 0])
        signs = EpochSigns(gradient_norm=phi**-0.5 if phi > 0 else None, noise_scale=phi)
        samples = round(end * work)
        may = not batch.frozen(samples)
        state, code = after_epoch(batch, batch.rule, state, signs, may=may)
        if code is not None:
            steps.append(ScheduledBatch(samples, state.batch_size))
    return tuple(steps)


def regimes(steps: tuple[ScheduledBatch, ...], work: float) -> tuple[tuple[int, float], ...]:
    """Batch sizes and the samples that each lasts, to the end of the job."""
    ends = [float(after.from_samples) for _, after in pairwise(steps)]
    begun = [step for step in steps if step.from_samples < work]
    return tuple(
        (step.batch_size, min(end, work) - step.from_samples)
        for step, end in zip(begun, [*ends, work], strict=False)
    )


def reached(samples: float) -> float:
    """Samples read, so that a threshold that was reached but for rounding counts as reached."""
    return samples + _HALF_A_SAMPLE


def code_of(rule: str, batch: BatchContract, batch_size: int) -> ChangeCode:
    """Why a job of this rule came to this size."""
    if rule == RuleName.GNS:
        return ChangeCode.NOISE_ABOVE_BATCH
    if rule == RuleName.ACCORDION:
        critical = batch_size == batch.initial_batch_size
        return ChangeCode.CRITICAL if critical else ChangeCode.CALM
    return ChangeCode.SCHEDULED if rule == DECLARED else ChangeCode.UNTOLD
