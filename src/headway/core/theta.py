"""theta_sys as values: localities, the kinds of throughput models and their parameters."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Locality(IntEnum):
    """How far the GPUs of an allocation lie apart; a bool of "several nodes" is one as well."""

    ONE_NODE = 0
    ONE_RACK = 1  # several nodes, of one rack or where nothing is known of racks
    SEVERAL_RACKS = 2


class ThroughputKind(StrEnum):
    """Which shape T_sync has; ``core.model.sync`` has one implementation for each."""

    LINEAR = "linear"
    RACKED = "racked"
    COLLECTIVE = "collective"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputParams:
    """theta_sys (Pollux, Eqn. 8-11), and what kinds other than the linear one add to it."""

    alpha_grad_s: float
    beta_grad_s: float  # for each example of the per-GPU batch
    alpha_local_s: float  # two GPUs of one node
    beta_local_s: float  # each further GPU on that node
    alpha_node_s: float  # two GPUs on different nodes
    beta_node_s: float  # each further GPU; collective: on two nodes, where a ring is used
    gamma: float  # 1: no overlap of computation and synchronisation; 10: all but complete
    kind: ThroughputKind = ThroughputKind.LINEAR
    alpha_rack_s: float = 0.0  # racked: two GPUs in different racks
    beta_rack_s: float = 0.0  # racked: each further GPU
    tree_s: float = 0.0  # collective, three nodes or more: each doubling of the GPUs beyond two
    hop_s: float = 0.0  # collective: each node beyond the second


@dataclass(frozen=True, slots=True, kw_only=True)
class GradTime:
    """T_grad on GPUs of one type (Pollux, Eqn. 8): all of theta_sys that depends on the type."""

    gpu_type: str
    alpha_grad_s: float
    beta_grad_s: float
