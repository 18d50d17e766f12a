"""Seconds of a pass, a synchronisation and a step, and examples per second (Pollux, Eqn. 8-11)."""

from collections.abc import Sequence
from dataclasses import fields
from operator import attrgetter

import numpy as np

from headway.core.types import BoolArray, Float64, FloatArray, IntArray, ThroughputParams

Numbers = FloatArray | IntArray | float
PARAMETERS = tuple(field.name for field in fields(ThroughputParams))  # columns of a theta array
_row = attrgetter(*PARAMETERS)
_ALPHA_GRAD, _BETA_GRAD, _ALPHA_LOCAL, _BETA_LOCAL, _ALPHA_NODE, _BETA_NODE, _GAMMA = range(7)

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


def stack(params: Sequence[ThroughputParams]) -> Float64[FloatArray, "jobs 7"]:
    """One row a job, columns in the order of the fields of ``ThroughputParams``."""
    rows = [_row(one) for one in params]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(PARAMETERS))


def unstack(theta: Float64[FloatArray, "jobs 7"]) -> tuple[ThroughputParams, ...]:
    """The inverse of ``stack``."""
    return tuple(
        ThroughputParams(**dict(zip(PARAMETERS, row, strict=True))) for row in theta.tolist()
    )


def grad_time_s(theta: Float64[FloatArray, "*any 7"], batch_per_gpu: Numbers) -> FloatArray:
    """T_grad(m): seconds of one pass (Pollux, Eqn. 8). The last axis of theta is consumed."""
    beta_s = np.asarray(theta[..., _BETA_GRAD] * batch_per_gpu)
    return np.asarray(theta[..., _ALPHA_GRAD] + beta_s)


def sync_time_s(
    theta: Float64[FloatArray, "*any 7"], gpus: Numbers, several_nodes: BoolArray
) -> FloatArray:
    """T_sync(K, N): seconds of one gradient synchronisation (Pollux, Eqn. 9)."""
    gpus = np.asarray(gpus, dtype=np.float64)
    further = np.maximum(gpus - 2, 0)
    local_s = theta[..., _ALPHA_LOCAL] + theta[..., _BETA_LOCAL] * further
    node_s = theta[..., _ALPHA_NODE] + theta[..., _BETA_NODE] * further
    return np.where(gpus <= 1, 0.0, np.where(several_nodes, node_s, local_s))


def overlapped_s(grad_s: Numbers, sync_s: Numbers, gamma: Numbers) -> FloatArray:
    """Seconds of the last pass and the synchronisation together: their gamma-norm (Eqn. 11).

    gamma 1 adds them, infinity takes the longer. The longer is factored out, so that no power
    overflows and a synchronisation of zero costs nothing.
    """
    longer_s = np.maximum(grad_s, sync_s)
    ratio = np.minimum(grad_s, sync_s) / np.where(longer_s > 0, longer_s, 1.0)
    return np.asarray(longer_s * np.exp(np.log1p(ratio ** np.asarray(gamma)) / gamma))


def step_time_s(
    theta: Float64[FloatArray, "*any 7"],
    gpus: Numbers,
    several_nodes: BoolArray,
    batch_per_gpu: Numbers,
    accum_steps: Numbers,
) -> FloatArray:
    """T_iter(K, N, m, s): seconds of one optimizer step (Pollux, Eqn. 11)."""
    grad_s = grad_time_s(theta, batch_per_gpu)
    sync_s = sync_time_s(theta, gpus, several_nodes)
    last_s = overlapped_s(grad_s, sync_s, theta[..., _GAMMA])
    return np.asarray(accum_steps * grad_s + last_s)


def throughput_per_s(
    theta: Float64[FloatArray, "*any 7"],
    gpus: Numbers,
    several_nodes: BoolArray,
    batch_per_gpu: Numbers,
    accum_steps: Numbers,
) -> FloatArray:
    """Examples per second: M / T_iter with M = K m (s + 1)."""
    batch_size = np.asarray(gpus) * np.asarray(batch_per_gpu) * (np.asarray(accum_steps) + 1)
    step_s = step_time_s(theta, gpus, several_nodes, batch_per_gpu, accum_steps)
    return np.asarray(batch_size / step_s)
