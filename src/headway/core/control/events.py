"""Everything that can happen. A log of these is the only source of truth."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.core.ids import JobId, NodeId
from headway.core.scale import Scaling
from headway.core.types import Allocation, BatchChange, JobReport, JobSpec, Node, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOpened:
    """A log begins: which policy decides, and how often."""

    at_s: float
    policy: str
    round_s: float
    seed: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    simulated: Mapping[str, float | str] = field(
        default_factory=dict
    )  # what else a simulation assumes
    version: int = 1  # of the log's format


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJoined:
    """A node is there to be used."""

    at_s: float
    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLost:
    """A node is gone, and with it every worker on it."""

    at_s: float
    node_id: NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSubmitted:
    """A user submits a job."""

    at_s: float
    job: JobSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCancelled:
    """A user cancels a job."""

    at_s: float
    job_id: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundStarted:
    """It is time to decide."""

    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A job's allocation from now on; the generation counts its changes."""

    job_id: JobId
    generation: int
    allocation: Allocation


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundDecided:
    """What the policy decided; jobs without a change keep what they hold."""

    at_s: float
    round_index: int
    changes: tuple[Change, ...] = ()
    reasons: tuple[Reason, ...] = ()  # of jobs with news: allocation, code or promise
    objective: float | None = None
    gap: float | None = None
    solver: Mapping[str, float] = field(default_factory=dict)
    scaling: Scaling | None = None  # only where another size of the cluster is wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarted:
    """All workers of a generation have made their first step."""

    at_s: float
    job_id: JobId
    generation: int
    stall_s: float | None = None  # how long the training stood still for it; None: not measured
    in_process: bool = False  # the workers that it kept are the same processes

    def cost(self) -> str:
        """What the change of its allocation has cost, in words; empty where there was none."""
        if self.stall_s is None:
            return ""
        how = "inside its workers" if self.in_process else "by a restart"
        return f"resized {how} in {self.stall_s:.2f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReported:
    """A job's agent says how it is doing."""

    at_s: float
    job_id: JobId
    report: JobReport


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchChanged:
    """A job's agent has changed its batch size."""

    at_s: float
    job_id: JobId
    change: BatchChange


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochRead:
    """A job has read an epoch: how often its samples were read, by its own count."""

    at_s: float
    job_id: JobId
    epoch: int
    samples: int  # in the data set
    read_least: int  # reads of the sample that was read least; 1 when the epoch is exact
    read_most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStopped:
    """A job has given its GPUs back and can go on later."""

    at_s: float
    job_id: JobId
    generation: int
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFinished:
    """A job has come to its end."""

    at_s: float
    job_id: JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFailed:
    """A job has ended in an error."""

    at_s: float
    job_id: JobId
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReferenced:
    """A job's fair finish, computed apart from any policy; no policy is told."""

    at_s: float
    job_id: JobId
    egalitarian_s: float  # its JCT in the fluid egalitarian cluster
    exclusive_s: float  # its run time alone at the requested size
    estimated: bool = False  # from a fit and a forecast, not from the truth


Event = (
    RunOpened
    | NodeJoined
    | NodeLost
    | JobSubmitted
    | JobCancelled
    | RoundStarted
    | RoundDecided
    | JobStarted
    | JobReported
    | BatchChanged
    | EpochRead
    | JobStopped
    | JobFinished
    | JobFailed
    | JobReferenced
)
