"""The records of the batch contract that simulated agents write."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from headway.core.control.events import BatchChanged
from headway.core.model.lr import LrRule, scale_lr
from headway.core.model.split import Choice
from headway.core.types import BatchChange, ChangeCode
from headway.sim.truth import JobTruth

RULE = LrRule.ADASCALE
CLAUSES: Mapping[ChangeCode, str] = MappingProxyType(
    {
        ChangeCode.SCHEDULED: "the declared schedule",
        ChangeCode.CRITICAL: "the gradient norm changes much",
        ChangeCode.CALM: "the gradient norm changes little",
        ChangeCode.NOISE_ABOVE_BATCH: "the noise scale exceeds the batch",
    }
)


class Noise(Protocol):
    """What an agent knows of the noise scale of its job."""

    noise_scale: float | None
    noise_scale_error: float | None


def changed(
    job: JobTruth,
    noise: Noise,
    ran: Choice,
    at_s: float,
    why: tuple[ChangeCode, str],
    gain: float = 1.0,
    *,
    old_gpus: int | None = None,
) -> BatchChanged:
    """What a job that has just changed its batch says of it."""
    now, batch = job.choice or ran, job.spec.batch
    scale = scale_lr(
        RULE,
        initial_batch_size=batch.initial_batch_size,
        batch_size=now.batch_size,
        noise_scale=noise.noise_scale,
        most=batch.max_lr_factor,
    )
    change = BatchChange(
        samples=int(job.samples),
        gpus=job.allocation.gpus,
        batch_per_gpu=now.batch_per_gpu,
        accum_steps=now.accum_steps,
        old_batch_size=ran.batch_size,
        new_batch_size=now.batch_size,
        lr_factor=scale.rate,
        lr_rule=RULE,
        noise_scale=noise.noise_scale,
        noise_scale_error=noise.noise_scale_error,
        predicted_gain=gain,
        code=why[0],
        why=why[1],
        old_gpus=job.allocation.gpus if old_gpus is None else old_gpus,
        epoch=job.epoch,
    )
    return BatchChanged(at_s=at_s, job_id=job.spec.job_id, change=change)
