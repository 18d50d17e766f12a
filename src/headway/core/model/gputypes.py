"""T_grad on GPUs of a type: what was fitted there, or what was fitted elsewhere and a ratio."""

from collections.abc import Mapping, Sequence
from math import log

import numpy as np

from headway.core.model.sync import ALPHA_GRAD, BETA_GRAD, Theta
from headway.core.types import Float64, FloatArray, JobReport


def pairs(
    theta: Theta, reports: Sequence[JobReport | None], gpu_type: str, speed: Mapping[str, float]
) -> Float64[FloatArray, "jobs 2"]:
    """alpha_grad and beta_grad of each job on GPUs of one type.

    A pair that was fitted there stands. Otherwise that of a known type is scaled by the ratio of
    the types' speeds: of the type whose speed is nearest, so that the ratio has least to say. A job
    that never reported is scaled from the speed 1; one that told no types is not scaled at all.
    """
    found = np.array(theta[:, [ALPHA_GRAD, BETA_GRAD]])
    wanted = speed.get(gpu_type, 1.0)
    for row, report in enumerate(reports):
        if report is None:
            found[row] /= wanted
        elif report.grad_by_type:
            found[row] = _pair(report, gpu_type, speed)
    return found


def _pair(report: JobReport, gpu_type: str, speed: Mapping[str, float]) -> tuple[float, float]:
    wanted = speed.get(gpu_type, 1.0)

    def distance(known: str) -> tuple[bool, float, str]:
        return known != gpu_type, abs(log(speed.get(known, 1.0) / wanted)), known

    nearest = min(report.grad_by_type, key=lambda one: distance(one.gpu_type))
    ratio = 1.0
    if nearest.gpu_type != gpu_type:
        ratio = speed.get(nearest.gpu_type, 1.0) / wanted
    return nearest.alpha_grad_s * ratio, nearest.beta_grad_s * ratio
