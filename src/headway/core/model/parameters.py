"""A throughput model as a short vector x, with the priors of what was never tried built in.

theta = basis @ x, and what was never tried has no column of its own, so the priors hold exactly:

- no GPU but one was held: all synchronisation is zero;
- at most two were held: all betas are zero;
- never several nodes: they cost what one node costs; never several GPUs of one node: free;
- never several racks: they cost what several nodes cost;
- a single per-GPU batch was seen on a type of GPU: half of the pass is a fixed cost.

The columns are scaled so that all of x is about 1.
"""

from dataclasses import dataclass

import numpy as np

from headway.core.model.observations import Observations
from headway.core.model.sync import (
    ALPHA_GRAD,
    ALPHAS,
    BETA_GRAD,
    BETA_LOCAL,
    BETA_NODE,
    BETA_RACK,
    GAMMA,
    KIND,
    KINDS,
    MODELS,
    WIDTH,
)
from headway.core.model.throughput import stack, unstack
from headway.core.types import (
    BoolArray,
    Float64,
    FloatArray,
    GradTime,
    Int64,
    IntArray,
    ThroughputKind,
    ThroughputParams,
)

SYNC = tuple(
    column for column in range(WIDTH) if column not in (ALPHA_GRAD, BETA_GRAD, GAMMA, KIND)
)
_BETAS = (BETA_LOCAL, BETA_NODE, BETA_RACK)


@dataclass(frozen=True, slots=True)
class Parametrisation:
    """theta = basis @ x, and a gamma that is the last of x where it is searched.

    Below the rows of theta there are two rows, alpha_grad and beta_grad, for each further type.
    """

    kind: ThroughputKind
    types: tuple[str, ...]  # the first one's pair is in theta; empty: types are not told
    basis: Float64[FloatArray, "rows free"]
    lead: Int64[IntArray, " free"]  # the row that a column stands for

    @property
    def grad_rows(self) -> Int64[IntArray, "types 2"]:
        """Rows of alpha_grad and beta_grad of each type."""
        further = range(WIDTH, self.basis.shape[0], 2)
        return np.array([(ALPHA_GRAD, BETA_GRAD), *((row, row + 1) for row in further)])

    def params(
        self, x: Float64[FloatArray, " free"]
    ) -> tuple[ThroughputParams, tuple[GradTime, ...]]:
        """The model that x stands for, and its pass on each type of GPU."""
        rows = np.asarray(self.basis @ x)
        rows[GAMMA] = max(rows[GAMMA], 1.0)  # 0 where it is not searched
        rows[KIND] = KINDS.index(self.kind)
        grads = [
            GradTime(gpu_type=name, alpha_grad_s=float(alpha_s), beta_grad_s=float(beta_s))
            for name, (alpha_s, beta_s) in zip(self.types, rows[self.grad_rows], strict=False)
        ]
        return unstack(rows[None, :WIDTH])[0], tuple(grads)

    def x(
        self, params: ThroughputParams, grads: tuple[GradTime, ...]
    ) -> Float64[FloatArray, " free"]:
        """The x nearest to a model, which may be of another kind or have seen other types."""
        rows = np.zeros(self.basis.shape[0])
        rows[:WIDTH] = stack([params])[0]
        known = {one.gpu_type: (one.alpha_grad_s, one.beta_grad_s) for one in grads}
        for name, pair in zip(self.types, self.grad_rows, strict=False):
            rows[pair] = known.get(name, (params.alpha_grad_s, params.beta_grad_s))
        return np.asarray(rows[self.lead] / self.basis[self.lead, np.arange(self.lead.size)])


def parametrise(
    seen: Observations, kind: ThroughputKind = ThroughputKind.LINEAR
) -> Parametrisation:
    """The parameters that these observations can tell, each with its scale."""
    columns = _grad_columns(seen)
    together = seen.gpus > 1
    if together.any():
        columns += _sync_columns(seen, kind, together)
        columns.append({GAMMA: 1.0})
    further_types = max(len(seen.types) - 1, 0)
    basis = np.zeros((WIDTH + 2 * further_types, len(columns)))
    for index, column in enumerate(columns):
        for row, scale in column.items():
            basis[row, index] = scale
    lead = np.array([min(column) for column in columns])
    return Parametrisation(kind, seen.types, basis, lead)


def sync_rows(seen: Observations, kind: ThroughputKind) -> Float64[FloatArray, "observations sync"]:
    """What T_sync is multiplied from: one column for each parameter in ``SYNC``."""
    one_each = np.eye(WIDTH)[list(SYNC)]
    gpus, locality = seen.gpus.astype(np.float64)[:, None], seen.locality[:, None]
    return MODELS[kind].sync_s(one_each, gpus, locality, seen.nodes[:, None])


def _grad_columns(seen: Observations) -> list[dict[int, float]]:
    columns: list[dict[int, float]] = []
    index = seen.type_index(seen.types)
    for which in range(max(len(seen.types), 1)):
        rows = index == which
        alpha = ALPHA_GRAD if which == 0 else WIDTH + 2 * (which - 1)
        pass_s = float(np.median(seen.grad_s[rows]))
        batch = float(np.median(seen.batch_per_gpu[rows]))
        if np.ptp(seen.batch_per_gpu[rows]) == 0:
            columns.append({alpha: pass_s / 2, alpha + 1: pass_s / 2 / batch})
        else:
            columns += [{alpha: pass_s}, {alpha + 1: pass_s / batch}]
    return columns


def _sync_columns(
    seen: Observations, kind: ThroughputKind, together: BoolArray
) -> list[dict[int, float]]:
    """A column for each parameter that was told, shared by those that were not and are tied."""
    last_s = seen.step_s - seen.accum_steps * seen.grad_s
    scale_s = float(np.median(np.maximum(last_s, 0.1 * seen.grad_s)[together]))
    reach = dict(zip(SYNC, sync_rows(seen, kind).max(axis=0).tolist(), strict=True))
    further = max(float(seen.gpus.max()) - 2.0, 1.0)
    columns: list[dict[int, float]] = []
    for chain in MODELS[kind].ties:
        shared: dict[int, float] | None = None
        for row in chain:
            if reach[row] > 0:
                shared = {}
                columns.append(shared)
            if shared is not None:
                unit = 1.0 if row in ALPHAS else further if row in _BETAS else max(reach[row], 1.0)
                shared[row] = scale_s / unit
    return columns
