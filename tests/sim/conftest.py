"""Jobs, policies and runs that are simple enough to be reckoned by hand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import pytest

from headway.core.control.events import Event
from headway.core.ids import JobId
from headway.core.policy import Policy, Traits
from headway.core.types import (
    Allocation,
    BatchMode,
    Decision,
    GpuBounds,
    JobSpec,
    Snapshot,
)
from headway.sim.cluster import Cluster, parse_cluster
from headway.sim.driver import Setup, opening, simulate
from headway.sim.egalitarian import references
from headway.testing.profiles import toy_profile
from headway.traces.base import Workload, workload
from headway.traces.modelled import ModelledProfile


def make_job(
    name: str,
    *,
    submitted_s: float = 0.0,
    gpus: int = 1,
    rigid: bool = True,
    mode: BatchMode = BatchMode.FIXED,
    work_examples: float = 12_000.0,
) -> JobSpec:
    """A job of the toy profile: rigid with a fixed batch, unless said otherwise."""
    contract = toy_profile().contract
    if mode is not BatchMode.ADAPTIVE:
        contract = replace(contract, max_batch_size=32, mode=mode)
    bounds = GpuBounds(min_gpus=gpus, max_gpus=gpus) if rigid else GpuBounds(max_gpus=8)
    return JobSpec(
        job_id=JobId(name),
        name=name,
        submitted_s=submitted_s,
        gpus=bounds,
        batch=contract,
        requested_gpus=gpus,
        requested_batch_size=32,
        work_examples=work_examples,
    )


@final
@dataclass(frozen=True)
class Shuffle:
    """Deals out the GPUs anew by chance: a hard life for an executor."""

    often: float = 0.5  # chance of a job to be dealt with in a round
    adapts: bool = False

    @property
    def traits(self) -> Traits:
        return Traits(adapts_batch_size=self.adapts, resizes=True, reads_reports=self.adapts)

    def start(self) -> None:
        return None

    def decide(
        self, snapshot: Snapshot, memory: None, rng: np.random.Generator
    ) -> tuple[Decision, None]:
        chosen = [rng.random() < self.often for _ in snapshot.jobs]
        free = {node.node_id: node.gpus for node in snapshot.nodes}
        found: dict[JobId, Allocation] = {}
        for job, anew in zip(snapshot.jobs, chosen, strict=True):
            if not anew and job.allocation:
                found[job.spec.job_id] = job.allocation
                for node, count in job.allocation.per_node:
                    free[node] -= count
        for job, anew in zip(snapshot.jobs, chosen, strict=True):
            sizes = job.spec.gpus.allowed(sum(free.values()))
            if anew and sizes and rng.random() < 0.8:
                found[job.spec.job_id] = _deal(free, int(rng.choice(sizes)), rng)
        return Decision(allocations=found), None


def _deal(free: dict, gpus: int, rng: np.random.Generator) -> Allocation:
    per_node = dict.fromkeys(free, 0)
    for _ in range(gpus):
        node = rng.choice([node for node in sorted(free) if free[node]])
        free[node] -= 1
        per_node[node] += 1
    return Allocation.of(per_node)


@dataclass(frozen=True)
class Kit:
    """All that the tests of the simulator build with."""

    toy: Callable[..., ModelledProfile]
    job: Callable[..., JobSpec]
    shuffle: Callable[..., Shuffle]

    def workload(self, *jobs: JobSpec, profile: ModelledProfile | None = None) -> Workload:
        return workload("toys", [(job, "toy") for job in jobs], {"toy": profile or toy_profile()})

    def run(
        self, setup: Setup, policy: Policy, name: str = "test", befalls: Sequence[Event] = ()
    ) -> tuple[list[Event], Setup]:
        """The log of a run; what befalls it is put among the events that are given."""
        log: list[Event] = []
        fair = references(setup.workload, setup.cluster)
        simulate(setup, policy, opening(setup, name, {}), (*fair, *befalls), log.append)
        return log, setup

    def cluster(self, text: str = "2x4") -> Cluster:
        return parse_cluster(text)


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit(toy=toy_profile, job=make_job, shuffle=Shuffle)
