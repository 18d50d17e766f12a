"""A profile made of a model: a throughput fit and a short table of the noise scale."""

from dataclasses import dataclass
from typing import final

import numpy as np

from headway.core.model.throughput import grad_time_s, overlapped_s, stack, sync_time_s
from headway.core.types import BatchContract, Float64, FloatArray, ThroughputParams
from headway.traces.base import Shape


@final
@dataclass(frozen=True, kw_only=True)
class ModelledProfile:
    """Step times by Pollux's Eqn. 8-11; the noise scale log-linear between what a table holds.

    The table has the noise scale at equal steps of progress, from 0 to the end, in two runs: one
    at the initial batch size, one at the largest. During an epoch it stays as at its start.
    """

    name: str
    contract: BatchContract
    max_gpus: int
    work_examples: float
    epochs: int
    params: ThroughputParams
    noise_at_initial: tuple[float, ...]
    noise_at_largest: tuple[float, ...]
    fit_error: float  # mean relative error of the step times it was fitted to
    max_nodes: int = 16  # the most that the fit has seen

    @property
    def epoch_ends(self) -> tuple[float, ...]:
        """Epochs of equal length."""
        return tuple((epoch + 1) / self.epochs for epoch in range(self.epochs))

    def times_s(
        self, shape: Shape, batches_per_gpu: Float64[FloatArray, " batches"]
    ) -> tuple[Float64[FloatArray, " batches"], Float64[FloatArray, " batches"]]:
        """Seconds of a pass without and with the synchronisation of gradients."""
        theta = stack([self.params])[0]
        pass_s = grad_time_s(theta, batches_per_gpu)
        sync_s = sync_time_s(theta, float(sum(shape)), len(shape) > 1, len(shape))
        return pass_s, overlapped_s(pass_s, sync_s, self.params.gamma)

    def measured(self, shape: Shape, batch_per_gpu: float) -> bool:
        """Whether this lies inside what the fit has seen."""
        bounds = self.contract
        inside = bounds.min_batch_per_gpu <= batch_per_gpu <= bounds.max_batch_per_gpu
        return inside and len(shape) <= self.max_nodes and sum(shape) <= self.max_gpus

    def noise_scales(
        self, batch_sizes: Float64[FloatArray, " batches"]
    ) -> Float64[FloatArray, "epochs batches"]:
        """Log-linear in progress and in the batch size."""
        starts = np.arange(self.epochs) / self.epochs
        table = np.log(np.array([self.noise_at_initial, self.noise_at_largest]))
        at = np.linspace(0.0, 1.0, table.shape[1])
        low, high = (np.interp(starts, at, run) for run in table)
        first, last = self.contract.initial_batch_size, self.contract.max_batch_size
        share = np.log(batch_sizes / first) / max(np.log(last / first), 1e-12)
        share = np.clip(share, 0.0, 1.0)
        noise: FloatArray = np.exp(low[:, None] + (high - low)[:, None] * share)
        return noise
