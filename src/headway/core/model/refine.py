"""The choice of (m, s) on the placement that a job holds, where some of it was measured.

theta_sys is fitted to everything that a job has run and misses single step times by several
percent. That decides which placement is better, but between two batch sizes on one placement the
few percent are all there is. So here the model is bent to what was measured on that very
placement: predicted times are multiplied by measured / predicted, interpolated between the batch
sizes that were tried. A batch that proved slower than promised is left again, and not taken twice.
Real times jump between batch sizes where the model is smooth, so what is far from all that was
tried counts for a little more: a job tries a few sizes around the promised one, which costs it a
few steps.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np

from headway.core.model.efficiency import efficiency
from headway.core.model.goodput import JobModels, allowed, best
from headway.core.model.observations import Observations
from headway.core.model.search import LEAST_PASS_S
from headway.core.model.throughput import grad_time_s, step_time_s
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray, Placement

WORTH_A_CHANGE = 0.01  # predicted gain below which (m, s) stay, where times are exact
CURIOSITY = 0.08  # what a batch at twice or half the nearest one tried may be better than it looks
SURE = 3.0  # standard errors of the difference in time that a change must promise besides
_MOST = 1e18  # more is not told from infinity
_TRIED = 60  # per-GPU batches, in equal ratios, besides what was measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Seconds that passes took on one placement, by per-GPU batch; ascending."""

    batch_per_gpu: Float64[FloatArray, " batches"]
    grad_s: Float64[FloatArray, " batches"]  # of a pass, synchronisation apart
    last_s: Float64[FloatArray, " batches"]  # of the last pass of a step, with it
    error: Float64[FloatArray, " batches"] | None = None  # relative, standard; None: exact
    visit_error: float = 0.0  # that of a first short visit to another batch size

    @classmethod
    def of(
        cls,
        seen: Observations | None,
        at: Placement,
        gpu_type: str | None = None,
        *,
        visit_error: float = 0.0,
    ) -> Self:
        """Those of the observations that were made on this placement, and type if it is told."""
        if seen is None:
            return cls(batch_per_gpu=np.zeros(0), grad_s=np.zeros(0), last_s=np.zeros(0))
        here = (seen.gpus == at.gpus) & (seen.nodes == at.nodes) & (seen.weight > 0)
        if seen.racks is not None:
            here &= seen.racks == at.racks
        if seen.gpu_type is not None and gpu_type is not None:
            here &= np.array(seen.gpu_type) == gpu_type
        batches, entry = np.unique(seen.batch_per_gpu[here], return_inverse=True)
        weight = seen.weight[here]
        last_s = seen.step_s[here] - seen.accum_steps[here] * seen.grad_s[here]
        last_s = np.maximum(last_s, seen.grad_s[here])
        whole = np.bincount(entry, weight, batches.size)
        return cls(
            batch_per_gpu=batches,
            grad_s=np.bincount(entry, weight * seen.grad_s[here], batches.size) / whole,
            last_s=np.bincount(entry, weight * last_s, batches.size) / whole,
            error=_joined(seen.error, here, entry, weight / whole[entry]),
            visit_error=visit_error,
        )


class Refined(NamedTuple):
    """A choice, and its goodput over that of the present one; 1 where that is kept.

    Out of curiosity a choice is made that promises a little less.
    """

    batch_per_gpu: int
    accum_steps: int
    gain: float
    goodput_per_s: float


def refine(
    models: JobModels,
    at: Placement,
    measured: Measured,
    now: tuple[int, int] | None = None,
    *,
    noise_scale_error: float = 0.0,
) -> Refined | None:
    """The (m, s) of the greatest goodput of one job by model and measurements together.

    ``models`` holds that job alone. ``now`` is kept unless another promises more by
    ``WORTH_A_CHANGE`` and by what may be chance, of which the relative standard error of phi is a
    part. None where nothing is feasible.
    """
    m, s = _candidates(models, at, measured, now)
    if not m.size:
        return None
    goodput_per_s = _goodput_per_s(models, at, measured, m, s)
    hoped = goodput_per_s * _hope(measured, m)
    present = None
    # what the contract forbids is no candidate, as just after a resize
    if now is not None and ((m == now[0]) & (s == now[1])).any():
        present = int(np.flatnonzero((m == now[0]) & (s == now[1]))[0])
        slope = _slope_by_noise_scale(models, at.gpus * m * (s + 1))
        doubt = min(noise_scale_error, _MOST) * (slope - slope[present])
        hoped /= 1 + _chance(measured, m, present, doubt)
    found = int(hoped.argmax())
    chosen = Refined(int(m[found]), int(s[found]), 1.0, float(goodput_per_s[found]))
    if present is None:
        return chosen
    return chosen._replace(gain=chosen.goodput_per_s / float(goodput_per_s[present]))


def _hope(measured: Measured, m: Int64[IntArray, " choices"]) -> FloatArray | float:
    """What is far from all that was tried may be better than it looks, as far as a visit tells."""
    if not measured.batch_per_gpu.size:
        return 1.0
    more = CURIOSITY * _unknown(measured, m) - measured.visit_error
    return np.asarray(1 + np.maximum(more, 0.0))


