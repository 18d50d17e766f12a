"""The fair share of a job, which Pollux's speedup is measured against (Eqn. 15)."""

from headway.core.types import GpuBounds


def fair_gpus(bounds: GpuBounds, cluster_gpus: int, jobs: int) -> int:
    """GPUs of a fair share: the cluster over its jobs, made a size that the job may hold.

    ``jobs`` counts running and waiting jobs. No scale-out cap applies.
    """
    share = min(bounds.max_gpus, max(bounds.min_gpus, cluster_gpus // max(jobs, 1)))
    if bounds.sizes is None:
        return share
    allowed = bounds.allowed(share)
    return allowed[-1] if allowed else bounds.smallest
