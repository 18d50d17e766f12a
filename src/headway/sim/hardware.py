"""What differs from place to place in truth: GPU types by model, racks. Only the simulator knows.

A profile is measured on one GPU type. On another a pass takes the time that a ratio says, one for
each model, and what synchronisation adds to a pass stays as measured; across racks that is longer
by a factor. Where no ratio is known, the nominal speeds of the types are the truth.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, final

from headway.core.errors import InvalidInputError
from headway.core.ids import NodeId
from headway.core.types import Allocation, Float64, FloatArray, Node
from headway.traces.base import JobProfile, Shape


class Site(NamedTuple):
    """Where a job runs, as far as its speed depends on it."""

    shape: Shape = ()
    gpu_type: str = "gpu"
    racks: int = 1  # that it spans


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """True speeds; by default all GPUs are alike and racks do not matter."""

    speeds: Mapping[str, float] = field(default_factory=dict)  # nominal, by GPU type; else 1
    measured_on: str | None = None  # the GPU type of the profiles; None: one of nominal speed 1
    ratios: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # by type, profile
    cross_rack_sync: float = 1.0  # synchronisation across racks over that inside of one
    racks: Mapping[NodeId, str | None] = field(default_factory=dict)  # where nodes do not tell

    def rack_of(self, node: Node) -> str | None:
        """Where a node really stands."""
        return self.racks.get(node.node_id, node.rack)

    def site(self, allocation: Allocation, nodes: Mapping[NodeId, Node]) -> Site:
        """Where a job runs; the GPU type is that of its first node, for all are of one."""
        held = [nodes[node_id] for node_id, _ in allocation.per_node]
        racks = {self.rack_of(node) for node in held}
        shape = tuple(count for _, count in allocation.per_node)
        return Site(shape, held[0].gpu_type, len(racks)) if held else Site()

    def ratio(self, profile: str, gpu_type: str) -> float:
        """Speed of a model's passes on a type over that on the type it was measured on."""
        if gpu_type == self.measured_on:
            return 1.0
        known = self.ratios.get(gpu_type, {}).get(profile)
        if known is not None:
            return known
        measured = 1.0 if self.measured_on is None else self.speeds.get(self.measured_on, 1.0)
        return self.speeds.get(gpu_type, 1.0) / measured

    def times_s(
        self, profile: JobProfile, site: Site, batches_per_gpu: Float64[FloatArray, " batches"]
    ) -> tuple[Float64[FloatArray, " batches"], Float64[FloatArray, " batches"]]:
        """Seconds of a pass without and with the synchronisation of gradients."""
        pass_s, synced_s = profile.times_s(site.shape, batches_per_gpu)
        ratio = self.ratio(profile.name, site.gpu_type)
        slower = self.cross_rack_sync if site.racks > 1 else 1.0
        if (ratio, slower) == (1.0, 1.0):
            return pass_s, synced_s
        own_s = pass_s / ratio
        return own_s, own_s + slower * (synced_s - pass_s)

    def check(self, profiles: Iterable[str], where: str) -> None:
        """That every ratio is of a profile that exists.

        Raises:
            InvalidInputError: one is not; a ratio that is never used is most likely misspelt.
        """
        known = sorted(profiles)
        for gpu_type, ratios in self.ratios.items():
            for name in ratios:
                if name not in known:
                    raise InvalidInputError(
                        f"{where}: the ratio of {name!r} on {gpu_type} is of no profile; "
                        f"there are {', '.join(known)}"
                    )
