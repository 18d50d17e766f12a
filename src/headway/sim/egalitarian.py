"""The fluid egalitarian cluster: what every job's finish is compared with.

Every job active at t always holds M / N(t) GPUs: M GPUs of the cluster, N(t) the jobs active in
this fluid world itself. An elastic job runs at the concave envelope of its goodput at that
fractional share, a rigid one of w GPUs at min(1, share / w) of its speed; nothing restarts. It
depends on the workload and the truth alone, so that policies can be compared.

Where the cluster has several GPU types, a share of it is the same share of each type: a job's rate
on K GPUs is the mean of its rates on K GPUs of each, weighted by how many there are. On a type
that has fewer than K it has that type's best.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from headway.core.control.events import JobReferenced
from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.model.schedule import fixed_at
from headway.core.types import Float64, FloatArray, JobSpec, Node
from headway.sim.cluster import Cluster
from headway.sim.hardware import Hardware, Site
from headway.sim.rates import best_rates_per_s
from headway.sim.schedule import regimes, schedule_of
from headway.traces.base import JobProfile, Workload
from headway.traces.trajectory import Trajectory


def references(workload: Workload, cluster: Cluster) -> tuple[JobReferenced, ...]:
    """The egalitarian and the exclusive time of every job, as events at time 0."""
    curves = _Curves(cluster)
    jobs = [
        curves.of(job, workload.profile_of(job.job_id), workload.trajectories.get(job.job_id))
        for job in workload.jobs
    ]
    finished_s = _fluid(jobs, cluster.gpus)
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
    alike: dict[tuple[int, bytes], _Alike] = {}
    finished_s: dict[JobId, float] = {}
    now_s, active = 0.0, 0
    while active or waiting:
        if not active:
            now_s = waiting[-1].submitted_s
        while waiting and waiting[-1].submitted_s <= now_s:
            job = waiting.pop()
            key = id(job.rates_per_s), job.work.tobytes()
            alike.setdefault(key, _Alike(job)).add(job.job_id)
            active += 1
        here = [some for some in alike.values() if some.job_ids]
        left_s = [some.left_s(gpus / active) for some in here]
        step_s = min(float(each.min()) for each in left_s)
        if waiting:
            step_s = min(step_s, waiting[-1].submitted_s - now_s)
        for some, each in zip(here, left_s, strict=True):
            for job_id, end_s in some.advance(gpus / active, each, step_s):
                finished_s[job_id] = now_s + end_s
        active = sum(len(some.job_ids) for some in here)
        now_s += step_s
    return finished_s


class _Alike:
    """Active jobs of the same rates and the same work, and how far each of them is."""

    def __init__(self, job: FluidJob) -> None:
        self._job = job
        self._epochs = np.arange(len(job.work) + 1.0)
        self._done: FloatArray = np.zeros(0)  # epochs, and a share of the present one
        self._ends_s: dict[float, FloatArray] = {}
        self.job_ids: list[JobId] = []

    def add(self, job_id: JobId) -> None:
        """A job that begins."""
        self.job_ids.append(job_id)
        self._done = np.append(self._done, 0.0)

    def left_s(self, share: float) -> Float64[FloatArray, " active"]:
        """How long each takes from here to its end."""
        if share not in self._ends_s:
            times_s = self._job.work / self._job.rates_at(share)
            self._ends_s[share] = np.concatenate([[0.0], np.cumsum(times_s)])
        ends_s = self._ends_s[share]
        return np.asarray(ends_s[-1] - np.interp(self._done, self._epochs, ends_s))

    def advance(
        self, share: float, left_s: Float64[FloatArray, " active"], step_s: float
    ) -> list[tuple[JobId, float]]:
        """Go on for a while; those who came to their end, and when."""
        ends_s, stays = self._ends_s[share], left_s > step_s
        ended = [(self.job_ids[at], float(left_s[at])) for at in np.flatnonzero(~stays)]
        if ended:
            self.job_ids = [self.job_ids[at] for at in np.flatnonzero(stays)]
        self._done = np.interp(ends_s[-1] - left_s[stays] + step_s, ends_s, self._epochs)
        return ended


@final
class _Curves:
    """Rates of jobs against their share; jobs that differ in nothing that matters share a curve."""

    def __init__(self, cluster: Cluster) -> None:
        self._types = _by_type(cluster)
        self._gpus = cluster.gpus
        self._hardware = cluster.hardware
        self._known: dict[object, FloatArray] = {}

    def of(
        self, job: JobSpec, profile: JobProfile, trajectory: Trajectory | None = None
    ) -> FluidJob:
        """A job with its curve; one whose batch changes by itself has one for each regime."""
        if trajectory is None and job.batch.follows:
            return self._of_regimes(job, profile)
        fixed = None if job.batch.adapts else job.requested_batch_size
        stages = (
            None if trajectory is None else (trajectory.samples_per_epoch, trajectory.batch_sizes)
        )
        key = (profile.name, job.batch, job.gpus, fixed, stages)
        if key not in self._known:
            self._known[key] = self._rates(job, profile, trajectory)
        exact = self._known[key]
        if trajectory is None:
            ends = np.array(profile.epoch_ends) * (job.work_examples or profile.work_examples)
        else:
            ends = np.array(trajectory.stage_ends)
        work = np.diff(ends, prepend=0.0)
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
        parts = regimes(schedule_of(job, profile), work)
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

    def _rates(
        self, job: JobSpec, profile: JobProfile, trajectory: Trajectory | None
    ) -> FloatArray:
        """Best rate in each epoch on 0, 1, ... GPUs; 0 where the job may not hold so many.

        A job with a trajectory has stages in the place of epochs.
        """
        most = min(job.gpus.max_gpus, self._gpus)
        stages = len(profile.epoch_ends if trajectory is None else trajectory.stages)
        rates = np.zeros((stages, most + 1))
        for nodes in self._types:
            there = sum(node.gpus for node in nodes)
            of_type = np.zeros_like(rates)
            for gpus in job.gpus.allowed(most):
                if gpus <= there:
                    site = _site(nodes, gpus, self._hardware)
                    with suppress(InvalidInputError):  # a fixed batch that does not fit so few
                        of_type[:, gpus] = best_rates_per_s(
                            job, profile, trajectory, site, self._hardware
                        )
                else:
                    of_type[:, gpus] = of_type.max(axis=1)
            rates += there / self._gpus * of_type
        return rates

    def _envelope(self, key: object, exact: FloatArray) -> FloatArray:
        """Least concave rates above these and above none for no GPUs; of a rigid job a line."""
        name = (key, "envelope")
        if name not in self._known:
            self._known[name] = np.array([_concave(epoch) for epoch in exact])
        return self._known[name]


def _by_type(cluster: Cluster) -> list[list[Node]]:
    """The nodes of each GPU type: the rack with most GPUs first, in each the largest first."""
    rack_of = cluster.hardware.rack_of
    racks: dict[tuple[str, str | None], int] = {}
    by_type: dict[str, list[Node]] = {}
    for node in cluster.nodes:
        rack = (node.gpu_type, rack_of(node))
        racks[rack] = racks.get(rack, 0) + node.gpus
        by_type.setdefault(node.gpu_type, []).append(node)

    def order(node: Node) -> tuple[int, str, int]:
        return -racks[node.gpu_type, rack_of(node)], rack_of(node) or "", -node.gpus

    return [sorted(same, key=order) for _, same in sorted(by_type.items())]


def _site(nodes: Sequence[Node], gpus: int, hardware: Hardware) -> Site:
    """On as few of these nodes as it needs, the first ones first."""
    shape: list[int] = []
    for node in nodes:
        if gpus <= 0:
            break
        shape.append(min(node.gpus, gpus))
        gpus -= node.gpus
    racks = {hardware.rack_of(node) for node in nodes[: len(shape)]}
    return Site(tuple(shape), nodes[0].gpu_type, len(racks))


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
