"""The words of the domain as frozen values: jobs, nodes, allocations, snapshots, decisions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

import numpy as np
from jaxtyping import Float64, Int64
from numpy.typing import NDArray

from headway.core.adaptation import Adaptation, Regime
from headway.core.batch import (
    BatchChange,
    BatchContract,
    BatchMode,
    BatchRule,
    ChangeCode,
    RuleName,
    ScheduledBatch,
)
from headway.core.ids import JobId, NodeId
from headway.core.scale import Scaling
from headway.core.theta import GradTime, Locality, ThroughputKind, ThroughputParams

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
# re-exported: for annotations such as Float64[FloatArray, " jobs"], and what has a file of its own
__all__ = [
    "BatchChange",
    "BatchContract",
    "BatchMode",
    "BatchRule",
    "ChangeCode",
    "Float64",
    "GradTime",
    "Int64",
    "Locality",
    "RuleName",
    "ScheduledBatch",
    "ThroughputKind",
    "ThroughputParams",
]

MOST_EXAMPLES = 1e18  # of a training
MOST_BESIDE = 1e5  # CPUs or GB that a job may ask for beside a GPU


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A machine with GPUs of one type."""

    node_id: NodeId
    gpus: int
    gpu_type: str = "gpu"
    rack: str | None = None
    speed: float = 1.0  # nominal, of its GPU type against the others; a guess until a job reports
    cpus: float | None = None  # for jobs; None: as many as they like
    memory_gb: float | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """The shape of an allocation that the speed depends on."""

    gpus: int
    nodes: int
    racks: int = 1  # 1 where nothing is known of racks

    @property
    def locality(self) -> Locality:
        if self.nodes <= 1:
            return Locality.ONE_NODE
        return Locality.SEVERAL_RACKS if self.racks > 1 else Locality.ONE_RACK


@dataclass(frozen=True, slots=True)
class Allocation:
    """GPUs per node for one job (Pollux's vector a); sorted by node, without zeros."""

    per_node: tuple[tuple[NodeId, int], ...] = ()

    @classmethod
    def of(cls, gpus: Mapping[NodeId, int]) -> Self:
        return cls(tuple(sorted((node, count) for node, count in gpus.items() if count > 0)))

    @property
    def gpus(self) -> int:
        return sum(count for _, count in self.per_node)

    @property
    def placement(self) -> Placement:
        return Placement(self.gpus, len(self.per_node))

    def __bool__(self) -> bool:
        return bool(self.per_node)

    def on(self, node_id: NodeId) -> int:
        """GPUs held on one node."""
        return dict(self.per_node).get(node_id, 0)


NOTHING = Allocation()


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuBounds:
    """How many GPUs a job may hold."""

    min_gpus: int = 1
    max_gpus: int = 1
    sizes: tuple[int, ...] | None = None  # allowed counts, ascending; None: every count between

    @property
    def elastic(self) -> bool:
        return len(self.allowed(self.max_gpus)) > 1

    @property
    def smallest(self) -> int:
        """The least count that may be held; ``min_gpus`` where no size is inside the bounds."""
        if self.sizes is None:
            return self.min_gpus
        return next(iter(self.allowed(self.max_gpus)), self.min_gpus)

    def allowed(self, at_most: int) -> tuple[int, ...]:
        """The counts that may be held, ascending, none above ``at_most``."""
        sizes = range(self.min_gpus, self.max_gpus + 1) if self.sizes is None else self.sizes
        return tuple(size for size in sizes if self.min_gpus <= size <= min(self.max_gpus, at_most))


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start a job's workers; absent where nothing is really started."""

    command: tuple[str, ...]
    workdir: str
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """One training run as its owner asked for it."""

    job_id: JobId
    name: str
    submitted_s: float
    gpus: GpuBounds
    batch: BatchContract
    requested_gpus: int  # what the owner asks for where a policy does not resize
    requested_batch_size: int  # and the batch size that goes with it
    tenant: str = "default"
    weight: float = 1.0
    preemptible: bool = True
    work_examples: float | None = None  # scale-invariant examples to the end, if declared
    work_samples: float | None = None  # examples read by then at requested_batch_size, if declared
    launch: Launch | None = None
    adaptation: Adaptation | None = None  # how it changes its batch size by itself
    cpus_per_gpu: float = 0.0  # of the node that a GPU is on; 0: it does not say, and none is kept
    memory_gb_per_gpu: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """What a job's agent says about it; all that a policy may know of its speed."""

    throughput: ThroughputParams  # T_grad as on the GPUs that it holds
    noise_scale: float | None  # phi in examples; None: no estimate yet
    progress_examples: float  # scale-invariant examples done
    batch_per_gpu: int  # m
    accum_steps: int  # s
    batch_size: int  # M
    restart_s: float | None = None  # measured restart delay; None until there was one
    fit_error: float | None = None  # root mean squared log error; None: only a prior
    noise_scale_error: float | None = None  # standard error of phi
    noise_scale_reliable: bool = True  # False: of part of the gradient, or of rarely touched rows
    metric: float | None = None  # the owner's own metric, last value
    loss: float | None = None
    samples: int = 0  # examples read so far
    epoch: int = 0
    grad_by_type: tuple[GradTime, ...] = ()  # on each type that it ran on, where types are told
    step_error: float | None = None  # relative standard error of a step as predicted, here
    step_error_doubled: float | None = None  # on twice the GPUs; None: nothing like it was tried
    fit_trouble: str = ""  # why the last fit failed; what is said of the speed is older then
    regimes: tuple[Regime, ...] = ()  # begun so far, in order, of a job with an adaptation
    eta_s: float | None = None  # to the end of training, at its present speed; its own reckoning
    total_examples: float | None = None  # of the whole training, as its own loop says


