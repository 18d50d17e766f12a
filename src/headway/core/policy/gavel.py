"""Gavel: shares of time by lexicographic max-min fairness (OSDI'20), in rounds by priority."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from headway.core.policy.admission import requested_gpus
from headway.core.policy.grid import Grid
from headway.core.policy.remaining import Ahead
from headway.core.policy.timeshares import ByShares, equal_share
from headway.core.solve.maxmin import max_min_shares
from headway.core.types import Float64, FloatArray


@final
@dataclass(frozen=True)
class Gavel(ByShares):
    """Maximise the least normalised throughput, then the next least, by linear programs.

    A job's throughput is its share of time times its speed; it is measured by what it would have
    with as many GPUs as everybody, and by the owner's weight. With one type of GPU speeds cancel.
    What was received is counted anew at every division, as in the published code.

    On Shockwave's 32-GPU trace 31,849 s makespan and 8,394 s average JCT (published code without
    its delay: 31,888 and 9,246); with a delay of 1,000 s 32,949 and 11,220 (33,208 and 11,274).
    """

    clears: ClassVar[bool] = True

    def divide(self, grid: Grid, forecast: Ahead) -> Float64[FloatArray, " jobs"]:
        """Water-filling of x_j / (equal share x weight)."""
        weight = np.array([job.spec.weight for job in grid.jobs])
        width = requested_gpus(grid).astype(np.float64)
        gain = 1.0 / (equal_share(grid) * weight)
        return max_min_shares(gain, width, float(grid.capacity.sum()))
