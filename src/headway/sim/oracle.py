"""An oracle for experiments: the fit that a job's whole profile gives, known from the start.

No real agent can have it. What exploring costs is the difference to a run with it.
"""

from typing import final

import numpy as np

from headway.core.model.fit import Fit, fit_profile
from headway.core.model.objective import Observations
from headway.traces.base import JobProfile, Shape

PER_NODE = (1, 2, 3, 4, 8)
NODES = (1, 2, 3, 4, 8, 16)
BATCHES = 8  # per-GPU batches of each shape, from the least to the most


@final
class Oracle:
    """Fits whole profiles; each is fitted once."""

    def __init__(self) -> None:
        self._known: dict[str, Fit] = {}

    def of(self, profile: JobProfile) -> Fit:
        """The fit of all that was measured of this profile."""
        if profile.name not in self._known:
            self._known[profile.name] = fit_profile(_whole(profile))
        return self._known[profile.name]


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
