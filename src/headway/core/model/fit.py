"""Observations -> theta_sys: the model of a job's speed, fitted (Pollux, section 4.1).

RMSLE of the step time plus RMSLE of the pass time, by L-BFGS-B with exact gradients from a fixed
set of starts, the last fit among them. Starts are screened by their value; the best are searched.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isfinite
from typing import NamedTuple

import numpy as np
from scipy.optimize import fmin_l_bfgs_b

from headway.core.model.doubt import Doubt, doubt
from headway.core.model.objective import Objective, prepare
from headway.core.model.observations import Observations
from headway.core.model.parameters import Parametrisation, parametrise
from headway.core.model.sync import ALPHA_GRAD, BETA_GRAD
from headway.core.model.throughput import UNREPORTED, grad_time_s, stack, step_time_s
from headway.core.types import (
    Float64,
    FloatArray,
    GradTime,
    Placement,
    ThroughputKind,
    ThroughputParams,
)

GAMMAS = (1.2, 2.0, 4.0)  # starts: for each, the least-squares parameters at this gamma
PROFILE_GAMMAS = (1.0, 1.5, 2.0, 3.0, 5.0)  # the same for a whole profile
OPTIMISM = 0.02  # for agents, whose few sizes must not keep them from trying larger ones
_MOST_GAMMA = 10.0
_OFF_BOUND = 1e-3  # a start at a bound of zero would not feel a gradient
_SMOOTHING = (0.03, 0.003, 0.0005)  # of the absolute value, from coarse to fine
_LEAST_BEND = 1e-12
_GRAD_SHARE = 0.05  # weight of the pass time when a profile is fitted for its step times

Loss = Callable[[Float64[FloatArray, " free"]], tuple[float, Float64[FloatArray, " free"]]]


class StepErrors(NamedTuple):
    """Relative standard errors of predicted step times; None where one is only assumed."""

    here: float | None
    doubled: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted model. An infinite error means: never fitted, only the prior."""

    params: ThroughputParams = field(default=UNREPORTED)
    error: float = inf  # root mean squared log error of the step time
    converged: bool = False
    message: str = "never fitted"
    grad_by_type: tuple[GradTime, ...] = ()  # where the types of GPUs were told
    held_out_error: float | None = None  # mean relative; None: only one model could be tried
    trouble: str = ""  # why the last attempt failed, in which case everything else is older
    doubt: Doubt | None = field(default=None, compare=False, repr=False)

    def params_on(self, gpu_type: str | None) -> ThroughputParams:
        """The model on GPUs of a type; as it is where nothing is known of the type."""
        for one in self.grad_by_type:
            if one.gpu_type == gpu_type:
                return replace(
                    self.params, alpha_grad_s=one.alpha_grad_s, beta_grad_s=one.beta_grad_s
                )
        return self.params

    def step_errors(
        self, at: Placement, *, batch_per_gpu: int, accum_steps: int, gpu_type: str | None = None
    ) -> StepErrors:
        """How well the step time is known at a placement, and on twice the GPUs."""
        if self.doubt is None or batch_per_gpu < 1:
            return StepErrors(None, None)
        bars = (
            self.doubt.step_error(
                place, batch_per_gpu=batch_per_gpu, accum_steps=accum_steps, gpu_type=gpu_type
            )
            for place in (at, self.doubt.doubled(at))
        )
        return StepErrors(*bars)


