"""What each job is entitled to: its weighted share of the GPUs there, as far as it can use them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from headway.core.ids import JobId
from headway.core.policy.shares import UNNAMED
from headway.core.types import Float64, FloatArray, JobSpec


def filled(
    gpus: float, weight: Float64[FloatArray, " claims"], most: Float64[FloatArray, " claims"]
) -> Float64[FloatArray, " claims"]:
    """GPUs in proportion to weights, none above its most; what one leaves the others share.

    Weighted max-min fairness: the level w rises until min(w weight, most) has used all GPUs.
    """
    order = np.argsort(-weight / most, kind="stable")  # a weight may be too small to divide by
    share = np.zeros(len(weight))
    left, weights_left = gpus, np.cumsum(weight[order][::-1])[::-1].tolist()  # exact for tiny ones
    for position, row in enumerate(order.tolist()):
        if most[row] * weights_left[position] > left * weight[row]:  # so have all that follow
            rest = order[position:]
            share[rest] = left * weight[rest] / weight[rest].sum()
            break
        share[row] = most[row]
        left -= share[row]
    return share


@final
@dataclass(slots=True)
class Entitlement:
    """Adds up GPU-seconds while jobs come and go, as a fluid cluster would share them.

    With a table of tenants each has its weight there, which its jobs split by their own weights;
    without one each job counts by its own weight: what ``policy.shares`` has policies do.
    """

    gpus: int = 0  # there now
    tenants: Mapping[str, float] = field(default_factory=dict)  # weights; none: there is no table
    _active: dict[JobId, JobSpec] = field(default_factory=dict)
    _share_gpus: dict[JobId, float] = field(default_factory=dict)  # since the last change
    _gpu_s: dict[JobId, float] = field(default_factory=dict)  # up to the last change
    _passed_s: float = 0.0  # since then

    def gpu_s(self, job_id: JobId) -> float:
        """GPU-seconds that a job was entitled to, up to now or its end."""
        if self._passed_s and not self._share_gpus:
            self._share_gpus = self._shares()
        share_gpus = self._share_gpus.get(job_id, 0.0)
        return self._gpu_s.get(job_id, 0.0) + share_gpus * self._passed_s

    def advance(self, passed_s: float) -> None:
        """So much time passes in which nothing changes."""
        self._passed_s += passed_s

    def come(self, spec: JobSpec) -> None:
        """A job is active from now on."""
        self._settle()
        self._active[spec.job_id] = spec

    def go(self, job_id: JobId) -> None:
        """A job is active no more."""
        self._settle()
        self._active.pop(job_id, None)

    def resize(self, gpus: int) -> None:
        """So many GPUs are there from now on."""
        self._settle()
        self.gpus = gpus

    def weigh(self, tenants: Mapping[str, float]) -> None:
        """Another table of tenants holds from now on."""
        self._settle()
        self.tenants = tenants

    def _settle(self) -> None:
        if self._passed_s:
            for job_id in self._active:
                self._gpu_s[job_id] = self.gpu_s(job_id)
        self._passed_s, self._share_gpus = 0.0, {}

    def _shares(self) -> dict[JobId, float]:
        """GPUs of each active job, were they shared as they should be.

        One that needs more than there are cannot use any.
        """
        jobs = [job for job in self._active.values() if job.gpus.smallest <= self.gpus]
        if not self.tenants:
            return _split(self.gpus, jobs)
        owned: dict[str, list[JobSpec]] = {}
        for job in jobs:
            owned.setdefault(job.tenant, []).append(job)
        weight = np.array([self.tenants.get(tenant, UNNAMED) for tenant in owned])
        most = np.array([float(sum(job.gpus.max_gpus for job in own)) for own in owned.values()])
        shares: dict[JobId, float] = {}
        for own, gpus in zip(owned.values(), filled(self.gpus, weight, most), strict=True):
            shares |= _split(float(gpus), own)
        return shares


def _split(gpus: float, jobs: Sequence[JobSpec]) -> dict[JobId, float]:
    weight = np.array([job.weight for job in jobs])
    most = np.array([float(job.gpus.max_gpus) for job in jobs])
    shares = filled(gpus, weight, most).tolist()
    return {job.job_id: share for job, share in zip(jobs, shares, strict=True)}
