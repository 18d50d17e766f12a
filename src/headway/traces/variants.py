"""What may be made of a workload: elastic jobs of all, or some rigid, or those of a window."""

from dataclasses import replace

import numpy as np

from headway.core.errors import InvalidInputError
from headway.core.model.split import split_batch
from headway.core.types import BatchMode, GpuBounds, JobSpec
from headway.traces.assign import alone_s, assigned, step_s
from headway.traces.base import JobProfile, Workload, samples_to_end
from headway.traces.catalogue import CATALOGUE
from headway.traces.recorded import Recorded, Recording, Window
from headway.traces.trajectory import Trajectory

STREAM = 3  # keeps these draws apart from others of the same seed


def within(of: Workload, window: Window) -> Workload:
    """The jobs of a window; time begins where it does.

    Raises:
        InvalidInputError: there is none.
    """
    jobs = tuple(
        replace(job, submitted_s=job.submitted_s - window.from_s)
        for job in of.jobs
        if window.holds(job.submitted_s, job.tenant)
    )
    if not jobs:
        raise window.empty(job.tenant for job in of.jobs)
    return replace(of, jobs=jobs)


def elastic(of: Workload, seed: int) -> Workload:
    """Every job with a built-in model by its GPU time, as long as before on its requested GPUs."""
    recorded = [
        Recorded(
            name=job.name,
            submitted_s=job.submitted_s,
            duration_s=_lasts_s(job, of.profile_of(job.job_id), of.trajectories.get(job.job_id)),
            gpus=job.requested_gpus,
            tenant=job.tenant,
            weight=job.weight,
        )
        for job in of.jobs
    ]
    return assigned(Recording(name=of.name, jobs=tuple(recorded), notes=of.notes), CATALOGUE, seed)


def rigid(of: Workload, share: float, seed: int) -> Workload:
    """A share of the jobs, drawn by seed, kept at their requested GPUs and batch size.

    Raises:
        InvalidInputError: the share is none.
    """
    if not 0 <= share <= 1:
        raise InvalidInputError(f"--rigid must be a share from 0 to 1, not {share:g}")
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM,)))
    chosen = set(rng.permutation(len(of.jobs))[: round(share * len(of.jobs))].tolist())
    jobs = tuple(
        _rigid(job, of.profile_of(job.job_id)) if index in chosen else job
        for index, job in enumerate(of.jobs)
    )
    note = f"{len(chosen)} of {len(jobs)} jobs rigid, drawn with seed {seed}"
    return replace(of, jobs=jobs, notes=(*of.notes, note))


def _rigid(job: JobSpec, profile: JobProfile) -> JobSpec:
    """No job that changes its batch size by a rule of its own loses that."""
    held = job.requested_gpus
    gpus = GpuBounds(min_gpus=held, max_gpus=held)
    if not job.batch.adapts:
        return replace(job, gpus=gpus)
    size = split_batch(job.batch, job.requested_batch_size, held).batch_size  # as it would be there
    batch = replace(job.batch, mode=BatchMode.FIXED, initial_batch_size=size, max_batch_size=size)
    # at the one size that it has left, every example counts as one
    kept = replace(
        job,
        gpus=gpus,
        batch=batch,
        requested_batch_size=size,
        work_examples=samples_to_end(replace(job, requested_batch_size=size), profile),
    )
    return replace(kept, work_samples=samples_to_end(kept, profile))


def _lasts_s(job: JobSpec, profile: JobProfile, trajectory: Trajectory | None) -> float:
    """Alone on its requested GPUs at its own batch sizes."""
    if trajectory is None:
        return alone_s(job, profile)
    rates_per_s = [
        trajectory.rate_per_s(size, step_s(job.batch, profile, size, job.requested_gpus))
        for size in trajectory.batch_sizes
    ]
    return sum(
        epochs * trajectory.samples_per_epoch / rate_per_s
        for epochs, rate_per_s in zip(trajectory.stage_epochs, rates_per_s, strict=True)
    )
