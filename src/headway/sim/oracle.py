"""An oracle for experiments: the fit that a job's whole profile gives, known from the start.

No real agent can have it. What exploring costs is the difference to a run with it.
"""

from dataclasses import replace
from typing import final

import numpy as np

from headway.core.model.fit import Fit, fit_profile
from headway.core.model.observations import Observations
from headway.core.types import GradTime, ThroughputKind
from headway.sim.hardware import Hardware
from headway.traces.base import JobProfile, Shape

PER_NODE = (1, 2, 3, 4, 8)
NODES = (1, 2, 3, 4, 8, 16)
BATCHES = 8  # per-GPU batches of each shape, from the least to the most


@final
class Oracle:
    """Fits whole profiles; each is fitted once."""

    def __init__(self, hardware: Hardware) -> None:
        self._hardware = hardware
        self._known: dict[str, Fit] = {}

    def of(self, profile: JobProfile) -> Fit:
        """The fit of all that was measured of this profile."""
        if profile.name not in self._known:
            fitted = fit_profile(_whole(profile))
            self._known[profile.name] = _everywhere(fitted, profile.name, self._hardware)
        return self._known[profile.name]


def _everywhere(fitted: Fit, profile: str, hardware: Hardware) -> Fit:
    """The same with what GPU types and racks make of it."""
    params, slower = fitted.params, hardware.cross_rack_sync
    grads = [
        GradTime(
            gpu_type=gpu_type,
            alpha_grad_s=params.alpha_grad_s / hardware.ratio(profile, gpu_type),
            beta_grad_s=params.beta_grad_s / hardware.ratio(profile, gpu_type),
        )
        for gpu_type in hardware.speeds
    ]
    if slower > 1:
        params = replace(
            params,
            kind=ThroughputKind.RACKED,
            alpha_rack_s=slower * params.alpha_node_s,
            beta_rack_s=slower * params.beta_node_s,
        )
    return replace(fitted, params=params, grad_by_type=tuple(grads))


def _whole(profile: JobProfile) -> Observations:
    """The times on even placements, at per-GPU batches that were measured there."""
    bounds = profile.contract
    batches = np.geomspace(bounds.min_batch_per_gpu, bounds.max_batch_per_gpu, BATCHES).round()
    rows: list[tuple[float, ...]] = []
    for shape in _shapes(profile):
        inside = np.array([m for m in np.unique(batches) if profile.measured(shape, float(m))])
        if inside.size:
            times_s = zip(inside, *profile.times_s(shape, inside), strict=True)
            rows += [(sum(shape), len(shape), *each) for each in times_s]
    gpus, nodes, batch, pass_s, synced_s = np.array(rows, dtype=np.float64).T
    return Observations(
        gpus=gpus.astype(np.int64),
        nodes=nodes.astype(np.int64),
        batch_per_gpu=batch,
        accum_steps=np.zeros(len(rows)),
        grad_s=pass_s,
        step_s=synced_s,
        weight=np.ones(len(rows)),
    )


def _shapes(profile: JobProfile) -> list[Shape]:
    shapes = [(gpus,) * nodes for nodes in NODES for gpus in PER_NODE]
    return [shape for shape in shapes if sum(shape) <= profile.max_gpus]
