"""MST: the greatest sum of throughputs that shares of time can have."""

from dataclasses import dataclass
from typing import final

import numpy as np

from headway.core.policy.admission import requested_gpus
from headway.core.policy.grid import Grid
from headway.core.policy.remaining import Ahead, batch_size_of
from headway.core.policy.timeshares import ByShares, equal_share
from headway.core.types import Float64, FloatArray


@final
@dataclass(frozen=True)
class Mst(ByShares):
    """Whole shares by throughput for each GPU, of equals to who came first; the last gets a part.

    Throughputs are normalised by what each job would have with as many GPUs as everybody; without
    ``normalised`` they are steps per second, as in the published code, which small steps win.
    """

    normalised: bool = True

    def divide(self, grid: Grid, forecast: Ahead) -> Float64[FloatArray, " jobs"]:
        """A fractional knapsack, which greed solves."""
        width = requested_gpus(grid).astype(np.float64)
        gain = 1.0 / equal_share(grid) if self.normalised else _steps_per_s(grid, forecast)
        order = np.argsort(-gain / width, kind="stable")
        taken = np.minimum(np.cumsum(width[order]), float(grid.capacity.sum()))
        shares = np.zeros(len(width))
        shares[order] = np.diff(taken, prepend=0.0) / width[order]
        return shares


def _steps_per_s(grid: Grid, forecast: Ahead) -> Float64[FloatArray, " jobs"]:
    """At the present batch size; 0 where no work is declared."""
    work = np.array([job.work_examples or job.spec.work_samples or 0 for job in grid.jobs])
    size = np.array([batch_size_of(job) for job in grid.jobs])
    examples_per_s = work * forecast.share[:, 0] / forecast.regime_s[:, 0]
    return np.asarray(examples_per_s / size, dtype=np.float64)
