"""How far a throughput model is from what was observed, with exact gradients.

A model is searched as a short vector x: theta = base + basis @ x. What was never tried has no
column of its own, so the priors hold exactly:

- no GPU but one was held: all synchronisation is zero;
- at most two were held: both betas are zero;
- never several nodes: they cost what one node costs; never several GPUs of one node: free;
- a single per-GPU batch was seen: half of the pass is a fixed cost.

The columns are scaled so that all of x is about 1.
"""

from dataclasses import dataclass

import numpy as np

from headway.core.types import Float64, FloatArray, Int64, IntArray

_SMOOTH = 1e-4  # relative; below it a residual of the RMSLE counts as its square
_LEAST_S = 1e-12
# What the data leave open is pulled to its prior, so that the minimum is unique: half of a pass is
# fixed cost, synchronisation is free, nothing overlaps. (prior of x, strength)
_GRAD_PULL, _SYNC_PULL, _GAMMA_PULL = (0.5, 1e-7), (0.0, 1e-5), (1.0, 1e-4)
_GRAD, _SYNC, _GAMMA = slice(0, 2), slice(2, 6), 6
_BETAS = (3, 5)  # of the synchronisation


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What an agent measured, one entry a configuration (or a step)."""

    gpus: Int64[IntArray, " observations"]
    nodes: Int64[IntArray, " observations"]
    batch_per_gpu: Float64[FloatArray, " observations"]
    accum_steps: Float64[FloatArray, " observations"]
    grad_s: Float64[FloatArray, " observations"]  # seconds of one pass, synchronisation apart
    step_s: Float64[FloatArray, " observations"]  # seconds of the whole step
    weight: Float64[FloatArray, " observations"]  # recent and repeated ones weigh more


@dataclass(frozen=True, slots=True)
class Parametrisation:
    """theta = basis @ x, and a gamma that is the last of x where it is searched."""

    basis: Float64[FloatArray, "7 free"]
    lead: Int64[IntArray, " free"]  # the row of theta that a column stands for

    def theta(self, x: Float64[FloatArray, " free"]) -> Float64[FloatArray, " 7"]:
        theta = np.asarray(self.basis @ x)
        theta[_GAMMA] = max(theta[_GAMMA], 1.0)  # 0 where it is not searched
        return theta

    def x(self, theta: Float64[FloatArray, " 7"]) -> Float64[FloatArray, " free"]:
        return np.asarray(theta[self.lead] / self.basis[self.lead, np.arange(self.lead.size)])


def parametrise(seen: Observations) -> Parametrisation:
    """The parameters that these observations can tell, each with its scale."""
    pass_s, batch = float(np.median(seen.grad_s)), float(np.median(seen.batch_per_gpu))
    columns: list[dict[int, float]] = [{0: pass_s}, {1: pass_s / batch}]
    if np.ptp(seen.batch_per_gpu) == 0:
        columns = [{0: pass_s / 2, 1: pass_s / 2 / batch}]
    together, apart = seen.gpus > 1, seen.nodes > 1
    if together.any():
        last_s = seen.step_s - seen.accum_steps * seen.grad_s
        scale_s = float(np.median(np.maximum(last_s, 0.1 * seen.grad_s)[together]))
        further = max(float(seen.gpus.max()) - 2.0, 1.0)
        local, node = together & ~apart, together & apart
        columns += _pair(2, scale_s, bool(local.any()), bool(node.any()))
        more_local, more_node = (bool((seen.gpus[rows] > 2).any()) for rows in (local, node))
        columns += _pair(3, scale_s / further, more_local, more_node)
        columns.append({_GAMMA: 1.0})
    basis = np.zeros((7, len(columns)))
    for index, column in enumerate(columns):
        for row, scale in column.items():
            basis[row, index] = scale
    return Parametrisation(basis, np.array([min(column) for column in columns]))


def _pair(local: int, scale_s: float, seen_local: bool, seen_node: bool) -> list[dict[int, float]]:
    node = local + 2
    if seen_local and seen_node:
        return [{local: scale_s}, {node: scale_s}]
    if seen_local:
        return [{local: scale_s, node: scale_s}]
    return [{node: scale_s}] if seen_node else []


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
    further = np.maximum(seen.gpus[together] - 2.0, 0.0)
    apart = (seen.nodes[together] > 1).astype(np.float64)
    sync = np.stack([1 - apart, (1 - apart) * further, apart, apart * further], axis=1)
    grad = np.stack([np.ones_like(seen.batch_per_gpu), seen.batch_per_gpu], axis=1)
    kinds = np.searchsorted([_SYNC.start, _GAMMA], by.lead, side="right")
    pulls = np.array([_GRAD_PULL, _SYNC_PULL, _GAMMA_PULL])[kinds]
    pulls[np.isin(by.lead, _BETAS), 1] += optimism
    return Objective(
        grad_rows=grad @ by.basis[_GRAD],
        sync_rows=sync @ by.basis[_SYNC],
        together=together,
        passes_alone=np.where(seen.gpus > 1, seen.accum_steps, seen.accum_steps + 1),
        share=seen.weight / seen.weight.sum(),
        grad_s=seen.grad_s,
        step_s=seen.step_s,
        prior=pulls[:, 0],
        pull=pulls[:, 1],
        searches_gamma=together.size > 0,
    )


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