def _unknown(measured: Measured, m: Int64[IntArray, " choices"]) -> Float64[FloatArray, " choices"]:
    """0 for what was tried; up to 1 where all that was is twice or half as large."""
    away = np.abs(np.log2(m)[:, None] - np.log2(measured.batch_per_gpu)).min(axis=1)
    return np.asarray(np.minimum(away, 1.0))


def _slope_by_noise_scale(
    models: JobModels, size: Int64[IntArray, " choices"]
) -> Float64[FloatArray, " choices"]:
    """Of the logarithm of efficiency by that of phi, but for what all sizes have in common."""
    phi = min(float(models.noise_scale[0]), _MOST)
    return np.asarray(-phi / (phi + size))


def _chance(
    measured: Measured,
    m: Int64[IntArray, " choices"],
    present: int,
    doubt: Float64[FloatArray, " choices"],
) -> Float64[FloatArray, " choices"]:
    """By how much more each choice must promise than the present one, which it need not.

    ``doubt``: the relative error of their difference in efficiency, which counts once, as no visit
    makes phi better known. An error of times that both share, as they lie between the same sizes
    tried, does not count, and the less of one the further from those a choice is: there a visit
    tells more than the doubt is worth. It must promise more than that visit may be off.
    """
    more = WORTH_A_CHANGE + np.abs(doubt)
    if measured.error is not None and measured.error.size:
        tried = measured.batch_per_gpu
        unit = np.eye(tried.size)
        share = np.array([np.interp(np.log(m), np.log(tried), one) for one in unit])
        share -= share[:, present][:, None]
        unknown = _unknown(measured, m)
        more += SURE * (1 - unknown) * np.sqrt(measured.error**2 @ share**2)
        more += np.where(unknown > 0, measured.visit_error, 0.0)
    more[present] = 0.0
    return more


def _joined(
    error: FloatArray | None, here: BoolArray, entry: IntArray, share: FloatArray
) -> FloatArray | None:
    """The errors of weighted means."""
    if error is None:
        return None
    return np.sqrt(np.bincount(entry, (share * error[here]) ** 2, int(entry.max(initial=-1)) + 1))


@lru_cache(maxsize=1024)  # a job asks for the same at every look
def _sizes(least: int, most: int) -> Int64[IntArray, " sizes"]:
    """Per-GPU batches in equal ratios."""
    sizes = np.unique(np.geomspace(least, most, _TRIED).round().astype(np.int64))
    sizes.setflags(write=False)
    return sizes


def _candidates(
    models: JobModels, at: Placement, measured: Measured, now: tuple[int, int] | None
) -> tuple[Int64[IntArray, " choices"], Int64[IntArray, " choices"]]:
    """What is worth a look: one pass of any size, or more of them at the memory limit.

    And the best by the model, as long as that is all there is to go by.
    """
    least, most = int(models.min_batch_per_gpu[0]), int(models.max_batch_per_gpu[0])
    single = np.union1d(_sizes(least, most), measured.batch_per_gpu.astype(np.int64))
    passes = np.arange(1, int(models.max_accum_steps[0]) + 1)
    own = [] if now is None else [now]
    if not measured.batch_per_gpu.size:
        found = best(models, [at.gpus], [at.locality], nodes=[at.nodes])
        own.append((int(found.batch_per_gpu[0, 0]), int(found.accum_steps[0, 0])))
    m = np.concatenate([single, np.full(passes.size, most), [one[0] for one in own]])
    s = np.concatenate([np.zeros_like(single), passes, [one[1] for one in own]])
    legal = allowed(models, at.gpus, m, s + 1)[0]
    return m[legal], s[legal]


def _goodput_per_s(
    models: JobModels,
    at: Placement,
    measured: Measured,
    m: Int64[IntArray, " choices"],
    s: Int64[IntArray, " choices"],
) -> Float64[FloatArray, " choices"]:
    size, initial = at.gpus * m * (s + 1), int(models.initial_batch_size[0])
    grad_s, last_s = _predicted_s(models, at, m)
    if measured.batch_per_gpu.size:
        tried = np.log(measured.batch_per_gpu)
        known_s = _predicted_s(models, at, measured.batch_per_gpu)
        for times_s, said_s, seen_s in zip(
            (grad_s, last_s), known_s, (measured.grad_s, measured.last_s), strict=True
        ):
            times_s *= np.exp(np.interp(np.log(m), tried, np.log(seen_s / said_s)))
    worth = efficiency(models.noise_scale[0], initial, size)
    return np.asarray(size / (s * grad_s + last_s) * worth)


def _predicted_s(
    models: JobModels, at: Placement, m: IntArray | FloatArray
) -> tuple[Float64[FloatArray, " choices"], Float64[FloatArray, " choices"]]:
    """Seconds of a pass without and with synchronisation, by the model."""
    theta = models.theta[0]
    grad_s = grad_time_s(theta, m)
    last_s = step_time_s(theta, at.gpus, at.locality, m, 0, nodes=at.nodes)
    return np.maximum(grad_s, LEAST_PASS_S), np.maximum(last_s, LEAST_PASS_S)
