"""What an agent measured of its job's steps."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray, Locality


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
    racks: Int64[IntArray, " observations"] | None = None  # None: nothing is known of racks
    gpu_type: Sequence[str] | None = None  # of each; None: all of one type, which is not told
    error: Float64[FloatArray, " observations"] | None = None  # relative, of the times; None: 0

    @property
    def locality(self) -> Int64[IntArray, " observations"]:
        """``Locality`` of each entry."""
        apart = (self.nodes > 1).astype(np.int64)
        if self.racks is None:
            return apart
        return np.where(apart & (self.racks > 1), int(Locality.SEVERAL_RACKS), apart)

    @property
    def types(self) -> tuple[str, ...]:
        """The GPU types, that of the greatest weight first; none where they are not told."""
        if self.gpu_type is None:
            return ()
        weights: dict[str, float] = {}
        for name, weight in zip(self.gpu_type, self.weight.tolist(), strict=True):
            weights[name] = weights.get(name, 0.0) + weight
        return tuple(sorted(weights, key=lambda name: (-weights[name], name)))

    def type_index(self, types: tuple[str, ...]) -> Int64[IntArray, " observations"]:
        """For each entry, which of these types; the first where it is not told."""
        if self.gpu_type is None:
            return np.zeros(self.gpus.size, dtype=np.int64)
        at = {name: index for index, name in enumerate(types)}
        return np.array([at[name] for name in self.gpu_type], dtype=np.int64)

    @property
    def placements(self) -> tuple[tuple[int, int, int], ...]:
        """GPUs, nodes and locality of each entry."""
        columns = (self.gpus.tolist(), self.nodes.tolist(), self.locality.tolist())
        return tuple(zip(*columns, strict=True))

    def only(self, rows: IntArray | BoolArray) -> Self:
        """Some of the entries."""
        picked = {
            field.name: getattr(self, field.name)[rows]
            for field in fields(self)
            if field.name != "gpu_type" and getattr(self, field.name) is not None
        }
        names = None if self.gpu_type is None else np.array(self.gpu_type)[rows].tolist()
        return replace(self, **picked, gpu_type=names)
