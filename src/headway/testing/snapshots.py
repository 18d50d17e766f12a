"""Clusters, jobs and snapshots for tests: by hand, and at random round after round."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np

from headway.core.ids import JobId, NodeId
from headway.core.policy.base import Policy
from headway.core.types import (
    NOTHING,
    Allocation,
    BatchContract,
    BatchMode,
    Decision,
    GpuBounds,
    JobReport,
    JobSpec,
    JobView,
    Node,
    ReasonCode,
    Snapshot,
    ThroughputParams,
)

ROUNDS = 12
SPEEDS = {"k80": 0.5, "t4": 1.0, "a100": 3.0}  # nominal, of the GPU types of mixed clusters


def nodes(*gpus: int) -> tuple[Node, ...]:
    """Nodes n0, n1, ... of so many GPUs."""
    return tuple(Node(node_id=NodeId(f"n{index}"), gpus=count) for index, count in enumerate(gpus))


def mixed(
    cluster: Sequence[Node], *, types: Sequence[str], racks: Sequence[str | None] = (None,)
) -> tuple[Node, ...]:
    """The same nodes with these GPU types and racks in turn."""
    return tuple(
        replace(node, gpu_type=name, speed=SPEEDS[name], rack=rack)
        for node, name, rack in zip(cluster, cycle(types), cycle(racks), strict=False)
    )


def bounds(*, least: int = 1, most: int = 8, sizes: tuple[int, ...] | None = None) -> GpuBounds:
    """How many GPUs a job may hold."""
    return GpuBounds(min_gpus=least, max_gpus=most, sizes=sizes)


def job(
    name: str,
    *,
    submitted_s: float = 0.0,
    gpus: GpuBounds | None = None,
    requested_gpus: int = 1,
    preemptible: bool = True,
    adaptive: bool = True,
) -> JobView:
    """A job that waits and never ran."""
    contract = BatchContract(
        initial_batch_size=128,
        max_batch_size=4096 if adaptive else 128,
        max_batch_per_gpu=512,
        mode=BatchMode.ADAPTIVE if adaptive else BatchMode.FIXED,
    )
    spec = JobSpec(
        job_id=JobId(name),
        name=name,
        submitted_s=submitted_s,
        gpus=gpus or bounds(),
        batch=contract,
        requested_gpus=requested_gpus,
        requested_batch_size=128,
        preemptible=preemptible,
    )
    return JobView(
        spec=spec,
        allocation=NOTHING,
        attained_gpu_s=0.0,
        restarts=0,
        max_gpus_held=0,
        first_started_s=None,
        report=None,
    )


def report(
    *, noise_scale: float | None = 5_000.0, node_s: float = 0.1, restart_s: float | None = None
) -> JobReport:
    """A report of a job like cifar10's, with ``node_s`` seconds to synchronise two nodes."""
    return JobReport(
        throughput=ThroughputParams(
            alpha_grad_s=0.018,
            beta_grad_s=0.0007,
            alpha_local_s=0.03,
            beta_local_s=0.005,
            alpha_node_s=node_s,
            beta_node_s=0.003,
            gamma=2.2,
        ),
        noise_scale=noise_scale,
        progress_examples=0.0,
        batch_per_gpu=128,
        accum_steps=0,
        batch_size=128,
        restart_s=restart_s,
    )


STEP_S = 0.018 + 0.0007 * 128  # of that report's job alone, at its batch of 128


def of_seconds(
    name: str, left_s: float, *, done_s: float = 0.0, gpus: int = 1, submitted_s: float = 0.0
) -> JobView:
    """A job that runs so long alone if it has one GPU."""
    view = job(name, requested_gpus=gpus, submitted_s=submitted_s)
    spec = replace(view.spec, work_samples=(done_s + left_s) / STEP_S * 128)
    return replace(view, spec=spec, report=replace(report(), samples=round(done_s / STEP_S * 128)))


def running(view: JobView, on: dict[str, int], *, attained_gpu_s: float = 0.0) -> JobView:
    """The same job holding GPUs."""
    allocation = Allocation.of({NodeId(node): count for node, count in on.items()})
    return replace(
        view,
        allocation=allocation,
        max_gpus_held=max(view.max_gpus_held, allocation.gpus),
        attained_gpu_s=attained_gpu_s,
        first_started_s=view.spec.submitted_s,
        report=view.report or report(),
    )


def snapshot(
    cluster: tuple[Node, ...], *jobs: JobView, now_s: float = 3_600.0, round_index: int = 60
) -> Snapshot:
    """What a policy is told."""
    return Snapshot(
        now_s=now_s, round_index=round_index, round_s=60.0, nodes=cluster, jobs=tuple(jobs)
    )


def decide(policy: Policy[Any], seen: Snapshot) -> Decision:
    """What a policy decides without having seen anything before."""
    decision, _ = policy.decide(seen, policy.start(), np.random.default_rng(0))
    return decision


