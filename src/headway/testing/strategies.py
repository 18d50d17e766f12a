"""Hypothesis strategies for the words of the domain: clusters, jobs, reports, single events.

Every value is valid by itself; ``headway.testing.histories`` has events in a possible order.
"""

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from headway.core.control.events import (
    BatchChanged,
    Change,
    EpochRead,
    Event,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobReferenced,
    JobReported,
    JobStarted,
    JobStopped,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    RoundDecided,
    RoundStarted,
    RunOpened,
)
from headway.core.ids import JobId, NodeId
from headway.core.scale import ScaleCode, Scaling
from headway.core.types import (
    Allocation,
    GpuBounds,
    GradTime,
    JobReport,
    JobSpec,
    Launch,
    Node,
    Reason,
    ReasonCode,
    ThroughputKind,
    ThroughputParams,
)
from headway.testing.adaptations import adaptations, regimes
from headway.testing.batches import COUNTS, NAMES, batch_changes, batch_contracts

JOB_IDS = st.sampled_from([JobId(f"job-{letter}") for letter in "abcdef"])
NODE_IDS = st.sampled_from([NodeId(f"n{index}") for index in range(6)])
TIMES_S = st.floats(0, 1e9)
NOMINAL = {"gpu": 1.0, "t4": 0.5, "v100": 2.0}  # speeds of GPU types
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
FIGURES = st.lists(st.tuples(NAMES, NUMBERS), max_size=3).map(tuple)
GENERATIONS = st.integers(0, 1000)


@st.composite
def nodes(draw: st.DrawFn, node_id: NodeId | None = None, max_gpus: int = 8) -> Node:
    """A machine."""
    gpu_type = draw(st.sampled_from(sorted(NOMINAL)))
    return Node(
        node_id=draw(NODE_IDS) if node_id is None else node_id,
        gpus=draw(st.integers(1, max_gpus)),
        gpu_type=gpu_type,
        rack=draw(st.none() | st.sampled_from(["r0", "r1"])),
        speed=NOMINAL[gpu_type],
        cpus=draw(st.none() | st.floats(1, 256)),
        memory_gb=draw(st.none() | st.floats(0.5, 4096)),
    )


@st.composite
def clusters(draw: st.DrawFn, max_nodes: int = 6, max_gpus: int = 8) -> tuple[Node, ...]:
    """Machines with distinct names, at least one."""
    count = draw(st.integers(1, max_nodes))
    return tuple(draw(nodes(NodeId(f"n{index}"), max_gpus)) for index in range(count))


@st.composite
def allocations(draw: st.DrawFn, cluster: Sequence[Node] | None = None) -> Allocation:
    """GPUs that a cluster has, or any; perhaps none."""
    if cluster is None:
        return Allocation.of(draw(st.dictionaries(NODE_IDS, st.integers(0, 8))))
    return Allocation.of({node.node_id: draw(st.integers(0, node.gpus)) for node in cluster})


@st.composite
def gpu_bounds(draw: st.DrawFn, max_gpus: int = 16) -> GpuBounds:
    """Any range of sizes, or a list of them."""
    if draw(st.booleans()):
        sizes = sorted(draw(st.sets(st.integers(1, max_gpus), min_size=1, max_size=5)))
        return GpuBounds(min_gpus=sizes[0], max_gpus=sizes[-1], sizes=tuple(sizes))
    low = draw(st.integers(1, max_gpus))
    return GpuBounds(min_gpus=low, max_gpus=draw(st.integers(low, max_gpus)))


def launches() -> SearchStrategy[Launch]:
    """A command line."""
    return st.builds(
        Launch,
        command=st.lists(NAMES, min_size=1, max_size=3).map(tuple),
        workdir=NAMES,
        env=st.dictionaries(NAMES, NAMES, max_size=2),
    )


BATCHES, LAUNCHES = batch_contracts(), st.none() | launches()


@st.composite
def job_specs(
    draw: st.DrawFn,
    job_id: JobId | None = None,
    submitted_s: float | None = None,
    max_gpus: int = 16,
) -> JobSpec:
    """A job that its owner might really ask for."""
    gpus = draw(gpu_bounds(max_gpus))
    batch = draw(BATCHES)
    return JobSpec(
        job_id=draw(JOB_IDS) if job_id is None else job_id,
        name=draw(NAMES),
        submitted_s=draw(TIMES_S) if submitted_s is None else submitted_s,
        gpus=gpus,
        batch=batch,
        requested_gpus=draw(st.sampled_from(gpus.allowed(gpus.max_gpus))),
        requested_batch_size=draw(
            st.integers(
                batch.initial_batch_size, max(batch.initial_batch_size, batch.max_batch_size)
            )
        ),
        tenant=draw(st.sampled_from(["default", "vision"])),
        weight=draw(st.floats(0.1, 10)),
        preemptible=draw(st.booleans()),
        work_examples=draw(st.none() | st.floats(1, 1e12)),
        work_samples=draw(st.none() | st.floats(1, 1e12)),
        launch=draw(LAUNCHES),
        adaptation=draw(st.none() | adaptations()),
        cpus_per_gpu=draw(st.just(0.0) | st.floats(0.1, 64)),
        memory_gb_per_gpu=draw(st.just(0.0) | st.floats(0.1, 512)),
    )


