"""Everything that can be asked of an engine: the wanted state of one job, or of the cluster."""

from dataclasses import dataclass
from enum import StrEnum

from headway.core.ids import JobId, NodeId
from headway.core.types import Allocation, JobSpec


class StopReason(StrEnum):
    """Why a job must give up its GPUs."""

    YIELD = "yield"  # to go on later, from its checkpoint
    CANCEL = "cancel"  # for good


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob:
    """Run this job on exactly these GPUs: start it there, or resize it to that."""

    job: JobSpec
    allocation: Allocation
    generation: int
    adapts: bool  # may its agent change the batch size under this policy

    @property
    def key(self) -> str:
        """Equal keys are the same command; an engine applies each once."""
        return f"{self.job.job_id}/{self.generation}/run"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopJob:
    """Take all GPUs from this job."""

    job_id: JobId
    generation: int
    why: StopReason

    @property
    def key(self) -> str:
        """Equal keys are the same command; an engine applies each once."""
        return f"{self.job_id}/{self.generation}/{self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleCluster:
    """Have so many nodes in all, those that were asked for before included."""

    nodes: int
    leaving: tuple[NodeId, ...]  # give these back, each as soon as its last worker is gone
    generation: int

    @property
    def key(self) -> str:
        """Equal keys are the same command; an engine applies each once."""
        return f"cluster/{self.generation}/scale"  # no job is called so: theirs end otherwise


JobCommand = RunJob | StopJob
Command = JobCommand | ScaleCluster
