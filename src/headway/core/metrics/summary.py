"""What is measured: one record a job, one a log. Values that cannot be computed are None."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from headway.core.control.lifecycle import Phase
from headway.core.ids import JobId

ROUNDING = 1e-9  # relative; a job that got exactly its share must not count as unfair
UNFAIR = 1.0 + ROUNDING
UNFAIR_STATIC = 1.05 + ROUNDING  # Shockwave's bound for its static reading


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """How one job fared. Times are the log's, durations are in seconds."""

    job_id: JobId
    name: str
    submitted_s: float
    started_s: float | None  # when the scheduler first gave it GPUs
    finished_s: float | None  # only of a job that came to its end
    jct_s: float | None
    queueing_s: float | None
    gpu_hours: float  # held, restarts included
    provisioned_gpu_hours: float  # its equal share of those there while it was active
    entitled_gpu_hours: float  # its weighted share of them, as far as it can use them
    restarts: int
    max_gpus: int  # the most it ever held
    rho: float | None
    rho_own: float | None
    rho_jobs: float | None
    rho_static: float | None
    ended: Phase | None  # finished, failed or cancelled; None: still active when the log ends
    tenant: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One run in numbers: averages over finished jobs, percentiles by linear interpolation.

    The four readings of rho are those of finish-time fairness, each over the finished jobs whose
    reference the log has:

    - ``rho``: JCT over the JCT in the fluid egalitarian cluster;
    - ``rho_own``: JCT over exclusive run time times the mean of max(1, GPUs wanted / GPUs there)
      over the job's life (Shockwave's definition, widths counted);
    - ``rho_jobs``: the same with active jobs / GPUs there, without the floor of 1;
    - ``rho_static``: the same with max(1, jobs of the whole log / GPUs), unfair above 1.05.
    """

    jobs: int
    finished: int
    avg_jct_s: float | None
    p50_jct_s: float | None
    p99_jct_s: float | None
    makespan_s: float | None  # from the beginning of the log to the last completion
    avg_queueing_s: float | None
    worst_rho: float | None
    mean_rho: float | None
    p95_rho: float | None
    unfair_fraction: float | None
    worst_rho_own: float | None
    mean_rho_own: float | None
    p95_rho_own: float | None
    unfair_fraction_own: float | None
    worst_rho_jobs: float | None
    mean_rho_jobs: float | None
    p95_rho_jobs: float | None
    unfair_fraction_jobs: float | None
    worst_rho_static: float | None
    mean_rho_static: float | None
    p95_rho_static: float | None
    unfair_fraction_static: float | None
    utilisation: float | None  # GPU-seconds held over GPU-seconds there, until the last completion
    restarts: int  # of all jobs together
    gpu_hours: float  # held by all jobs together, until the end of the log
    gap_max: float | None  # the worst distance to a proven bound of any decision
    node_hours: float  # there, used or not, until the last completion: what a cloud charges for
    provisioned_gpu_hours: float  # the same in GPUs


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What a log says apart from its jobs."""

    makespan_s: float | None
    utilisation: float | None
    gap_max: float | None
    node_hours: float
    provisioned_gpu_hours: float


def summary_of(outcomes: Iterable[JobOutcome], totals: Totals) -> Summary:
    """Many outcomes in one record."""
    jobs = tuple(outcomes)
    done = [job for job in jobs if job.ended is Phase.FINISHED]
    jct_s = _known(job.jct_s for job in done)
    queueing_s = _known(job.queueing_s for job in done)
    return Summary(
        jobs=len(jobs),
        finished=len(done),
        avg_jct_s=_mean(jct_s),
        p50_jct_s=_percentile(jct_s, 50),
        p99_jct_s=_percentile(jct_s, 99),
        makespan_s=totals.makespan_s,
        avg_queueing_s=_mean(queueing_s),
        **_fairness("", _known(job.rho for job in done), UNFAIR),
        **_fairness("_own", _known(job.rho_own for job in done), UNFAIR),
        **_fairness("_jobs", _known(job.rho_jobs for job in done), UNFAIR),
        **_fairness("_static", _known(job.rho_static for job in done), UNFAIR_STATIC),
        utilisation=totals.utilisation,
        restarts=sum(job.restarts for job in jobs),
        gpu_hours=sum(job.gpu_hours for job in jobs),
        gap_max=totals.gap_max,
        node_hours=totals.node_hours,
        provisioned_gpu_hours=totals.provisioned_gpu_hours,
    )


def _fairness(suffix: str, rho: list[float], unfair_above: float) -> dict[str, float | None]:
    unfair = [float(value > unfair_above) for value in rho]
    return {
        f"worst_rho{suffix}": max(rho, default=None),
        f"mean_rho{suffix}": _mean(rho),
        f"p95_rho{suffix}": _percentile(rho, 95),
        f"unfair_fraction{suffix}": _mean(unfair),
    }


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _percentile(values: list[float], percent: float) -> float | None:
    return float(np.percentile(values, percent)) if values else None
