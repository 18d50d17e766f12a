"""A simulated run: virtual time around the scheduler, the same ``step`` that a service runs."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from headway.core.control.events import (
    Event,
    JobFinished,
    JobReferenced,
    JobSubmitted,
    NodeJoined,
    RunOpened,
)
from headway.core.control.state import State
from headway.core.errors import InvalidInputError
from headway.core.explain.forward import Queue, forward
from headway.core.ids import JobId
from headway.core.policy import Policy, Traits
from headway.core.policy.needs import asked, beyond_room, room_for, scarcest
from headway.core.policy.probe import usual
from headway.core.types import Decision, JobSpec, Node, Snapshot, widest
from headway.core.words import counted
from headway.sim.agent import SimulatedAgents
from headway.sim.cluster import Cluster
from headway.sim.executor import Executor
from headway.sim.oracle import Oracle
from headway.sim.provider import Provider
from headway.sim.truth import JobTruth, Speeds, truths
from headway.traces.base import Workload

MOST_ROUNDS = 2_000_000  # of one run: four years of 60 s; each decision takes real time too
Record = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """All that the runs of one command share."""

    workload: Workload
    cluster: Cluster
    round_s: float = 60.0
    restart_s: float = 30.0
    seed: int = 0
    noise: float = 0.0  # standard deviation of the logarithm of what agents measure
    throughput: str = "linear"  # which models agents fit, one of core.model.choice.FITTERS
    provision_s: float = 120.0  # until a node that a policy asks for is there
    most_nodes: int = 0  # to which a policy may scale the cluster
    interference: float = 0.0  # share of its speed lost by a job that spans nodes beside another
    restart_spread: float = 0.0  # standard deviation of the logarithm of the jobs' restart delays
    declared_error: float = 0.0  # the same of the work that owners declare, over the true one
    oracle_models: bool = False  # agents have the fit of their whole profile from the start
    tenants: str = ""  # weights that say what each is entitled to, whoever decides

    @property
    def largest(self) -> tuple[Node, ...]:
        """The nodes of the cluster at its largest."""
        return self.cluster.grown(self.most_nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run tells apart from its event log."""

    decide_s: tuple[float, ...]  # wall time of each decision
    cpu_s: float
    wall_s: float
    outside: tuple[str, ...] = ()  # queries beyond what the profiles measured


def fitted(workload: Workload, cluster: Cluster, most_nodes: int = 0) -> Workload:
    """The same workload with no job wider than one GPU type; notes say which were made narrower.

    A cluster that policies scale counts with ``most_nodes``.

    Raises:
        InvalidInputError: a job that cannot run on so few GPUs.
    """
    nodes = cluster.grown(most_nodes)
    gpus = widest(nodes)
    jobs = [_fitted(job, gpus, nodes) for job in workload.jobs]
    notes = [
        f"job {job.name} asks for {counted(old.requested_gpus, 'GPU')}; {job.requested_gpus} fit "
        "the cluster"
        for old, job in zip(workload.jobs, jobs, strict=True)
        if job.requested_gpus != old.requested_gpus
    ]
    return replace(workload, jobs=tuple(jobs), notes=(*workload.notes, *notes))


def _fitted(job: JobSpec, gpus: int, nodes: Sequence[Node]) -> JobSpec:
    allowed = job.gpus.allowed(gpus)
    if not allowed:
        raise InvalidInputError(
            f"job {job.name} needs at least {counted(job.gpus.smallest, 'GPU')} and the cluster "
            f"has {gpus} of one type; give a larger --cluster or drop the job"
        )
    if any(asked(job)):
        gpus = room_for(job, nodes)
        allowed = job.gpus.allowed(gpus)
    if not allowed:
        raise InvalidInputError(
            f"job {job.name}: {scarcest(job, nodes)}: it needs "
            f"{beyond_room(job, job.gpus.smallest, gpus)}; give a larger --cluster or drop the job"
        )
    bounds = replace(job.gpus, max_gpus=min(job.gpus.max_gpus, gpus))
    return replace(job, gpus=bounds, requested_gpus=min(job.requested_gpus, allowed[-1]))


def simulate(
    setup: Setup,
    policy: Policy[Any],
    opened: RunOpened,
    references: Sequence[JobReferenced],
    record: Record,
    tell: Callable[[int], None] = lambda finished: None,
) -> Run:
    """Run a workload under a policy; ``record`` is given the log, event by event.

    The log depends on the arguments alone: times that were measured are in the result only.
    ``tell`` is told how many jobs have finished, for those who wait.

    Raises:
        InvalidInputError: a run of too many rounds, at once where a job alone needs them.
    """
    _check_length(setup, references)
    started_cpu_s, started_s = time.process_time(), time.monotonic()
    timed = Timed(policy)
    speeds = Speeds(setup.cluster.hardware)
    agents = SimulatedAgents(
        listening=policy.traits.reads_reports or policy.traits.adapts_batch_size,
        noise=setup.noise,
        rng=np.random.default_rng([setup.seed, 1]),
        throughput=setup.throughput,
        oracle=Oracle(setup.cluster.hardware) if setup.oracle_models else None,
    )
    executor = Executor(
        _truths(setup, speeds),
        agents,
        round_s=setup.round_s,
        restart_s=setup.restart_s,
        hardware=setup.cluster.hardware,
        interference=setup.interference,
        changes_s=[change.at_s for change in setup.cluster.changes],
        provider=Provider(usual(setup.cluster.nodes), provision_s=setup.provision_s),
    )
    state = State(memory=policy.start(), round_s=setup.round_s)
    queue = Queue(_given(setup, opened, references))
    rng = np.random.default_rng(setup.seed)
    forward(state, queue, timed, rng, executor, _counting(record, tell))
    return Run(
        decide_s=tuple(timed.took_s),
        cpu_s=time.process_time() - started_cpu_s,
        wall_s=time.monotonic() - started_s,
        outside=tuple(
            f"{name} on {'+'.join(map(str, shape))} GPUs at {batch} a GPU"
            for name, shape, batch in sorted(speeds.outside)
        ),
    )


