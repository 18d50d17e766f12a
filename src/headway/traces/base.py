"""What a trace is to Headway: jobs, and for each the profile that says how it really behaves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from headway.core.ids import JobId
from headway.core.model.efficiency import efficiency
from headway.core.types import BatchContract, BatchMode, Float64, FloatArray, GpuBounds, JobSpec
from headway.traces.trajectory import Trajectory

Shape = tuple[int, ...]  # GPUs on each node of an allocation, in the order of the nodes


class JobProfile(Protocol):
    """The truth about one kind of job, as measured or modelled. No policy ever sees it."""

    @property
    def name(self) -> str:
        """What workloads call it."""
        ...

    @property
    def contract(self) -> BatchContract:
        """The initial batch size and the bounds around it."""
        ...

    @property
    def max_gpus(self) -> int:
        """The most GPUs that the profile can say anything about."""
        ...

    @property
    def work_examples(self) -> float:
        """Scale-invariant examples from start to end."""
        ...

    @property
    def epoch_ends(self) -> tuple[float, ...]:
        """Shares of the work at which an epoch ends, ascending, the last one 1."""
        ...

    def times_s(
        self, shape: Shape, batches_per_gpu: Float64[FloatArray, " batches"]
    ) -> tuple[Float64[FloatArray, " batches"], Float64[FloatArray, " batches"]]:
        """Seconds of a pass without and with the synchronisation of gradients."""
        ...

    def noise_scales(
        self, batch_sizes: Float64[FloatArray, " batches"]
    ) -> Float64[FloatArray, "epochs batches"]:
        """Gradient noise scale during each epoch, as it is measured at these batch sizes."""
        ...

    def measured(self, shape: Shape, batch_per_gpu: float) -> bool:
        """Whether this lies inside what was measured."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Jobs in order of submission, the profile of each by name, and what reading them dropped."""

    name: str
    jobs: tuple[JobSpec, ...]
    profile_names: Mapping[JobId, str]
    profiles: Mapping[str, JobProfile]
    notes: tuple[str, ...] = field(default=())
    trajectories: Mapping[JobId, Trajectory] = field(default_factory=dict)  # where they adapt

    def profile_of(self, job_id: JobId) -> JobProfile:
        """How this job really behaves."""
        return self.profiles[self.profile_names[job_id]]


def workload(
    name: str,
    jobs: Sequence[tuple[JobSpec, str]],
    profiles: Mapping[str, JobProfile],
    notes: Sequence[str] = (),
    trajectories: Mapping[JobId, Trajectory] | None = None,
) -> Workload:
    """A workload from pairs of a job and the name of its profile, in any order.

    Each job declares what it will read at its requested batch size, as one who trains for a known
    number of epochs can.
    """
    declared = [
        (replace(job, work_samples=samples_to_end(job, profiles[name])), name) for job, name in jobs
    ]
    ordered = sorted(declared, key=lambda pair: (pair[0].submitted_s, pair[0].job_id))
    return Workload(
        name=name,
        jobs=tuple(job for job, _ in ordered),
        profile_names={job.job_id: profile for job, profile in ordered},
        profiles=profiles,
        notes=tuple(notes),
        trajectories=trajectories or {},
    )


def adaptive_job(
    name: str,
    profile: JobProfile,
    *,
    submitted_s: float,
    requested_gpus: int,
    requested_batch_size: int,
) -> JobSpec:
    """A job that may hold any number of GPUs and adapt its batch inside its profile's bounds."""
    return JobSpec(
        job_id=JobId(name),
        name=name,
        submitted_s=submitted_s,
        gpus=GpuBounds(min_gpus=1, max_gpus=widest(profile)),
        batch=replace(profile.contract, mode=BatchMode.ADAPTIVE),
        requested_gpus=requested_gpus,
        requested_batch_size=requested_batch_size,
        work_examples=profile.work_examples,
    )


def widest(profile: JobProfile) -> int:
    """GPUs beyond which the largest batch size leaves too little for each of them."""
    batch = profile.contract
    return max(1, min(profile.max_gpus, batch.max_batch_size // batch.min_batch_per_gpu))


def samples_to_end(job: JobSpec, profile: JobProfile) -> float:
    """Examples that a job reads from start to end if its batch always has the requested size."""
    if job.adaptation is not None:
        return job.adaptation.epochs * job.adaptation.samples_per_epoch
    if job.batch.follows:  # which counts every example as one
        return job.work_examples or profile.work_examples
    size, initial = job.requested_batch_size, job.batch.initial_batch_size
    work = np.diff(profile.epoch_ends, prepend=0.0) * (job.work_examples or profile.work_examples)
    noise_scales = profile.noise_scales(np.array([float(size)]))[:, 0]
    return float((work / efficiency(noise_scales, initial, size)).sum())
