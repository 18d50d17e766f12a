"""The cluster: its nodes, who holds what, the policy and its rounds."""

import os
from importlib.metadata import version

from fastapi import APIRouter
from pydantic import BaseModel, Field

from headway.service.api.desk import Here

router = APIRouter(tags=["cluster"])


class NodeView(BaseModel):
    """A node and who holds its GPUs."""

    node_id: str
    gpus: int
    gpu_type: str
    rack: str | None
    speed: float = Field(description="nominal, of its GPU type against the others")
    free_gpus: int = Field(description="by what the policy has decided")
    cpus: float | None = Field(description="for jobs; null: not counted")
    free_cpus: float | None
    memory_gb: float | None = Field(description="for jobs; null: not counted")
    free_memory_gb: float | None
    jobs: dict[str, int] = Field(description="GPUs by job", examples=[{"digits": 2}])


class ClusterView(BaseModel):
    """The whole at a glance."""

    nodes: list[NodeView]
    gpus: int
    policy: str
    policy_settings: dict[str, str]
    round_s: float = Field(description="seconds from one decision to the next")
    horizon_s: float = Field(description="seconds that one decision plans ahead")
    round_index: int = Field(description="decisions so far")
    next_round_s: float | None = Field(description="when; null while there is no job")
    objective: float | None = Field(description="of the last decision")
    gap: float | None = Field(description="of the last decision to the proven bound")
    active_jobs: int
    slots: dict[str, list[int]] = Field(description="in use by living processes, by job")
    started_s: float = Field(description="when this service started")
    version: str
    trouble: str | None = Field(description="the last internal error, if there was one")


class Health(BaseModel):
    """Whether the service is there."""

    status: str = Field(examples=["ok"])
    pid: int
    version: str


@router.get("/cluster", summary="Nodes, policy and rounds")
def cluster(here: Here) -> ClusterView:
    """The whole at a glance."""
    runner, state = here.runner, here.runner.state
    nodes = []
    for node in state.nodes.values():
        held = [(job.spec, job.allocation.on(node.node_id)) for job in state.jobs.values()]
        jobs = {str(spec.job_id): gpus for spec, gpus in held if gpus}
        cpus = sum(spec.cpus_per_gpu * gpus for spec, gpus in held)
        memory_gb = sum(spec.memory_gb_per_gpu * gpus for spec, gpus in held)
        nodes.append(
            NodeView(
                node_id=node.node_id,
                gpus=node.gpus,
                gpu_type=node.gpu_type,
                rack=node.rack,
                speed=node.speed,
                free_gpus=node.gpus - sum(jobs.values()),
                cpus=node.cpus,
                free_cpus=_left(node.cpus, cpus),
                memory_gb=node.memory_gb,
                free_memory_gb=_left(node.memory_gb, memory_gb),
                jobs=jobs,
            )
        )
    decided = runner.board.decided
    return ClusterView(
        nodes=nodes,
        gpus=sum(node.gpus for node in nodes),
        policy=here.settings.policy,
        policy_settings=dict(here.settings.policy_settings),
        round_s=state.round_s,
        horizon_s=runner.horizon_s,
        round_index=state.round_index,
        next_round_s=runner.next_round_s,
        objective=None if decided is None else decided.objective,
        gap=None if decided is None else decided.gap,
        active_jobs=len(state.jobs),
        slots={str(job_id): list(slots) for job_id, slots in runner.holds().items()},
        started_s=here.started_s,
        version=version("headway"),
        trouble=runner.trouble,
    )


def _left(there: float | None, taken: float) -> float | None:
    return None if there is None else round(there - taken, 3)


def health(here: Here) -> Health:
    """Needs no token; ``degraded`` after an internal error."""
    status = "ok" if here.runner.trouble is None else "degraded"
    return Health(status=status, pid=os.getpid(), version=version("headway"))