def _check_length(setup: Setup, given: Sequence[Event]) -> None:
    """That no job takes longer than any run may, whether it shares the cluster or not."""
    for each in given:
        if not isinstance(each, JobReferenced):  # a job may be cancelled at time 0
            continue
        rounds = min(each.egalitarian_s, each.exclusive_s) / setup.round_s
        if MOST_ROUNDS < rounds < math.inf:
            raise InvalidInputError(
                f"job {each.job_id} alone takes about {rounds:.2g} rounds, and a run has at most "
                f"{MOST_ROUNDS}; give a longer --round-s or the job less work_examples"
            )


def _truths(setup: Setup, speeds: Speeds) -> Mapping[JobId, JobTruth]:
    """The jobs, each with a restart delay of its own where these differ."""
    jobs = truths(setup.workload, speeds)
    if setup.restart_spread > 0:
        draws = np.random.default_rng([setup.seed, 2]).standard_normal(len(jobs))
        for job, draw in zip(jobs.values(), draws.tolist(), strict=True):
            job.restart_factor = math.exp(setup.restart_spread * draw)
    return jobs


def _given(
    setup: Setup, opened: RunOpened, references: Sequence[JobReferenced]
) -> tuple[Event, ...]:
    """What is known before the run begins, in the order of the log."""
    return (
        opened,
        *(NodeJoined(at_s=0.0, node=node) for node in setup.cluster.nodes),
        *references,
        *setup.cluster.changes,
        *(JobSubmitted(at_s=job.submitted_s, job=job) for job in _declared(setup)),
    )


def _declared(setup: Setup) -> Sequence[JobSpec]:
    """The jobs as their owners declare them, who may err in how much work each is."""
    jobs = setup.workload.jobs
    if setup.declared_error <= 0:
        return jobs
    draws = np.random.default_rng([setup.seed, 3]).standard_normal(len(jobs))
    factors = np.exp(setup.declared_error * draws).tolist()
    return [declaring(job, factor) for job, factor in zip(jobs, factors, strict=True)]


def declaring(job: JobSpec, factor: float) -> JobSpec:
    """A job whose owner declares so many times its work."""
    return replace(
        job,
        work_examples=None if job.work_examples is None else job.work_examples * factor,
        work_samples=None if job.work_samples is None else job.work_samples * factor,
        adaptation=(
            None
            if job.adaptation is None
            else replace(job.adaptation, epochs=job.adaptation.epochs * factor)
        ),
    )


def _counting(record: Record, tell: Callable[[int], None]) -> Record:
    finished = 0

    def counted(event: Event) -> None:
        nonlocal finished
        record(event)
        if isinstance(event, JobFinished):
            finished += 1
            tell(finished)

    return counted


@final
@dataclass(frozen=True)
class Timed:
    """A policy that takes note of how long the one inside thinks."""

    inner: Policy[Any]
    took_s: list[float] = field(default_factory=list)

    @property
    def traits(self) -> Traits:
        """Those of the policy inside."""
        return self.inner.traits

    def start(self) -> Any:
        """The memory of the policy inside."""
        return self.inner.start()

    def decide(
        self, snapshot: Snapshot, memory: Any, rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        """The decision of the policy inside.

        Raises:
            InvalidInputError: this run has had too many rounds.
        """
        if len(self.took_s) >= MOST_ROUNDS:
            raise InvalidInputError(
                f"the run did not end within {MOST_ROUNDS} rounds, at {snapshot.now_s:g} s; give a "
                "longer --round-s or fewer and shorter jobs"
            )
        began_s = time.perf_counter()
        decision = self.inner.decide(snapshot, memory, rng)
        self.took_s.append(time.perf_counter() - began_s)
        return decision


def opening(setup: Setup, policy_name: str, settings: Mapping[str, str]) -> RunOpened:
    """The first event of a log: with the cluster and the jobs, all that the run depends on."""
    return RunOpened(
        at_s=0.0,
        policy=policy_name,
        round_s=setup.round_s,
        seed=setup.seed,
        settings=dict(sorted(settings.items())),
        simulated={
            "restart_s": setup.restart_s,
            "restart_spread": setup.restart_spread,
            "declared_error": setup.declared_error,
            "noise": setup.noise,
            "interference": setup.interference,
            "provision_s": setup.provision_s,
            "models": "oracle" if setup.oracle_models else "learned",
            "throughput": setup.throughput,
            **({"tenants": setup.tenants} if setup.tenants else {}),
        },
    )
