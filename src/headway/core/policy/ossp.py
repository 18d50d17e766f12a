"""OSSP: the shortest horizon in which all jobs can end (open shop, with preemption)."""

from dataclasses import dataclass
from typing import final

from headway.core.policy.admission import requested_gpus
from headway.core.policy.grid import Grid
from headway.core.policy.remaining import Ahead
from headway.core.policy.timeshares import ByShares
from headway.core.types import Float64, FloatArray


@final
@dataclass(frozen=True)
class Ossp(ByShares):
    """Each job has the share of time in which it ends exactly at the horizon.

    That is the greater of the longest remaining time and all remaining work over all GPUs, which
    everybody can meet where jobs may be preempted.
    """

    def divide(self, grid: Grid, forecast: Ahead) -> Float64[FloatArray, " jobs"]:
        """Remaining time over the horizon."""
        left_s, width = forecast.left_s, requested_gpus(grid)
        gpus = max(float(grid.capacity.sum()), 1.0)
        horizon_s = max(float(left_s.max(initial=0.0)), float(width @ left_s) / gpus)
        return left_s / horizon_s
