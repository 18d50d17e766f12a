"""What the agent of a job with a trajectory says: batch changes, and the regimes begun."""

from collections.abc import Sequence
from dataclasses import replace

from headway.core.adaptation import DECLARED, Regime
from headway.core.control.events import BatchChanged
from headway.core.model.lr import LrRule, scale_lr
from headway.core.types import BatchChange
from headway.sim.schedule import code_of
from headway.sim.truth import JobTruth, Turn

RULE = LrRule.LINEAR  # Accordion and the noise-scale rule both scale the learning rate so


def first_regime(job: JobTruth) -> tuple[Regime, ...]:
    """The regimes of a job that has not run; none where it has no trajectory."""
    if job.trajectory is None:
        return ()
    return (Regime(batch_size=job.trajectory.batch_sizes[0], began_epoch=0.0),)


def begun(regimes: Sequence[Regime], turns: Sequence[Turn]) -> tuple[Regime, ...]:
    """With those that began since."""
    new = (Regime(batch_size=t.after.batch_size, began_epoch=float(t.epoch)) for t in turns)
    return (*regimes, *new)


def measured(
    regimes: tuple[Regime, ...], job: JobTruth, pass_s: float, synced_s: float
) -> tuple[Regime, ...]:
    """With what the present one was measured to take."""
    if job.trajectory is None or job.choice is None or not regimes:
        return regimes
    steps = job.trajectory.steps_per_epoch(job.choice.batch_size)
    epoch_s = steps * (job.choice.accum_steps * pass_s + synced_s)
    now = replace(regimes[-1], epoch_s=epoch_s, gpus=job.allocation.gpus)
    return (*regimes[:-1], now)


def change(job: JobTruth, turn: Turn) -> BatchChanged:
    """The record of a batch change that the job's rule made."""
    rule = DECLARED if job.spec.adaptation is None else job.spec.adaptation.rule
    scale = scale_lr(
        RULE,
        initial_batch_size=job.spec.batch.initial_batch_size,
        batch_size=turn.after.batch_size,
        noise_scale=None,
    )
    made = BatchChange(
        samples=turn.samples,
        gpus=job.allocation.gpus,
        batch_per_gpu=turn.after.batch_per_gpu,
        accum_steps=turn.after.accum_steps,
        old_batch_size=turn.before.batch_size,
        new_batch_size=turn.after.batch_size,
        lr_factor=scale.rate,
        lr_rule=RULE,
        noise_scale=None,
        noise_scale_error=None,
        predicted_gain=1.0,
        code=code_of(rule, job.spec.batch, turn.after.batch_size),
        why=f"rule {rule}",
        old_gpus=job.allocation.gpus,
        epoch=turn.epoch,
    )
    return BatchChanged(at_s=turn.at_s, job_id=job.spec.job_id, change=made)
