"""How long a gradient synchronisation takes: one protocol, three models of it.

Each T_sync is a sum of non-negative parameters times what the placement says (GPUs K, nodes N,
locality), so all of them are fitted alike. None synchronises on a single GPU.
"""

from collections.abc import Mapping
from typing import Protocol, final

import numpy as np

from headway.core.types import Float64, FloatArray, IntArray, Locality, ThroughputKind

# columns of a theta array, of which the first seven are Pollux's
ALPHA_GRAD, BETA_GRAD, ALPHA_LOCAL, BETA_LOCAL, ALPHA_NODE, BETA_NODE, GAMMA = range(7)
ALPHA_RACK, BETA_RACK, TREE, HOP, KIND = range(7, 12)
ALPHAS = (ALPHA_LOCAL, ALPHA_NODE, ALPHA_RACK)  # the rest is paid for what goes beyond two GPUs
WIDTH = 12

Theta = Float64[FloatArray, "*any 12"]


class Throughput(Protocol):
    """A model of T_sync; everything else about a step is the same for all (Pollux, Eqn. 8, 11)."""

    @property
    def ties(self) -> tuple[tuple[int, ...], ...]:
        """The columns it uses, in chains: what was never tried costs what is left of it costs."""
        ...

    def sync_s(
        self, theta: Theta, gpus: FloatArray, locality: IntArray, nodes: IntArray
    ) -> FloatArray:
        """Seconds of one synchronisation, linear in theta; the last axis of theta is consumed."""
        ...

    def told_by(self, gpus: FloatArray, locality: IntArray, nodes: IntArray) -> bool:
        """Whether runs on these placements can tell its parameters from those of the linear one."""
        ...


@final
class Linear:
    """A pair for GPUs of one node and a pair for several nodes (Pollux, Eqn. 9)."""

    ties = ((ALPHA_LOCAL, ALPHA_NODE), (BETA_LOCAL, BETA_NODE))

    def sync_s(
        self, theta: Theta, gpus: FloatArray, locality: IntArray, nodes: IntArray
    ) -> FloatArray:
        further = np.maximum(gpus - 2, 0)
        local_s = theta[..., ALPHA_LOCAL] + theta[..., BETA_LOCAL] * further
        node_s = theta[..., ALPHA_NODE] + theta[..., BETA_NODE] * further
        return np.where(gpus <= 1, 0.0, np.where(locality > 0, node_s, local_s))

    def told_by(self, gpus: FloatArray, locality: IntArray, nodes: IntArray) -> bool:
        return True


@final
class Racked:
    """The linear model with a third pair, for nodes of several racks."""

    ties = ((ALPHA_LOCAL, ALPHA_NODE, ALPHA_RACK), (BETA_LOCAL, BETA_NODE, BETA_RACK))

    def sync_s(
        self, theta: Theta, gpus: FloatArray, locality: IntArray, nodes: IntArray
    ) -> FloatArray:
        near_s = LINEAR.sync_s(theta, gpus, locality, nodes)
        far_s = theta[..., ALPHA_RACK] + theta[..., BETA_RACK] * np.maximum(gpus - 2, 0)
        return np.where((locality == Locality.SEVERAL_RACKS) & (gpus > 1), far_s, near_s)

    def told_by(self, gpus: FloatArray, locality: IntArray, nodes: IntArray) -> bool:
        levels = (Locality.ONE_RACK, Locality.SEVERAL_RACKS)
        return all(np.unique(gpus[locality == level]).size >= 2 for level in levels)


@final
class Collective:
    """What a library of collectives does: a ring on one node or two, a tree on more.

    A ring of K makes 2 (K - 1) hops and sends 2 (K - 1) / K of the gradients over each link; a
    tree makes 2 log2 K hops and sends them up and down once. So the message itself, its size over
    the bandwidth, is in the alpha of the slowest link, and what grows is the latency: by GPU in
    a ring, by doubling in a tree, and by node where each brings a link of its own.
    """

    ties = ((ALPHA_LOCAL, ALPHA_NODE), (BETA_LOCAL, BETA_NODE), (TREE,), (HOP,))

    def sync_s(
        self, theta: Theta, gpus: FloatArray, locality: IntArray, nodes: IntArray
    ) -> FloatArray:
        ring_s = LINEAR.sync_s(theta, gpus, locality, nodes)
        doublings = np.log2(np.maximum(gpus, 2) / 2)
        tree_s = theta[..., ALPHA_NODE] + theta[..., TREE] * doublings
        tree_s = tree_s + theta[..., HOP] * np.maximum(nodes - 2, 0)
        return np.where((nodes > 2) & (gpus > 1), tree_s, ring_s)

    def told_by(self, gpus: FloatArray, locality: IntArray, nodes: IntArray) -> bool:
        two, more = (np.unique(gpus[rows]).size for rows in (nodes == 2, nodes > 2))
        return two >= 2 and more >= 2


LINEAR = Linear()
MODELS: Mapping[ThroughputKind, Throughput] = {
    ThroughputKind.LINEAR: LINEAR,
    ThroughputKind.RACKED: Racked(),
    ThroughputKind.COLLECTIVE: Collective(),
}
KINDS = tuple(MODELS)  # a kind is stored in an array as its index here
