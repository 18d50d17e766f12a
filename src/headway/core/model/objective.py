"""How far a throughput model is from what was observed, with exact gradients.

A model is searched as a short vector x (``parameters``); the passes and the synchronisation are
linear in it.
"""

from dataclasses import dataclass

import numpy as np

from headway.core.model.observations import Observations
from headway.core.model.parameters import SYNC, Parametrisation, sync_rows
from headway.core.model.sync import ALPHAS, GAMMA
from headway.core.types import Float64, FloatArray, Int64, IntArray

_SMOOTH = 1e-4  # relative; below it a residual of the RMSLE counts as its square
_LEAST_S = 1e-12
# What the data leave open is pulled to its prior, so that the minimum is unique: half of a pass is
# fixed cost, synchronisation is free, nothing overlaps. (prior of x, strength)
_GRAD_PULL, _SYNC_PULL, _GAMMA_PULL = (0.5, 1e-7), (0.0, 1e-5), (1.0, 1e-4)
_BETAS = tuple(column for column in SYNC if column not in ALPHAS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """The observations, prepared: T_grad and T_sync are linear in x."""

    grad_rows: Float64[FloatArray, "observations free"]
    sync_rows: Float64[FloatArray, "together free"]
    together: Int64[IntArray, " together"]  # which observations synchronise
    passes_alone: Float64[FloatArray, " observations"]  # passes that do not overlap anything
    share: Float64[FloatArray, " observations"]  # weights, of sum 1
    grad_s: Float64[FloatArray, " observations"]
    step_s: Float64[FloatArray, " observations"]
    prior: Float64[FloatArray, " free"]
    pull: Float64[FloatArray, " free"]
    searches_gamma: bool

    def rmsle(self, x: Float64[FloatArray, " free"]) -> tuple[float, Float64[FloatArray, " free"]]:
        """RMSLE of T_iter (Eqn. 11) plus RMSLE of T_grad, and the gradient by x."""
        grad_s, step_s, by_grad, by_sync, by_gamma = self._predict(x)
        step_loss, d_step = _rms_log(step_s, self.step_s, self.share)
        grad_loss, d_grad = _rms_log(grad_s, self.grad_s, self.share)
        slope = self._by_x(d_step, d_grad, by_grad, by_sync, by_gamma)
        off = x - self.prior
        pull = self.pull * off
        return step_loss + grad_loss + float(pull @ off), slope + 2 * pull

    def relative(
        self, x: Float64[FloatArray, " free"], *, smooth: float, grad_share: float
    ) -> tuple[float, Float64[FloatArray, " free"]]:
        """Mean relative error of T_iter plus ``grad_share`` of that of T_grad, and gradient."""
        grad_s, step_s, by_grad, by_sync, by_gamma = self._predict(x)
        step_loss, d_step = _mean_relative(step_s, self.step_s, self.share, smooth)
        grad_loss, d_grad = _mean_relative(grad_s, self.grad_s, self.share, smooth)
        slope = self._by_x(d_step, grad_share * d_grad, by_grad, by_sync, by_gamma)
        return step_loss + grad_share * grad_loss, slope

    def _predict(
        self, x: Float64[FloatArray, " free"]
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """T_grad, T_iter, and of the last pass the derivatives by T_grad, T_sync and gamma."""
        grad_s = np.maximum(self.grad_rows @ x, _LEAST_S)
        step_s = self.passes_alone * grad_s
        empty = np.zeros(0)
        if self.together.size == 0:
            return grad_s, step_s, empty, empty, empty
        gamma = x[-1]
        last_s = grad_s[self.together]
        sync_s = np.maximum(self.sync_rows @ x, _LEAST_S)
        log_ratio = np.log(sync_s / last_s)
        # log-sum-exp: the longer is taken out of the norm
        tail = np.log1p(np.exp(-gamma * np.abs(log_ratio))) / gamma
        over_grad = np.maximum(log_ratio, 0.0) + tail  # log of (norm / T_grad), and of
        over_sync = over_grad - log_ratio  # (norm / T_sync)
        both_s = last_s * np.exp(over_grad)
        step_s[self.together] += both_s
        by_grad, by_sync = np.exp((1 - gamma) * over_grad), np.exp((1 - gamma) * over_sync)
        by_gamma = -(last_s * by_grad * over_grad + sync_s * by_sync * over_sync) / gamma
        return grad_s, step_s, by_grad, by_sync, by_gamma

    def jacobian(
        self, x: Float64[FloatArray, " free"]
    ) -> tuple[Float64[FloatArray, "observations free"], Float64[FloatArray, "observations free"]]:
        """Derivatives of the logs of T_iter and T_grad by x."""
        grad_s, step_s, by_grad, by_sync, by_gamma = self._predict(x)
        by_step = self.passes_alone[:, None] * self.grad_rows
        if self.together.size:
            both = by_grad[:, None] * self.grad_rows[self.together]
            both += by_sync[:, None] * self.sync_rows
            both[:, -1] += by_gamma
            by_step[self.together] += both
        return by_step / step_s[:, None], self.grad_rows / grad_s[:, None]

    def _by_x(
        self,
        d_step: FloatArray,
        d_grad: FloatArray,
        by_grad: FloatArray,
        by_sync: FloatArray,
        by_gamma: FloatArray,
    ) -> Float64[FloatArray, " free"]:
        through_grad = d_grad + d_step * self.passes_alone
        if self.together.size == 0:
            return np.asarray(through_grad @ self.grad_rows)
        d_last = d_step[self.together]
        through_grad[self.together] += d_last * by_grad
        slope = through_grad @ self.grad_rows + (d_last * by_sync) @ self.sync_rows
        slope[-1] += d_last @ by_gamma
        return np.asarray(slope)


def prepare(seen: Observations, by: Parametrisation, optimism: float = 0.0) -> Objective:
    """Everything about the observations that does not change while x is searched.

    ``optimism`` pulls the cost of each further GPU to zero as well, so that a few slow sizes do
    not make every larger one look hopeless (AdaptDL's objective has such a term, too).
    """
    together = np.flatnonzero(seen.gpus > 1)
    sync = sync_rows(seen.only(together), by.kind)
    used = [index for index, row in enumerate(SYNC) if by.basis[row].any()]
    grad = np.zeros((seen.gpus.size, 2 * len(by.grad_rows)))
    entry, first = np.arange(seen.gpus.size), 2 * seen.type_index(by.types)
    grad[entry, first], grad[entry, first + 1] = 1.0, seen.batch_per_gpu
    pulls = np.array([_pull(int(row)) for row in by.lead])
    pulls[np.isin(by.lead, _BETAS), 1] += optimism
    return Objective(
        grad_rows=grad @ by.basis[by.grad_rows.ravel()],
        sync_rows=sync[:, used] @ by.basis[[SYNC[index] for index in used]],
        together=together,
        passes_alone=np.where(seen.gpus > 1, seen.accum_steps, seen.accum_steps + 1),
        share=seen.weight / seen.weight.sum(),
        grad_s=seen.grad_s,
        step_s=seen.step_s,
        prior=pulls[:, 0],
        pull=pulls[:, 1],
        searches_gamma=together.size > 0,
    )


def _pull(row: int) -> tuple[float, float]:
    if row in SYNC:
        return _SYNC_PULL
    return _GAMMA_PULL if row == GAMMA else _GRAD_PULL


def _rms_log(
    predicted: FloatArray, measured: FloatArray, share: FloatArray
) -> tuple[float, FloatArray]:
    off = np.log(predicted / measured)
    weighed = share * off
    loss = float(np.sqrt(weighed @ off + _SMOOTH**2))
    return loss, weighed / (loss * predicted)


def _mean_relative(
    predicted: FloatArray, measured: FloatArray, share: FloatArray, smooth: float
) -> tuple[float, FloatArray]:
    off = predicted / measured - 1
    size = np.sqrt(off * off + smooth**2)
    return float(share @ size), share * off / (size * measured)