def fit(
    observations: Observations,
    previous: Fit | None = None,
    *,
    kind: ThroughputKind = ThroughputKind.LINEAR,
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
    by = parametrise(observations, kind)
    objective = prepare(observations, by, optimism)
    starts = [_start(objective, gamma) for gamma in gammas] if objective.searches_gamma else []
    if not starts:
        starts = [_start(objective, 1.0)]
    if previous is not None and isfinite(previous.error):
        starts.insert(0, by.x(previous.params, previous.grad_by_type))
        searched = 1 if searched is None else searched
    found = _search(objective.rmsle, objective, starts, searched)
    return _judged(found, by, objective, observations, previous)


def fit_profile(
    observations: Observations,
    *,
    kind: ThroughputKind = ThroughputKind.LINEAR,
    gammas: tuple[float, ...] = PROFILE_GAMMAS,
) -> Fit:
    """Fit a whole measured profile offline: the least mean relative error of the step time.

    The minimum of ``fit`` and a fixed grid of gammas are the starts. Slower than ``fit`` and
    less swayed by outliers.
    """
    trouble = _trouble(observations)
    if trouble:
        return _kept(None, trouble)
    by = parametrise(observations, kind)
    objective = prepare(observations, by)
    online = fit(observations, kind=kind)
    starts = [by.x(online.params, online.grad_by_type)]
    if objective.searches_gamma:
        starts += [_start(objective, gamma) for gamma in gammas]
    found = _Found(inf, starts[0], False, "")
    for start in starts:
        here = _Found(inf, start, False, "")
        for smooth in _SMOOTHING:
            loss = partial(objective.relative, smooth=smooth, grad_share=_GRAD_SHARE)
            here = _search(loss, objective, [here.x], None)
        found = here if here.value < found.value else found
    return _judged(found, by, objective, observations, None)


def mean_relative_error(
    params: ThroughputParams, observations: Observations, grads: tuple[GradTime, ...] = ()
) -> float:
    """Mean of \\|predicted / measured - 1\\| of the step time: the error that Pollux states."""
    off = np.abs(relative_errors(params, observations, grads))
    return float(np.average(off, weights=observations.weight))


def relative_errors(
    params: ThroughputParams, observations: Observations, grads: tuple[GradTime, ...] = ()
) -> Float64[FloatArray, " observations"]:
    """Predicted over measured step time, less 1."""
    _, predicted_s = _predicted_s(params, grads, observations)
    return predicted_s / observations.step_s - 1


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
    low, high = np.zeros(free), np.full(free, inf)
    if objective.searches_gamma:
        low[-1], high[-1] = 1.0, _MOST_GAMMA
    least = np.full(free, _OFF_BOUND)
    starts = [np.maximum(start, least) for start in starts]
    if searched is not None:
        starts = sorted(starts, key=lambda start: loss(start)[0])[:searched]
    found = _Found(inf, starts[0], False, "no start could be evaluated")
    for start in starts:
        unit = _units(objective, start)
        x, value, info = fmin_l_bfgs_b(
            partial(_scaled, loss, unit),
            start / unit,
            bounds=list(zip(low / unit, high / unit, strict=True)),
            factr=1e7,
            pgtol=1e-6,
        )
        if value < found.value:
            found = _Found(float(value), x * unit, info["warnflag"] == 0, str(info["task"]))
    return found


def _units(objective: Objective, x: Float64[FloatArray, " free"]) -> Float64[FloatArray, " free"]:
    """What of each parameter changes the times by as much: seconds and seconds per example differ.

    In these units a fit of workload-6 takes a fifth fewer evaluations, and more find the minimum.
    """
    by_step, by_grad = objective.jacobian(x)
    bend = objective.share @ (by_step**2 + by_grad**2) + objective.pull
    return np.asarray(1 / np.sqrt(np.maximum(bend, _LEAST_BEND)))


def _scaled(
    loss: Loss, unit: Float64[FloatArray, " free"], y: Float64[FloatArray, " free"]
) -> tuple[float, Float64[FloatArray, " free"]]:
    value, slope = loss(y * unit)
    return value, slope * unit


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


def _predicted_s(
    params: ThroughputParams, grads: tuple[GradTime, ...], seen: Observations
) -> tuple[FloatArray, FloatArray]:
    """T_grad and T_iter as the model has them."""
    theta = np.repeat(stack([params]), seen.gpus.size, axis=0)
    pairs = {one.gpu_type: (one.alpha_grad_s, one.beta_grad_s) for one in grads}
    if pairs and seen.gpu_type is not None:
        theta[:, [ALPHA_GRAD, BETA_GRAD]] = [pairs[name] for name in seen.gpu_type]
    m, s = seen.batch_per_gpu, seen.accum_steps
    step_s = step_time_s(theta, seen.gpus, seen.locality, m, s, nodes=seen.nodes)
    return grad_time_s(theta, m), step_s


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
        return Fit(message=f"no fit: {why}", trouble=why)
    return replace(previous, converged=False, message=f"kept the last fit: {why}", trouble=why)


def _judged(
    found: _Found,
    by: Parametrisation,
    objective: Objective,
    seen: Observations,
    previous: Fit | None,
) -> Fit:
    if not (isfinite(found.value) and np.isfinite(found.x).all()):
        return _kept(previous, f"the search failed ({found.message})")
    params, grads = by.params(found.x)
    grad_s, step_s = _predicted_s(params, grads, seen)
    off, grad_off = np.log(step_s / seen.step_s), np.log(grad_s / seen.grad_s)
    return Fit(
        params=params,
        error=float(np.sqrt(np.average(off**2, weights=seen.weight))),
        converged=found.converged,
        message=found.message,
        grad_by_type=grads,
        doubt=doubt(objective, by, found.x, seen, (off, grad_off)),
    )
