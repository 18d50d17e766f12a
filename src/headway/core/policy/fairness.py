"""Finish-time fairness as a policy estimates it, and what it makes of it: budgets (Shockwave)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headway.core.ids import JobId
from headway.core.policy.remaining import Ahead
from headway.core.types import Float64, FloatArray, JobView, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Contention so far: GPUs wanted over GPUs there, at least 1, and its integral over time."""

    now: float = 1.0
    at_s: float = 0.0
    contention_s: float = 0.0
    since: Mapping[JobId, float] = field(default_factory=dict)  # the integral at submission

    def grown(self, snapshot: Snapshot, jobs: Sequence[JobView]) -> "Crowd":
        """With the time since, and the jobs that are there now."""
        passed_s = max(snapshot.now_s - self.at_s, 0.0)
        contention_s = self.contention_s + passed_s * self.now
        wanted = sum(job.spec.requested_gpus for job in jobs)
        now = max(1.0, wanted / max(snapshot.gpus, 1))
        since = {
            job.spec.job_id: self.since.get(
                job.spec.job_id, contention_s - now * job.age_s(snapshot.now_s)
            )
            for job in jobs
        }
        return Crowd(now=now, at_s=snapshot.now_s, contention_s=contention_s, since=since)

    def rho_hat(self, jobs: Sequence[JobView], ahead: Ahead) -> Float64[FloatArray, " jobs"]:
        """Time from submission to end, as it looks now, over that in an equal share (Eq. 9).

        (age + remaining x contention now) / (exclusive time x mean contention); the remaining time
        counts in the mean at the contention now.
        """
        age_s = np.array([job.age_s(self.at_s) for job in jobs])
        so_far_s = np.array([self.contention_s - self.since[job.spec.job_id] for job in jobs])
        to_come_s = ahead.left_s * self.now
        whole_s = age_s + to_come_s
        mean = np.maximum((so_far_s + to_come_s * self.now) / whole_s, 1.0)
        return np.asarray(whole_s / (ahead.exclusive_s * mean))


def budgets(
    rho_hat: Float64[FloatArray, " jobs"],
    *,
    power: float,
    least: float,
    most: float,
    weight: Float64[FloatArray, " jobs"],
) -> Float64[FloatArray, " jobs"]:
    """rho_hat^k within bounds, times the weight of the job; the published power had no bound."""
    exponent = np.clip(power * np.log(rho_hat), np.log(least), np.log(most))
    return np.asarray(np.exp(exponent) * weight)
