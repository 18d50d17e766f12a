"""Observations -> theta_sys: the model of a job's speed, fitted (Pollux, section 4.1).

RMSLE of the step time plus RMSLE of the pass time, by L-BFGS-B with exact gradients from a fixed
set of starts, the last fit among them. Starts are screened by their value; the best are searched.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isfinite

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from headway.core.model.objective import (
    Objective,
    Observations,
    Parametrisation,
    parametrise,
    prepare,
)
from headway.core.model.throughput import UNREPORTED, stack, step_time_s, unstack
from headway.core.types import Float64, FloatArray, ThroughputParams

GAMMAS = (1.2, 2.0, 4.0)  # starts: for each, the least-squares parameters at this gamma
OPTIMISM = 0.02  # for agents, whose few sizes must not keep them from trying larger ones
_MOST_GAMMA = 10.0
_OFF_BOUND = 1e-3  # a start at a bound of zero would not feel a gradient
_SMOOTHING = (0.03, 0.003)  # of the absolute value, from coarse to fine
_GRAD_SHARE = 0.25  # weight of the pass time when a profile is fitted for its step times

Loss = Callable[[Float64[FloatArray, " free"]], tuple[float, Float64[FloatArray, " free"]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted model. An infinite error means: never fitted, only the prior."""

    params: ThroughputParams = field(default=UNREPORTED)
    error: float = inf  # root mean squared log error of the step time
    converged: bool = False
    message: str = "never fitted"


def fit(
    observations: Observations,
    previous: Fit | None = None,
    *,
    gammas: tuple[float, ...] = GAMMAS,
    searched: int | None = None,
    optimism: float = 0.0,
) -> Fit:
    """Fit theta_sys; where that fails, the previous fit with a message that says so.

    ``searched`` starts are followed to their minimum: by default one of the screened ones when
    there is a previous fit, all of them when there is none. Who explores gives ``optimism``
    (``OPTIMISM``): what the observations hardly tell of larger sizes is then taken for better.
    """
    trouble = _trouble(observations)
    if trouble:
        return _kept(previous, trouble)
    by = parametrise(observations)
    objective = prepare(observations, by, optimism)
    starts = [_start(objective, gamma) for gamma in gammas] if objective.searches_gamma else []
    if not starts:
        starts = [_start(objective, 1.0)]
    if previous is not None and isfinite(previous.error):
        starts.insert(0, by.x(stack([previous.params])[0]))
        searched = 1 if searched is None else searched
    found = _search(objective.rmsle, objective, starts, searched)
    return _judged(found, by, observations, previous)


def fit_profile(observations: Observations) -> Fit:
    """Fit a whole measured profile offline: the least mean relative error of the step time.

    The minimum of ``fit`` and a fixed grid of gammas are the starts. Slower than ``fit`` and
    less swayed by outliers.
    """
    trouble = _trouble(observations)
    if trouble:
        return _kept(None, trouble)
    by = parametrise(observations)
    objective = prepare(observations, by)
    starts = [by.x(stack([fit(observations).params])[0])]
    starts += [_start(objective, gamma) for gamma in (1.0, 1.5, 2.0, 3.0, 5.0)]
    found = _Found(inf, starts[0], False, "")
    for start in starts:
        here = _Found(inf, start, False, "")
        for smooth in _SMOOTHING:
            loss = partial(objective.relative, smooth=smooth, grad_share=_GRAD_SHARE)
            here = _search(loss, objective, [here.x], None)
        found = here if here.value < found.value else found
    return _judged(found, by, observations, None)


def mean_relative_error(params: ThroughputParams, observations: Observations) -> float:
    """Mean of \\|predicted / measured - 1\\| of the step time: the error that Pollux states."""
    predicted_s = _predicted_s(params, observations)
    off = np.abs(predicted_s / observations.step_s - 1)
    return float(np.average(off, weights=observations.weight))


@dataclass(frozen=True, slots=True)
class _Found:
    value: float
    x: Float64[FloatArray, " free"]
    converged: bool
    message: str


def _search(
    loss: Loss,
    objective: Objective,
    starts: list[Float64[FloatArray, " free"]],
    searched: int | None,
) -> _Found:
    """The least minimum reached from the best starts."""
    free = objective.prior.size
    upper = [None] * free
    lower = [0.0] * free
    bounds: list[tuple[float, float | None]] = list(zip(lower, upper, strict=True))
    if objective.searches_gamma:
        bounds[-1] = (1.0, _MOST_GAMMA)
    least = np.full(free, _OFF_BOUND)
    starts = [np.maximum(start, least) for start in starts]
    if searched is not None:
        starts = sorted(starts, key=lambda start: loss(start)[0])[:searched]
    found = _Found(inf, starts[0], False, "no start could be evaluated")
    for start in starts:
        x, value, info = fmin_l_bfgs_b(loss, start, bounds=bounds, factr=1e7, pgtol=1e-6)
        if value < found.value:
            found = _Found(float(value), x, info["warnflag"] == 0, str(info["task"]))
    return found


def _start(objective: Objective, gamma: float) -> Float64[FloatArray, " free"]:
    """Least squares of relative residuals: of T_grad, then of the T_sync that gamma implies."""
    x = _least_squares(objective.grad_rows, objective.grad_s)
    if not objective.searches_gamma:
        return x
    rows = objective.together
    grad_s = objective.grad_s[rows]
    last_s = objective.step_s[rows] - objective.passes_alone[rows] * grad_s
    ratio = np.maximum(last_s / grad_s, 1.01)
    sync_s = grad_s * (ratio**gamma - 1) ** (1 / gamma)
    both = x + _least_squares(objective.sync_rows, sync_s)
    both[-1] = gamma
    return both


def _least_squares(
    rows: Float64[FloatArray, "observations free"], measured_s: FloatArray
) -> Float64[FloatArray, " free"]:
    relative = rows / measured_s[:, None]
    solution = np.linalg.lstsq(relative, np.ones(measured_s.size), rcond=1e-9)[0]
    return np.asarray(np.maximum(solution, 0.0))


def _predicted_s(params: ThroughputParams, seen: Observations) -> FloatArray:
    theta = stack([params])
    return step_time_s(theta, seen.gpus, seen.nodes > 1, seen.batch_per_gpu, seen.accum_steps)


def _trouble(seen: Observations) -> str:
    """Why these observations cannot be fitted; empty if they can."""
    if seen.step_s.size == 0 or not seen.weight.any():
        return "nothing was observed"
    if not np.isfinite(seen.weight).all() or (seen.weight < 0).any():
        return "a weight is not a number from 0 up"
    numbers = (seen.grad_s, seen.step_s, seen.batch_per_gpu)
    if not all(np.isfinite(values).all() and (values > 0).all() for values in numbers):
        return "a measured time or batch is not a positive number"
    return ""


def _kept(previous: Fit | None, why: str) -> Fit:
    if previous is None:
        return Fit(message=f"no fit: {why}")
    return replace(previous, converged=False, message=f"kept the last fit: {why}")


def _judged(found: _Found, by: Parametrisation, seen: Observations, previous: Fit | None) -> Fit:
    if not (isfinite(found.value) and np.isfinite(found.x).all()):
        return _kept(previous, f"the search failed ({found.message})")
    params = unstack(by.theta(found.x)[None])[0]
    off = np.log(_predicted_s(params, seen) / seen.step_s)
    error = float(np.sqrt(np.average(off**2, weights=seen.weight)))
    return Fit(params=params, error=error, converged=found.converged, message=found.message)