def code_of(decision: Decision, name: str) -> ReasonCode:
    """The reason that a job is given."""
    return next(reason.code for reason in decision.reasons if reason.job_id == name)


def numbers_of(decision: Decision, name: str) -> dict[str, float]:
    """The figures of the reason that a job is given."""
    return dict(next(reason.numbers for reason in decision.reasons if reason.job_id == name))


def random_job(rng: np.random.Generator, name: str, submitted_s: float) -> JobView:
    """Elastic, rigid, with listed sizes, fixed batch, not preemptible, too large: some of each."""
    least = int(rng.choice([1, 1, 1, 2, 3]))
    most = int(rng.integers(least, 17))
    sizes = tuple(size for size in (1, 2, 4, 8, 16) if least <= size <= most) or None
    view = job(
        name,
        submitted_s=submitted_s,
        gpus=bounds(least=least, most=most, sizes=sizes if rng.random() < 0.3 else None),
        requested_gpus=int(rng.choice([1, 1, 2, 4, 6])),
        preemptible=bool(rng.random() < 0.8),
        adaptive=bool(rng.random() < 0.7),
    )
    if rng.random() < 0.1:
        view = replace(view, spec=replace(view.spec, gpus=bounds(least=99, most=99)))
        view = replace(view, spec=replace(view.spec, requested_gpus=99))
    return view


def scarce(cluster: tuple[Node, ...], rng: np.random.Generator) -> tuple[Node, ...]:
    """The same nodes with some CPUs and memory, most of them fewer than all jobs would like."""
    return tuple(
        replace(
            node,
            cpus=float(rng.integers(1, 6) * node.gpus) if rng.random() < 0.8 else None,
            memory_gb=float(rng.uniform(4, 40) * node.gpus) if rng.random() < 0.8 else None,
        )
        for node in cluster
    )


def needy(view: JobView, rng: np.random.Generator) -> JobView:
    """The same job, asking for CPUs, memory, both or neither."""
    cpus, memory_gb = rng.choice([0.0, 0.5, 2.0, 4.0]), rng.choice([0.0, 3.3, 16.0])
    spec = replace(view.spec, cpus_per_gpu=float(cpus), memory_gb_per_gpu=float(memory_gb))
    return replace(view, spec=spec)


def episode(
    policy: Policy[Any], seed: int, *, needs: bool = False
) -> Iterator[tuple[Snapshot, Decision, Any]]:
    """A policy's rounds on a random cluster, each starting from what the last one decided.

    Every other seed has several GPU types and racks; with ``needs`` there are CPUs and memory too.
    """
    rng = np.random.default_rng(seed)
    cluster = nodes(*rng.integers(1, 6, rng.integers(1, 5)).tolist())
    if seed % 2:
        types = rng.choice(list(SPEEDS), len(cluster)).tolist()
        cluster = mixed(nodes(4, *(node.gpus for node in cluster)), types=["t4", *types])
        racks = rng.choice(["r0", "r1"], len(cluster)).tolist()
        cluster = tuple(replace(n, rack=rack) for n, rack in zip(cluster, racks, strict=True))
    if needs:
        cluster = scarce(cluster, rng)
    memory = policy.start()
    active: list[JobView] = []
    for index in range(ROUNDS):
        now_s = 60.0 * index
        arrivals = [
            random_job(rng, f"j{index}-{number}", now_s - float(rng.integers(0, 60)))
            for number in range(rng.integers(0, 4))
        ]
        if needs:
            arrivals = [needy(view, rng) for view in arrivals]
        active = [view for view in active if rng.random() > 0.1] + arrivals
        active.sort(key=lambda view: (view.spec.submitted_s, view.spec.job_id))
        seen = snapshot(cluster, *active, now_s=now_s, round_index=index)
        decision, memory = policy.decide(seen, memory, np.random.default_rng(seed))
        yield seen, decision, memory
        active = [_applied(view, decision, rng) for view in active]


def _applied(view: JobView, decision: Decision, rng: np.random.Generator) -> JobView:
    """A job one round later."""
    allocation = decision.of(view.spec.job_id)
    restarted = view.first_started_s is not None and allocation != view.allocation
    fresh = report(
        noise_scale=float(rng.uniform(100, 50_000)),
        node_s=float(rng.uniform(0.01, 0.5)),
        restart_s=float(rng.uniform(5, 90)),
    )
    ran = bool(allocation)
    return replace(
        view,
        allocation=allocation,
        attained_gpu_s=view.attained_gpu_s + 60.0 * allocation.gpus,
        restarts=view.restarts + (restarted and ran),
        max_gpus_held=max(view.max_gpus_held, allocation.gpus),
        first_started_s=0.0 if ran else view.first_started_s,
        report=fresh if ran and rng.random() < 0.7 else view.report,
    )
