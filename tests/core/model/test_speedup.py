"""The fair share: of the cluster, within a job's bounds."""

import pytest

from headway.core.model.speedup import fair_gpus
from headway.core.types import GpuBounds


@pytest.mark.parametrize(
    ("bounds", "cluster_gpus", "jobs", "gpus"),
    [
        (GpuBounds(max_gpus=64), 64, 4, 16),
        (GpuBounds(max_gpus=8), 64, 4, 8),
        (GpuBounds(min_gpus=2, max_gpus=8), 4, 10, 2),
        (GpuBounds(max_gpus=64), 16, 100, 1),
        (GpuBounds(max_gpus=16, sizes=(1, 2, 4, 8, 16)), 64, 9, 4),  # a share of 7
        (GpuBounds(min_gpus=4, max_gpus=8, sizes=(4, 8)), 16, 16, 4),
        (GpuBounds(min_gpus=1, max_gpus=8, sizes=(4, 8)), 16, 16, 4),  # no size below: the least
        (GpuBounds(min_gpus=3, max_gpus=8, sizes=(2, 4, 8)), 16, 16, 4),  # that it may hold
    ],
)
def test_fair_share(bounds: GpuBounds, cluster_gpus: int, jobs: int, gpus: int) -> None:
    """Pollux, Eqn. 15, with bounds: min(max, max(min, floor(GPUs/J))), then an allowed size."""
    assert fair_gpus(bounds, cluster_gpus, jobs) == gpus
