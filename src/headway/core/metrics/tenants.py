"""The ledger: what each tenant got and was entitled to, from the outcomes of its jobs."""

from collections.abc import Iterable
from dataclasses import dataclass

from headway.core.control.lifecycle import Phase
from headway.core.metrics.summary import JobOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantOutcome:
    """How the jobs of one tenant fared together."""

    tenant: str
    jobs: int
    active: int
    finished: int
    avg_jct_s: float | None  # over its finished jobs
    gpu_hours: float  # held
    entitled_gpu_hours: float
    ahead_gpu_hours: float  # held beyond that; negative: behind


def per_tenant(outcomes: Iterable[JobOutcome]) -> tuple[TenantOutcome, ...]:
    """One record for each tenant that submitted anything, by name."""
    owned: dict[str, list[JobOutcome]] = {}
    for outcome in outcomes:
        owned.setdefault(outcome.tenant, []).append(outcome)
    return tuple(_of(tenant, owned[tenant]) for tenant in sorted(owned))


def _of(tenant: str, jobs: list[JobOutcome]) -> TenantOutcome:
    jct_s = [job.jct_s for job in jobs if job.ended is Phase.FINISHED and job.jct_s is not None]
    held, entitled = (sum(hours) for hours in zip(*map(_hours, jobs), strict=True))
    return TenantOutcome(
        tenant=tenant,
        jobs=len(jobs),
        active=sum(job.ended is None for job in jobs),
        finished=len(jct_s),
        avg_jct_s=sum(jct_s) / len(jct_s) if jct_s else None,
        gpu_hours=held,
        entitled_gpu_hours=entitled,
        ahead_gpu_hours=held - entitled,
    )


def _hours(job: JobOutcome) -> tuple[float, float]:
    return job.gpu_hours, job.entitled_gpu_hours
