"""How long an epoch takes at each batch size: as measured, else from the goodput model."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from headway.core.adaptation import Adaptation
from headway.core.model.goodput import JobModels, best
from headway.core.predict.alike import Alike, StepTimes
from headway.core.types import BatchContract, BatchMode, Float64, FloatArray, JobReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A job, and the batch sizes and GPUs at which the time of its epochs is wanted."""

    adaptation: Adaptation
    batch: BatchContract
    report: JobReport | None
    batch_sizes: tuple[int, ...]
    gpus: int
    several_nodes: bool = False


def steps_per_epoch(adaptation: Adaptation, batch_size: int) -> int:
    """The last step of an epoch may be short; it takes as long as any."""
    return max(1, math.ceil(adaptation.samples_per_epoch / batch_size))


def measured_step_s(
    adaptation: Adaptation, report: JobReport | None
) -> dict[tuple[str, int, int], float]:
    """What a job has measured of its own regimes, in the form in which jobs share it."""
    found = {}
    for regime in () if report is None else report.regimes:
        if regime.epoch_s is not None:
            steps = steps_per_epoch(adaptation, regime.batch_size)
            found[adaptation.model, regime.batch_size, regime.gpus] = regime.epoch_s / steps
    return found


def epoch_times_s(asked: Sequence[Asked], others: StepTimes) -> list[tuple[float, ...]]:
    """Seconds of an epoch at each size asked for: its own measurement, or what other jobs tell.

    Those of as many GPUs come first, then those of its model on other numbers of GPUs, and at last
    the goodput model. Where a job has measured the size that it runs at, its model's times are
    scaled to agree there.
    """
    if not asked:
        return []
    modelled = iter(_modelled_step_s(asked).tolist())
    alike = Alike.of(others)
    return [
        _times_s(job, others, alike, [next(modelled) for _ in job.batch_sizes]) for job in asked
    ]


def _times_s(
    job: Asked, others: StepTimes, alike: Alike, modelled: Sequence[float]
) -> tuple[float, ...]:
    own = measured_step_s(job.adaptation, job.report)
    keys = [(job.adaptation.model, size, job.gpus) for size in job.batch_sizes]
    present = own.get(keys[0])
    scale = 1.0 if present is None else present / modelled[0]
    steps_s = [
        own.get(key) or others.get(key) or alike.step_s(*key) or scale * model_s
        for key, model_s in zip(keys, modelled, strict=True)
    ]
    return tuple(
        steps_per_epoch(job.adaptation, size) * step_s
        for size, step_s in zip(job.batch_sizes, steps_s, strict=True)
    )


def _modelled_step_s(asked: Sequence[Asked]) -> Float64[FloatArray, " sizes"]:
    """Seconds of a step by the goodput model, for all sizes of all jobs at once."""
    pairs = [(job, size) for job in asked for size in job.batch_sizes]
    models = JobModels.of([(_at(job.batch, size, job.gpus), job.report) for job, size in pairs])
    gpus = np.array([[job.gpus] for job, _ in pairs])
    several = np.array([[job.several_nodes] for job, _ in pairs])
    found = best(models, gpus, several)
    per_s = found.goodput_per_s[:, 0]
    sizes = np.array([size for _, size in pairs], dtype=np.float64)
    step_s: FloatArray = sizes / np.where(per_s > 0, per_s, 1.0)
    return step_s


def _at(batch: BatchContract, size: int, gpus: int) -> BatchContract:
    """A contract that holds this batch size, in as many passes as it takes."""
    passes = math.ceil(size / (gpus * batch.max_batch_per_gpu))
    return replace(
        batch,
        mode=BatchMode.FIXED,
        initial_batch_size=size,
        max_batch_size=size,
        min_batch_per_gpu=min(batch.min_batch_per_gpu, max(1, size // gpus)),
        max_accum_steps=max(batch.max_accum_steps, passes - 1),
    )