def work_examples(spec: JobSpec, report: JobReport | None) -> float | None:
    """Scale-invariant examples of a whole training: as its loop says, else as declared.

    A loop that says to go on for ever, as in ``job.epochs(sys.maxsize)``, has not said a length.
    """
    told = None if report is None else report.total_examples
    if told is not None and 0.0 < told <= MOST_EXAMPLES:
        return told
    return spec.work_examples


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """An active job as a policy sees it."""

    spec: JobSpec
    allocation: Allocation  # what it holds now, or nothing
    attained_gpu_s: float
    restarts: int
    max_gpus_held: int
    first_started_s: float | None
    report: JobReport | None
    egalitarian_s: float | None = None  # its age at the end with its share, as it was last told

    def age_s(self, now_s: float) -> float:
        return now_s - self.spec.submitted_s

    @property
    def work_examples(self) -> float | None:
        """Scale-invariant examples of the whole training; None: nobody has said."""
        return work_examples(self.spec, self.report)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that a policy is told at the start of a round; nodes and jobs in a fixed order."""

    now_s: float
    round_index: int
    round_s: float
    nodes: tuple[Node, ...]
    jobs: tuple[JobView, ...]  # by submission, then identifier
    arrivals: int = 0  # counters that tell a planning policy whether its plan is stale
    departures: int = 0
    changes: int = 0  # nodes that came or went, batch sizes that changed
    nodes_wanted: int | None = None  # those asked for; None: nobody has asked for a number
    nodes_leaving: tuple[NodeId, ...] = ()  # told to go and still there

    @property
    def gpus(self) -> int:
        return sum(node.gpus for node in self.nodes)


class ReasonCode(StrEnum):
    """Why a job holds what it holds. Stable: scripts and dashboards read these."""

    STARTED = "Started"
    GREW = "Grew"
    SHRANK = "Shrank"
    MOVED = "Moved"
    KEPT = "Kept"
    STOPPED = "BetterUseElsewhere"
    WAITING = "WaitingForGpus"
    NO_CPUS = "WaitingForCpus"
    NO_MEMORY = "WaitingForMemory"
    BEHIND = "BehindInQueue"
    TOO_LARGE = "ExceedsCluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One job's part of a decision, with the numbers that led to it."""

    job_id: JobId
    code: ReasonCode
    numbers: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Who holds what until the next round; jobs that are not named hold nothing."""

    allocations: Mapping[JobId, Allocation]
    reasons: tuple[Reason, ...] = ()
    objective: float | None = None  # what the policy maximised, where it maximises something
    gap: float | None = None  # relative distance to the proven bound; 0 when optimal
    solver: Mapping[str, float] = field(default_factory=dict)  # counts: nodes, iterations, columns
    scaling: Scaling | None = None  # the wanted size of the cluster; None: whatever it is

    def of(self, job_id: JobId) -> Allocation:
        return self.allocations.get(job_id, NOTHING)


def total_gpus(nodes: Iterable[Node]) -> int:
    """GPUs of a cluster."""
    return sum(node.gpus for node in nodes)


def widest(nodes: Iterable[Node]) -> int:
    """The most GPUs of one type, so the most that a job can hold: it never has two types."""
    gpus: dict[str, int] = {}
    for node in nodes:
        gpus[node.gpu_type] = gpus.get(node.gpu_type, 0) + node.gpus
    return max(gpus.values(), default=0)


def placement_on(nodes: Mapping[NodeId, Node], allocation: Allocation) -> Placement:
    """The shape of an allocation where the racks of nodes are known; unknown ones are one rack."""
    racks = {nodes[node_id].rack for node_id, _ in allocation.per_node}
    return Placement(allocation.gpus, len(allocation.per_node), max(len(racks), 1))
