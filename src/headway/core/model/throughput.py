"""Seconds of a pass, a synchronisation and a step, and examples per second (Pollux, Eqn. 8-11).

Parameters of many jobs are one array, theta, whose last column says of which kind its row is; with
Pollux's seven columns alone it is linear.
Where a job is, is said by its GPUs, a locality (``Locality``, or a bool for "several nodes"), and
the number of nodes: one or two where it is not given.
"""

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter

import numpy as np
from numpy.typing import ArrayLike

from headway.core.model.sync import (
    ALPHA_GRAD,
    BETA_GRAD,
    GAMMA,
    KIND,
    KINDS,
    LINEAR,
    MODELS,
    WIDTH,
    Theta,
)
from headway.core.types import Float64, FloatArray, IntArray, ThroughputParams

Numbers = FloatArray | IntArray | float
PARAMETERS = tuple(field.name for field in fields(ThroughputParams) if field.name != "kind")
_row = attrgetter(*PARAMETERS)
_CODES = {kind: float(code) for code, kind in enumerate(KINDS)}

# What is assumed of a job that never reported: no synchronisation, and a pass as long as its batch.
# So it scales perfectly, in seconds of its own.
UNREPORTED = ThroughputParams(
    alpha_grad_s=0.0,
    beta_grad_s=1.0,
    alpha_local_s=0.0,
    beta_local_s=0.0,
    alpha_node_s=0.0,
    beta_node_s=0.0,
    gamma=1.0,
)


def stack(params: Sequence[ThroughputParams]) -> Float64[FloatArray, "jobs 12"]:
    """One row a job: its parameters in the order of ``PARAMETERS``, then its kind."""
    rows = [(*_row(one), _CODES[one.kind]) for one in params]
    return np.array(rows, dtype=np.float64).reshape(len(rows), WIDTH)


def unstack(theta: Float64[FloatArray, "jobs 12"]) -> tuple[ThroughputParams, ...]:
    """The inverse of ``stack``."""
    return tuple(
        ThroughputParams(**dict(zip(PARAMETERS, row, strict=True)), kind=KINDS[int(code)])
        for *row, code in theta.tolist()
    )


def narrow(theta: Float64[FloatArray, "jobs any"]) -> Float64[FloatArray, "jobs columns"]:
    """Without what linear models do not use where all are linear: rows are often repeated."""
    return theta if theta[:, KIND:].any() else theta[:, : GAMMA + 1]


def grad_time_s(theta: Theta, batch_per_gpu: Numbers) -> FloatArray:
    """T_grad(m): seconds of one pass (Pollux, Eqn. 8). The last axis of theta is consumed."""
    beta_s = np.asarray(theta[..., BETA_GRAD] * batch_per_gpu)
    return np.asarray(theta[..., ALPHA_GRAD] + beta_s)


def sync_time_s(
    theta: Theta, gpus: ArrayLike, locality: ArrayLike, nodes: ArrayLike | None = None
) -> FloatArray:
    """T_sync: seconds of one gradient synchronisation (Pollux, Eqn. 9), by each row's own model."""
    count = np.asarray(gpus, dtype=np.float64)
    level = np.asarray(locality, dtype=np.int64)
    over = np.where(level > 0, 2, 1) if nodes is None else np.asarray(nodes, dtype=np.int64)
    if theta.shape[-1] <= KIND:
        return LINEAR.sync_s(theta, count, level, over)
    kinds = theta[..., KIND]
    present = np.unique(kinds).astype(np.int64).tolist() or [0]
    parts = [MODELS[KINDS[code]].sync_s(theta, count, level, over) for code in present]
    if len(parts) == 1:
        return parts[0]
    return np.select([kinds == code for code in present], parts, default=0.0)


def overlapped_s(grad_s: Numbers, sync_s: Numbers, gamma: Numbers) -> FloatArray:
    """Seconds of the last pass and the synchronisation together: their gamma-norm (Eqn. 11).

    gamma 1 adds them, infinity takes the longer. The longer is factored out, so that no power
    overflows and a synchronisation of zero costs nothing.
    """
    longer_s = np.maximum(grad_s, sync_s)
    ratio = np.minimum(grad_s, sync_s) / np.where(longer_s > 0, longer_s, 1.0)
    return np.asarray(longer_s * np.exp(np.log1p(ratio ** np.asarray(gamma)) / gamma))


def step_time_s(
    theta: Theta,
    gpus: ArrayLike,
    locality: ArrayLike,
    batch_per_gpu: Numbers,
    accum_steps: Numbers,
    *,
    nodes: ArrayLike | None = None,
) -> FloatArray:
    """T_iter(K, N, m, s): seconds of one optimizer step (Pollux, Eqn. 11)."""
    grad_s = grad_time_s(theta, batch_per_gpu)
    sync_s = sync_time_s(theta, gpus, locality, nodes)
    last_s = overlapped_s(grad_s, sync_s, theta[..., GAMMA])
    return np.asarray(accum_steps * grad_s + last_s)


def throughput_per_s(
    theta: Theta,
    gpus: ArrayLike,
    locality: ArrayLike,
    batch_per_gpu: Numbers,
    accum_steps: Numbers,
    *,
    nodes: ArrayLike | None = None,
) -> FloatArray:
    """Examples per second: M / T_iter with M = K m (s + 1)."""
    batch_size = np.asarray(gpus) * np.asarray(batch_per_gpu) * (np.asarray(accum_steps) + 1)
    step_s = step_time_s(theta, gpus, locality, batch_per_gpu, accum_steps, nodes=nodes)
    return np.asarray(batch_size / step_s)
