"""Goodput of jobs on placements, and the best (m, s) for each (Pollux, Eqn. 4 and section 4.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from headway.core.model.efficiency import assumed_noise_scale, efficiency
from headway.core.model.gputypes import pairs
from headway.core.model.schedule import at_present
from headway.core.model.search import LEAST_PASS_S, Problem, search
from headway.core.model.split import fewest_passes
from headway.core.model.sync import ALPHA_GRAD, BETA_GRAD, GAMMA
from headway.core.model.throughput import UNREPORTED, narrow, stack, step_time_s, sync_time_s
from headway.core.types import (
    BatchContract,
    BoolArray,
    Float64,
    FloatArray,
    Int64,
    IntArray,
    JobReport,
)

# Next to every example of a job that never reported counts in full; finite, so that M0 is
# still its best batch size
_UNREPORTED_NOISE = 1e8  # initial batches
_NO_SPEEDS: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobModels:
    """All that goodput depends on, as arrays with a job axis."""

    theta: Float64[FloatArray, "jobs 12"]  # columns: throughput.PARAMETERS and the kind
    noise_scale: Float64[FloatArray, " jobs"]
    initial_batch_size: Int64[IntArray, " jobs"]
    max_batch_size: Int64[IntArray, " jobs"]
    min_batch_per_gpu: Int64[IntArray, " jobs"]
    max_batch_per_gpu: Int64[IntArray, " jobs"]
    max_accum_steps: Int64[IntArray, " jobs"]
    adapts: BoolArray  # False: the batch size stays M0 and efficiency is 1

    @classmethod
    def of(
        cls,
        specs: Sequence[tuple[BatchContract, JobReport | None]],
        gpu_type: str | None = None,
        *,
        speed: Mapping[str, float] = _NO_SPEEDS,
    ) -> Self:
        """From contracts and reports; a job without a report is assumed to scale perfectly.

        With a ``gpu_type`` everything is as on GPUs of that type. Where a job never ran on it, its
        passes on another are taken, longer or shorter by the ratio of the types' ``speed``, which
        is 1 where none is given.
        """
        contracts = [at_present(contract, report) for contract, report in specs]
        reports = [report for _, report in specs]
        theta = stack([UNREPORTED if r is None else r.throughput for r in reports])
        if gpu_type is not None:
            theta[:, [ALPHA_GRAD, BETA_GRAD]] = pairs(theta, reports, gpu_type, speed)
        return cls(
            theta=theta,
            noise_scale=np.array([_noise_scale(c, r) for c, r in specs], dtype=np.float64),
            initial_batch_size=_ints([c.initial_batch_size for c in contracts]),
            max_batch_size=_ints([c.max_batch_size for c in contracts]),
            min_batch_per_gpu=_ints([c.min_batch_per_gpu for c in contracts]),
            max_batch_per_gpu=_ints([c.max_batch_per_gpu for c in contracts]),
            max_accum_steps=_ints([c.max_accum_steps for c in contracts]),
            adapts=np.array([c.adapts for c in contracts], dtype=np.bool_),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """A choice of (m, s) for each job on each placement; all zero where none is feasible."""

    goodput_per_s: Float64[FloatArray, "jobs placements"]
    batch_per_gpu: Int64[IntArray, "jobs placements"]
    accum_steps: Int64[IntArray, "jobs placements"]
    batch_size: Int64[IntArray, "jobs placements"]


def best(
    models: JobModels,
    gpus: ArrayLike,
    locality: ArrayLike,
    *,
    nodes: ArrayLike | None = None,
    wanted: BoolArray | None = None,
) -> Best:
    """The (m, s) of the greatest goodput for every job on every placement; exact.

    ``gpus``, ``locality`` and ``nodes`` are arrays over placements, or over (jobs, placements)
    where each job has placements of its own. A locality may be a bool, several nodes or one; there
    are two nodes, or one, where ``nodes`` are not given. Only ``wanted`` pairs are computed, the
    rest are zero.
    """
    places = _Places.of(models, gpus, locality, nodes)
    count = places.gpus
    feasible = (models.min_batch_per_gpu[:, None] * count <= models.max_batch_size[:, None]) & (
        count >= 1
    )
    if wanted is not None:
        feasible = feasible & wanted
    batch_per_gpu, passes = np.zeros_like(count), np.zeros_like(count)
    for adapts, choose in ((True, _adaptive), (False, _fixed)):
        job, placement = np.nonzero(feasible & (models.adapts == adapts)[:, None])
        if job.size:
            problem = _problem(models, job, places.at(job, placement))
            m, n = choose(problem)
            batch_per_gpu[job, placement], passes[job, placement] = m, n
    return _evaluated(models, places, batch_per_gpu, passes)


def _noise_scale(contract: BatchContract, report: JobReport | None) -> float:
    if report is None:
        return _UNREPORTED_NOISE * contract.initial_batch_size
    return assumed_noise_scale(report.noise_scale)


def _ints(values: Sequence[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


Grid = Int64[IntArray, "jobs placements"]


@dataclass(frozen=True, slots=True)
class _Places:
    """Where each job might be: GPUs, locality and nodes of each placement."""

    gpus: Grid
    locality: Grid
    nodes: Grid

    @classmethod
    def of(
        cls, models: JobModels, gpus: ArrayLike, locality: ArrayLike, nodes: ArrayLike | None
    ) -> Self:
        level = np.asarray(locality, np.int64)
        over = np.where(level > 0, 2, 1) if nodes is None else np.asarray(nodes, np.int64)
        count, level, over = np.broadcast_arrays(np.asarray(gpus, np.int64), level, over)
        shape = (models.adapts.size, count.shape[-1] if count.ndim else 1)
        return cls(*(np.broadcast_to(one, shape) for one in (count, level, over)))

    def at(self, job: IntArray, placement: IntArray) -> "_Places":
        """Some of them, one an entry."""
        some = (one[job, placement] for one in (self.gpus, self.locality, self.nodes))
        return _Places(*some)


def _problem(models: JobModels, job: IntArray, at: _Places) -> Problem:
    theta, initial = narrow(models.theta)[job], models.initial_batch_size[job].astype(np.float64)
    return Problem(
        alpha_s=theta[:, ALPHA_GRAD],
        beta_s=theta[:, BETA_GRAD],
        sync_s=sync_time_s(theta, at.gpus, at.locality, at.nodes),
        gamma=theta[:, GAMMA],
        noise_scale=models.noise_scale[job],
        gpus=at.gpus.astype(np.float64),
        least_batch_per_gpu=models.min_batch_per_gpu[job].astype(np.float64),
        most_batch_per_gpu=models.max_batch_per_gpu[job].astype(np.float64),
        least_batch_size=initial,
        most_batch_size=models.max_batch_size[job].astype(np.float64),
        least_passes=np.ones(job.size),
        most_passes=(models.max_accum_steps[job] + 1).astype(np.float64),
    )


def _adaptive(ask: Problem) -> tuple[FloatArray, FloatArray]:
    """(m, n) of the greatest goodput; zeros where nothing is feasible."""
    found = search(ask)
    feasible = np.isfinite(found.cost)
    return np.where(feasible, found.batch_per_gpu, 0), np.where(feasible, found.passes, 0)


def _fixed(ask: Problem) -> tuple[FloatArray, FloatArray]:
    """M0 split over the GPUs: the fewest passes that fit in memory, m rounded up."""
    initial, limit = ask.least_batch_size, ask.most_batch_per_gpu
    m, passes = fewest_passes(initial, ask.gpus, limit)
    feasible = (ask.gpus * ask.least_batch_per_gpu <= initial) & (passes <= ask.most_passes)
    feasible &= m >= ask.least_batch_per_gpu
    return np.where(feasible, m, 0), np.where(feasible, passes, 0)


def allowed(
    models: JobModels, gpus: IntArray | int, batch_per_gpu: IntArray, passes: IntArray
) -> BoolArray:
    """Which choices, in the last axis, each job's contract allows on so many GPUs."""
    m, n = batch_per_gpu, passes
    size, initial = gpus * m * n, models.initial_batch_size[:, None]
    legal = (m >= models.min_batch_per_gpu[:, None]) & (m <= models.max_batch_per_gpu[:, None])
    legal &= (n >= 1) & (n <= models.max_accum_steps[:, None] + 1) & (size >= initial)
    whole = np.where(models.adapts, models.max_batch_size, np.iinfo(np.int64).max)[:, None]
    legal &= (size <= whole) & (models.adapts[:, None] | (gpus <= initial))
    return np.asarray(legal & (np.asarray(gpus) >= 1))


def _evaluated(models: JobModels, places: _Places, batch_per_gpu: Grid, passes: Grid) -> Best:
    """Goodput of chosen (m, n); where m is 0 there is no choice and no goodput.

    A fixed batch of M0 examples that does not divide evenly leaves some passes shorter than m:
    the longest set the pace, and the step still reads M0 examples.
    """
    count, initial = places.gpus, models.initial_batch_size[:, None]
    chosen = batch_per_gpu > 0
    size = np.where(models.adapts[:, None], count * batch_per_gpu * passes, initial)
    size = np.where(chosen, size, 0)
    accum_steps = np.where(chosen, passes - 1, 0)
    theta = models.theta[:, None, :]
    batch = np.maximum(batch_per_gpu, 1)
    step_s = step_time_s(theta, count, places.locality, batch, accum_steps, nodes=places.nodes)
    worth = efficiency(models.noise_scale[:, None], initial, np.maximum(size, initial))
    worth = np.where(models.adapts[:, None], worth, 1.0)
    goodput_per_s = size / np.maximum(step_s, LEAST_PASS_S) * worth
    return Best(
        goodput_per_s=goodput_per_s,
        batch_per_gpu=batch_per_gpu,
        accum_steps=accum_steps,
        batch_size=size,
    )
