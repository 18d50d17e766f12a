"""How good forecasts were: their error, and whether their error bars hold what they promise."""

from dataclasses import dataclass

import numpy as np

from headway.core.types import Float64, FloatArray

LEAST_S = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Of forecasts of remaining time whose truth is known by now."""

    forecasts: int
    mean_error: float  # |forecast - truth| / truth
    bias: float  # mean of (forecast - truth) / truth: above 0, forecasts are too long
    within_one: float  # share of truths within one spread; 0.68 if errors were normal
    within_two: float  # 0.95 if errors were normal
    mean_spread: float  # relative to the truth


def calibration(
    remaining_s: Float64[FloatArray, " forecasts"],
    spread_s: Float64[FloatArray, " forecasts"],
    truth_s: Float64[FloatArray, " forecasts"],
    *,
    tolerance: float = 0.0,
) -> Calibration | None:
    """Compare; a truth within the relative ``tolerance`` counts as met. None: no forecasts."""
    if truth_s.size == 0:
        return None
    truth = np.maximum(truth_s, LEAST_S)
    error = np.abs(remaining_s - truth)
    slack = tolerance * truth
    return Calibration(
        forecasts=int(truth_s.size),
        mean_error=float((error / truth).mean()),
        bias=float(((remaining_s - truth) / truth).mean()),
        within_one=float((error <= spread_s + slack).mean()),
        within_two=float((error <= 2 * spread_s + slack).mean()),
        mean_spread=float((spread_s / truth).mean()),
    )
