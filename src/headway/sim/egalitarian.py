"""The fluid egalitarian cluster: what every job's finish is compared with.

Every job active at t always holds M / N(t) GPUs: M GPUs of the cluster, N(t) the jobs active in
this fluid world itself. An elastic job runs at the concave envelope of its goodput at that
fractional share, a rigid one of w GPUs at min(1, share / w) of its speed; nothing restarts. It
depends on the workload and the truth alone, so that policies can be compared.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from headway.core.control.events import JobReferenced
from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.model.efficiency import efficiency
from headway.core.model.schedule import fixed_at
from headway.core.model.split import Choice, split_batch
from headway.core.types import BatchContract, Float64, FloatArray, JobSpec
from headway.sim.trajectory import regimes, trajectory
from headway.traces.base import JobProfile, Shape, Workload

GRID = 40  # per-GPU batches tried between the bounds, beside the bounds themselves


def references(workload: Workload, node_gpus: Sequence[int]) -> tuple[JobReferenced, ...]:
    """The egalitarian and the exclusive time of every job, as events at time 0."""
    curves = _Curves(tuple(sorted(node_gpus, reverse=True)))
    jobs = [curves.of(job, workload.profile_of(job.job_id)) for job in workload.jobs]
    finished_s = _fluid(jobs, sum(node_gpus))
    return tuple(
        JobReferenced(
            at_s=0.0,
            job_id=job.job_id,
            egalitarian_s=finished_s[job.job_id] - job.submitted_s,
            exclusive_s=job.exclusive_s,
        )
        for job in jobs
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FluidJob:
    """A job in the fluid world: its rate in each epoch at every whole share, and its work."""

    job_id: JobId
    submitted_s: float
    rates_per_s: Float64[FloatArray, "epochs shares"]  # shares 0, 1, ... GPUs
    work: Float64[FloatArray, " epochs"]
    exclusive_s: float

    def rates_at(self, share: float) -> Float64[FloatArray, " epochs"]:
        """Rate in each epoch at a fractional share, at most its maximum."""
        most = self.rates_per_s.shape[1] - 1
        share = min(share, float(most))
        left = min(int(share), most - 1)
        part = share - left
        low, high = self.rates_per_s[:, left], self.rates_per_s[:, left + 1]
        rates: FloatArray = low + part * (high - low)
        return rates


def _fluid(jobs: Sequence[FluidJob], gpus: int) -> dict[JobId, float]:
    """When each job finishes if the GPUs are always shared evenly among those active."""
    waiting = sorted(jobs, key=lambda job: (job.submitted_s, job.job_id), reverse=True)
    left: dict[JobId, FloatArray] = {}  # work of each epoch that is left
    active: dict[JobId, FluidJob] = {}
    finished_s: dict[JobId, float] = {}
    now_s = 0.0
    while active or waiting:
        if not active:
            now_s = waiting[-1].submitted_s
        while waiting and waiting[-1].submitted_s <= now_s:
            job = waiting.pop()
            active[job.job_id], left[job.job_id] = job, job.work.copy()
        share = gpus / len(active)
        times_s = {key: left[key] / job.rates_at(share) for key, job in active.items()}
        ends_s = {key: float(each.sum()) for key, each in times_s.items()}
        step_s = min(ends_s.values())
        if waiting:
            step_s = min(step_s, waiting[-1].submitted_s - now_s)
        for key in [key for key, end_s in ends_s.items() if end_s <= step_s]:
            finished_s[key] = now_s + ends_s[key]
            del active[key]
        for key in active:
            left[key] = _after(left[key], times_s[key], step_s)
        now_s += step_s
    return finished_s


def _after(
    left: Float64[FloatArray, " epochs"], times_s: Float64[FloatArray, " epochs"], step_s: float
) -> Float64[FloatArray, " epochs"]:
    """The work that is left after a while: whole epochs go, and a share of the next."""
    before_s = np.cumsum(times_s) - times_s
    with np.errstate(divide="ignore", invalid="ignore"):
        done = np.where(times_s > 0, (step_s - before_s) / times_s, 1.0)
    rest: FloatArray = left * (1.0 - np.clip(done, 0.0, 1.0))
    return rest


@final
class _Curves:
    """Rates of jobs against their share; jobs that differ in nothing that matters share a curve."""

    def __init__(self, node_gpus: tuple[int, ...]) -> None:
        self._node_gpus = node_gpus
        self._known: dict[object, FloatArray] = {}

    def of(self, job: JobSpec, profile: JobProfile) -> FluidJob:
        """A job with its curve; one whose batch changes by itself has one for each regime."""
        if job.batch.follows:
            return self._of_regimes(job, profile)
        fixed = None if job.batch.adapts else job.requested_batch_size
        key = (profile.name, job.batch, job.gpus, fixed)
        if key not in self._known:
            self._known[key] = self._rates(job, profile)
        exact = self._known[key]
        ends = np.array(profile.epoch_ends)
        work = np.diff(ends, prepend=0.0) * (job.work_examples or profile.work_examples)
        alone = exact[:, min(job.requested_gpus, exact.shape[1] - 1)]
        if not alone.all():
            raise InvalidInputError(
                f"job {job.name}: its batch does not fit requested_gpus {job.requested_gpus}; "
                "raise these, max_batch_per_gpu or max_accum_steps"
            )
        return FluidJob(
            job_id=job.job_id,
            submitted_s=job.submitted_s,
            rates_per_s=self._envelope(key, exact),
            work=work,
            exclusive_s=float((work / alone).sum()),
        )

    def _of_regimes(self, job: JobSpec, profile: JobProfile) -> FluidJob:
        work = job.work_examples or profile.work_examples
        rows = []
        parts = regimes(trajectory(job, profile), work)
        for size, _ in parts:
            batch = fixed_at(job.batch, size)
            plain = replace(job, batch=batch, requested_batch_size=size, work_examples=work)
            rows.append(self.of(plain, profile))
        samples = np.array([lasts for _, lasts in parts])
        alone_s = np.array([row.exclusive_s for row in rows])  # for all of the work at one size
        return FluidJob(
            job_id=job.job_id,
            submitted_s=job.submitted_s,
            rates_per_s=np.array([row.rates_per_s[0] for row in rows]),
            work=samples,
            exclusive_s=float((samples / work * alone_s).sum()),
        )

    def _rates(self, job: JobSpec, profile: JobProfile) -> FloatArray:
        """Best rate in each epoch on 0, 1, ... GPUs; 0 where the job may not hold so many."""
        most = min(job.gpus.max_gpus, sum(self._node_gpus))
        rates = np.zeros((len(profile.epoch_ends), most + 1))
        for gpus in job.gpus.allowed(most):
            with suppress(InvalidInputError):  # a fixed batch that does not fit so few
                rates[:, gpus] = _best(job, profile, self._shape(gpus))
        return rates

    def _shape(self, gpus: int) -> Shape:
        """On as few nodes as it needs, the largest first."""
        shape: list[int] = []
        for node in self._node_gpus:
            if gpus <= 0:
                break
            shape.append(min(node, gpus))
            gpus -= node
        return tuple(shape)

    def _envelope(self, key: object, exact: FloatArray) -> FloatArray:
        """Least concave rates above these and above none for no GPUs; of a rigid job a line."""
        name = (key, "envelope")
        if name not in self._known:
            self._known[name] = np.array([_concave(epoch) for epoch in exact])
        return self._known[name]


def _best(job: JobSpec, profile: JobProfile, shape: Shape) -> Float64[FloatArray, " epochs"]:
    """The best rate in each epoch over all ways to split the batch that the contract allows."""
    gpus = sum(shape)
    if job.batch.adapts:
        batches, steps, sizes = _choices(job.batch, gpus)
    else:
        batches, steps, sizes = _only(split_batch(job.batch, job.requested_batch_size, gpus))
    pass_s, last_s = profile.times_s(shape, batches)
    worth = efficiency(
        profile.noise_scales(sizes), job.batch.initial_batch_size, sizes[np.newaxis, :]
    )
    best: FloatArray = (sizes / (steps * pass_s + last_s) * worth).max(axis=1)
    return best


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


def _concave(rates: Float64[FloatArray, " shares"]) -> Float64[FloatArray, " shares"]:
    """The upper concave envelope through share 0, at whole shares; it never falls."""
    hull: list[tuple[int, float]] = []
    for point in enumerate(np.maximum.accumulate(rates).tolist()):
        while len(hull) > 1 and _below(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    at = np.arange(len(rates), dtype=np.float64)
    shares, heights = np.array(hull, dtype=np.float64).T
    envelope: FloatArray = np.interp(at, shares, heights)
    return envelope


def _below(left: tuple[int, float], middle: tuple[int, float], right: tuple[int, float]) -> bool:
    """Whether the middle point lies on or below the line between its neighbours."""
    run, rise = right[0] - left[0], right[1] - left[1]
    return (middle[1] - left[1]) * run <= rise * (middle[0] - left[0])