def throughput_params() -> SearchStrategy[ThroughputParams]:
    """theta_sys inside the bounds of its fit."""
    seconds = st.floats(0, 100)
    return st.builds(
        ThroughputParams,
        kind=st.sampled_from(ThroughputKind),
        alpha_grad_s=st.floats(1e-6, 100),
        beta_grad_s=st.floats(1e-9, 10),
        alpha_local_s=seconds,
        beta_local_s=seconds,
        alpha_node_s=seconds,
        beta_node_s=seconds,
        gamma=st.floats(1, 10),
        alpha_rack_s=seconds,
        beta_rack_s=seconds,
        tree_s=seconds,
        hop_s=seconds,
    )


def grad_times() -> SearchStrategy[tuple[GradTime, ...]]:
    """T_grad on some types of GPUs, each named once."""
    pairs = st.builds(
        GradTime,
        gpu_type=st.sampled_from(["t4", "v100", "a100"]),
        alpha_grad_s=st.floats(1e-6, 100),
        beta_grad_s=st.floats(1e-9, 10),
    )
    return st.lists(pairs, unique_by=lambda one: one.gpu_type, max_size=3).map(tuple)


def job_reports() -> SearchStrategy[JobReport]:
    """What an agent might say."""
    maybe = st.none() | st.floats(0, 1e9)
    return st.builds(
        JobReport,
        throughput=throughput_params(),
        noise_scale=maybe,
        progress_examples=st.floats(0, 1e12),
        batch_per_gpu=st.integers(1, 4096),
        accum_steps=st.integers(0, 15),
        batch_size=st.integers(1, 10**6),
        restart_s=maybe,
        fit_error=maybe,
        noise_scale_error=maybe,
        metric=st.none() | NUMBERS,
        loss=st.none() | NUMBERS,
        samples=COUNTS,
        epoch=st.integers(0, 1000),
        grad_by_type=grad_times(),
        step_error=maybe,
        step_error_doubled=maybe,
        fit_trouble=NAMES,
        regimes=regimes(),
    )


def reasons() -> SearchStrategy[Reason]:
    """One job's part of a decision."""
    return st.builds(
        Reason,
        job_id=JOB_IDS,
        code=st.sampled_from(ReasonCode),
        numbers=FIGURES,
    )


def decisions() -> SearchStrategy[RoundDecided]:
    """A decision as a log has it."""
    change = st.builds(Change, job_id=JOB_IDS, generation=GENERATIONS, allocation=allocations())
    leaving, code = st.lists(NODE_IDS, max_size=3).map(tuple), st.sampled_from(ScaleCode)
    scaling = st.builds(Scaling, nodes=COUNTS, leaving=leaving, code=code, numbers=FIGURES)
    return st.builds(
        RoundDecided,
        at_s=TIMES_S,
        round_index=COUNTS,
        changes=st.lists(change, max_size=3).map(tuple),
        reasons=st.lists(reasons(), max_size=3).map(tuple),
        objective=st.none() | NUMBERS,
        gap=st.none() | st.floats(0, 1),
        solver=st.dictionaries(NAMES, NUMBERS, max_size=2),
        scaling=st.none() | scaling,
    )


def events() -> SearchStrategy[Event]:
    """One event of any kind, for codecs and stores; two of them need not fit together."""
    at, job = {"at_s": TIMES_S}, {"at_s": TIMES_S, "job_id": JOB_IDS}
    return st.one_of(
        st.builds(
            RunOpened,
            **at,
            policy=NAMES,
            round_s=st.floats(0.1, 3600),
            seed=COUNTS,
            settings=st.dictionaries(NAMES, NAMES, max_size=2),
            simulated=st.dictionaries(NAMES, st.floats(0, 100), max_size=2),
        ),
        st.builds(NodeJoined, **at, node=nodes()),
        st.builds(NodeLost, **at, node_id=NODE_IDS),
        st.builds(JobSubmitted, **at, job=job_specs()),
        st.builds(RoundStarted, **at),
        decisions(),
        st.builds(JobCancelled, **job),
        st.builds(JobFinished, **job),
        st.builds(JobFailed, **job, message=NAMES),
        st.builds(JobStarted, **job, generation=GENERATIONS),
        st.builds(JobStopped, **job, generation=GENERATIONS, message=NAMES),
        st.builds(JobReported, **job, report=job_reports()),
        st.builds(BatchChanged, **job, change=batch_changes()),
        st.builds(
            EpochRead, **job, epoch=COUNTS, samples=COUNTS, read_least=COUNTS, read_most=COUNTS
        ),
        st.builds(
            JobReferenced,
            **job,
            egalitarian_s=st.floats(1, 1e9),
            exclusive_s=st.floats(1, 1e9),
            estimated=st.booleans(),
        ),
    )
