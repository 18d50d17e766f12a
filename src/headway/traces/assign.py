"""Gives recorded jobs a model: by GPU time as Pollux's evaluation did (OSDI'21, section 5.1).

A job under 1 GPU-hour is cifar10 or ncf, one under 10 deepspeech2 or bert, one under 100 yolov3,
one under 1,000 imagenet; those shorter than a minute or longer than that are dropped. Among the
models of its class that may hold its GPUs one is drawn by seed. Its work is what that model does in
the recorded time on the recorded GPUs at its own batch size for each of them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headway.core.errors import InvalidInputError
from headway.core.model.split import split_batch
from headway.core.types import BatchContract, JobSpec
from headway.core.words import counted
from headway.traces.base import (
    JobProfile,
    Shape,
    Workload,
    adaptive_job,
    samples_to_end,
    widest,
    workload,
)
from headway.traces.recorded import Recorded, Recording

MODELS = (("cifar10", "ncf"), ("deepspeech2", "bert"), ("yolov3",), ("imagenet",))
BELOW_GPU_H = (1.0, 10.0, 100.0, 1000.0)  # of each class
LEAST_S = 60.0
NODE_GPUS = 4  # of the nodes on which the profiles were measured
STREAM = 2  # keeps these draws apart from others of the same seed


@dataclass(frozen=True, slots=True)
class _Fate:
    """A model for a job, or why it has none."""

    model: str = ""
    dropped: str = ""


def assigned(of: Recording, profiles: Mapping[str, JobProfile], seed: int) -> Workload:
    """Every job adaptive and elastic, with a model; the notes say how many have which.

    Raises:
        InvalidInputError: a model without a profile, or no job is left.
    """
    missing = sorted({model for some in MODELS for model in some} - profiles.keys())
    if missing:
        raise InvalidInputError(
            f"jobs are given models by GPU time and {', '.join(missing)} has no profile; leave "
            "--profiles away to use the built-in ones"
        )
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM,)))
    draws = rng.random(len(of.jobs)).tolist()  # one for each, so that no job moves another's
    fates = [_fate(job, profiles, draw) for job, draw in zip(of.jobs, draws, strict=True)]
    kept = [
        (elastic_job(job, profiles[fate.model]), fate.model)
        for job, fate in zip(of.jobs, fates, strict=True)
        if fate.model
    ]
    notes = _notes(fates, seed)
    if not kept:
        raise InvalidInputError(f"{of.name}: no job is left, {'; '.join(notes)}")
    return workload(of.name, kept, profiles, (*of.notes, *notes))


def elastic_job(job: Recorded, profile: JobProfile) -> JobSpec:
    """The recorded job as one of this profile."""
    batch = profile.contract
    wanted = min(job.gpus * batch.initial_batch_size, batch.max_batch_size)
    size = max(split_batch(batch, wanted, job.gpus).batch_size, batch.initial_batch_size)
    spec = adaptive_job(
        job.name,
        profile,
        submitted_s=job.submitted_s,
        requested_gpus=job.gpus,
        requested_batch_size=size,
    )
    spec = replace(spec, tenant=job.tenant, weight=job.weight)
    share = job.duration_s / alone_s(spec, profile)
    return replace(spec, work_examples=share * profile.work_examples)


def alone_s(job: JobSpec, profile: JobProfile) -> float:
    """From start to end on its requested GPUs, as few nodes as they take, at its requested size."""
    size = job.requested_batch_size
    return (
        samples_to_end(job, profile) / size * step_s(job.batch, profile, size, job.requested_gpus)
    )


def step_s(batch: BatchContract, profile: JobProfile, batch_size: int, gpus: int) -> float:
    """A step at a batch size, on as few nodes as so many GPUs take."""
    choice = split_batch(batch, batch_size, gpus)
    pass_s, last_s = profile.times_s(_packed(gpus), np.array([float(choice.batch_per_gpu)]))
    return float(choice.accum_steps * pass_s[0] + last_s[0])


def _packed(gpus: int) -> Shape:
    full, rest = divmod(gpus, NODE_GPUS)
    return (NODE_GPUS,) * full + ((rest,) if rest else ())


def _fate(job: Recorded, profiles: Mapping[str, JobProfile], draw: float) -> _Fate:
    if job.duration_s < LEAST_S:
        return _Fate(dropped=f"shorter than {LEAST_S:g} s")
    for models, below in zip(MODELS, BELOW_GPU_H, strict=True):
        if job.gpu_hours < below:
            fitting = [model for model in models if widest(profiles[model]) >= job.gpus]
            if not fitting:
                return _Fate(dropped="more GPUs than a model of its class may hold")
            return _Fate(model=fitting[int(draw * len(fitting))])
    return _Fate(dropped=f"{BELOW_GPU_H[-1]:g} GPU-hours or more")


def _notes(fates: Sequence[_Fate], seed: int) -> list[str]:
    dropped = Counter(fate.dropped for fate in fates if fate.dropped)
    given = Counter(fate.model for fate in fates if fate.model)
    models = ", ".join(f"{count} {model}" for model, count in sorted(given.items()))
    return [
        *(f"{counted(count, 'job')} dropped: {why}" for why, count in sorted(dropped.items())),
        *([f"models by GPU time, drawn with seed {seed}: {models}"] if given else []),
    ]
