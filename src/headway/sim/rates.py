"""How fast a job can be on a site: the best of all ways to split its batch, by the truth."""

import numpy as np

from headway.core.model.efficiency import efficiency
from headway.core.model.split import Choice, split_batch
from headway.core.types import BatchContract, Float64, FloatArray, JobSpec
from headway.sim.hardware import Hardware, Site
from headway.traces.base import JobProfile
from headway.traces.trajectory import Trajectory

GRID = 40  # per-GPU batches tried between the bounds, beside the bounds themselves


def best_rates_per_s(
    job: JobSpec,
    profile: JobProfile,
    trajectory: Trajectory | None,
    site: Site,
    hardware: Hardware,
) -> Float64[FloatArray, " epochs"]:
    """Scale-invariant examples a second; a trajectory leaves nothing to choose."""
    if trajectory is None:
        return _best(job, profile, site, hardware)
    choices = [split_batch(job.batch, size, sum(site.shape)) for size in trajectory.batch_sizes]
    times_s = [_step_s(profile, site, hardware, choice) for choice in choices]
    return np.array(
        [
            trajectory.rate_per_s(choice.batch_size, step_s)
            for choice, step_s in zip(choices, times_s, strict=True)
        ]
    )


def _best(
    job: JobSpec, profile: JobProfile, site: Site, hardware: Hardware
) -> Float64[FloatArray, " epochs"]:
    """The best rate in each epoch over all ways to split the batch that the contract allows."""
    gpus = sum(site.shape)
    if job.batch.adapts:
        batches, steps, sizes = _choices(job.batch, gpus)
    else:
        batches, steps, sizes = _only(split_batch(job.batch, job.requested_batch_size, gpus))
    pass_s, last_s = hardware.times_s(profile, site, batches)
    worth = efficiency(
        profile.noise_scales(sizes), job.batch.initial_batch_size, sizes[np.newaxis, :]
    )
    best: FloatArray = (sizes / (steps * pass_s + last_s) * worth).max(axis=1)
    return best


def _step_s(profile: JobProfile, site: Site, hardware: Hardware, choice: Choice) -> float:
    """Seconds of a step of a given choice."""
    batches, steps, _ = _only(choice)
    pass_s, last_s = hardware.times_s(profile, site, batches)
    return float((steps * pass_s + last_s)[0])


def _choices(batch: BatchContract, gpus: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Per-GPU batches, accumulation steps and batch sizes worth trying on so many GPUs.

    Accumulation pays only when memory is full or the largest batch size cuts the last pass,
    so for it only those two per-GPU batches are tried.
    """
    low, high = batch.min_batch_per_gpu, batch.max_batch_per_gpu
    first = [*np.geomspace(low, high, GRID), batch.initial_batch_size / gpus]
    tried = [(round(m), 0) for m in first]
    for steps in range(batch.max_accum_steps + 1):
        each = batch.max_batch_size // (gpus * (steps + 1))
        least = -(-batch.initial_batch_size // (gpus * (steps + 1)))
        tried += [(min(high, each), steps), (max(low, least), steps)]
    kept = sorted(
        {
            (m, steps)
            for m, steps in tried
            if low <= m <= high
            and batch.initial_batch_size <= gpus * m * (steps + 1) <= batch.max_batch_size
        }
    )
    if not kept:  # where no legal batch can be split so, the least that gives each GPU something
        return _only(split_batch(batch, batch.initial_batch_size, gpus))
    m, steps = np.array(kept, dtype=np.float64).T
    return m, steps, gpus * m * (steps + 1)


def _only(choice: Choice) -> tuple[FloatArray, FloatArray, FloatArray]:
    m, steps, size = np.array([choice], dtype=np.float64).T
    return m, steps, size
