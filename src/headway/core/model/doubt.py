"""Error bars of a fit: how well it knows the step time of a placement.

Gauss-Newton: near its minimum the objective is a sum of squared log residuals, so the inverse of
their squared Jacobian is the covariance of the parameters. Of what the observations leave open
is known that it is non-negative and about as large as its scale.
"""

from dataclasses import dataclass

import numpy as np

from headway.core.model.objective import Objective, prepare
from headway.core.model.observations import Observations
from headway.core.model.parameters import SYNC, Parametrisation, sync_rows
from headway.core.types import Float64, FloatArray, Placement

_LEAST_ERROR = 0.01  # of a measured time, however well the model meets it


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """What a fit does not know."""

    by: Parametrisation
    x: Float64[FloatArray, " free"]
    covariance: Float64[FloatArray, "free free"]
    per_node: int  # the most GPUs of one node that were seen

    def step_error(
        self,
        at: Placement,
        *,
        batch_per_gpu: int,
        accum_steps: int,
        gpu_type: str | None = None,
    ) -> float | None:
        """Relative standard error of a predicted step time; None where part of it is an assumption.

        That is so for a placement unlike any that was tried, and for an untried type of GPU.
        """
        here = _entry(at, batch_per_gpu, accum_steps, gpu_type if self.by.types else None)
        if not set(here.types) <= set(self.by.types):
            return None
        needed = sync_rows(here, self.by.kind)[0] > 0
        if set(np.array(SYNC)[needed].tolist()) - set(self.by.lead.tolist()):
            return None
        slope = prepare(here, self.by).jacobian(self.x)[0][0]
        return float(np.sqrt(slope @ self.covariance @ slope))

    def doubled(self, at: Placement) -> Placement:
        """Twice the GPUs on as few nodes as they would need."""
        gpus = 2 * at.gpus
        return Placement(gpus, -(-gpus // self.per_node), at.racks)


def doubt(
    objective: Objective,
    by: Parametrisation,
    x: Float64[FloatArray, " free"],
    seen: Observations,
    off: tuple[FloatArray, FloatArray],
) -> Doubt:
    """The doubt about a fit, from its log residuals of the step time and of the pass time."""
    share = objective.share
    count = 1 / float(share @ share)  # observations that the weights amount to
    left = max(2 * count - x.size, 1.0)  # degrees of freedom
    precision = np.eye(x.size)
    for slopes, residuals in zip(objective.jacobian(x), off, strict=True):
        variance = float(share @ residuals**2) * 2 * count / left + _LEAST_ERROR**2
        precision += slopes.T @ (slopes * share[:, None]) * count / variance
    per_node = int((-(-seen.gpus // seen.nodes)).max())
    return Doubt(by, x, np.asarray(np.linalg.inv(precision), np.float64), per_node)


def _entry(
    at: Placement, batch_per_gpu: int, accum_steps: int, gpu_type: str | None
) -> Observations:
    one = np.ones(1)
    return Observations(
        gpus=np.array([at.gpus]),
        nodes=np.array([at.nodes]),
        batch_per_gpu=one * batch_per_gpu,
        accum_steps=one * accum_steps,
        grad_s=one,
        step_s=one,
        weight=one,
        racks=np.array([at.racks]),
        gpu_type=None if gpu_type is None else (gpu_type,),
    )
