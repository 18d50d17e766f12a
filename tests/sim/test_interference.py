"""Jobs that span nodes and share one slow each other down; measured against times by hand."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.events import JobFinished
from headway.core.ids import JobId, NodeId
from headway.core.metrics import per_job
from headway.core.policy import Traits, make
from headway.core.types import Allocation, Decision, Snapshot
from headway.sim.driver import Setup
from headway.sim.interference import disturbed


def on(**gpus: int) -> Allocation:
    return Allocation.of({NodeId(name): count for name, count in gpus.items()})


A, B, C = JobId("a"), JobId("b"), JobId("c")


def test_only_spanning_jobs_that_share_a_node_disturb_each_other() -> None:
    local, apart = on(n0=2), on(n2=1, n3=1)
    assert disturbed({A: on(n0=1, n1=1), B: local, C: apart}) == frozenset()
    assert disturbed({A: on(n0=1, n1=1), B: on(n1=1, n2=1), C: local}) == {A, B}
    assert disturbed({A: on(n0=1, n1=1), B: on(n1=1, n2=1), C: apart}) == {A, B, C}


@given(
    st.dictionaries(
        st.sampled_from([JobId(name) for name in "abcdef"]),
        st.dictionaries(st.sampled_from([NodeId(f"n{i}") for i in range(4)]), st.integers(1, 4)),
    )
)
def test_who_is_disturbed_has_a_neighbour_that_is_too(held: dict) -> None:
    allocations = {job_id: Allocation.of(gpus) for job_id, gpus in held.items()}
    slow = disturbed(allocations)
    for job_id in slow:
        nodes = set(held[job_id])
        assert len(nodes) > 1
        assert any(nodes & set(held[other]) for other in slow - {job_id})


@final
@dataclass(frozen=True)
class Fixed:
    """Gives every job what it was told to, from the first round on."""

    allocations: dict[JobId, Allocation]

    traits = Traits()

    def start(self) -> None:
        return None

    def decide(
        self, snapshot: Snapshot, memory: None, rng: np.random.Generator
    ) -> tuple[Decision, None]:
        active = {job.spec.job_id for job in snapshot.jobs}
        return Decision(
            allocations={job: own for job, own in self.allocations.items() if job in active}
        ), None


def finishes_s(kit: Any, interference: float, allocations: dict[JobId, Allocation]) -> list[float]:
    jobs = [kit.job("a", gpus=2), kit.job("b", gpus=2, work_examples=24_000.0)]
    setup = Setup(
        workload=kit.workload(*jobs), cluster=kit.cluster("3x4"), interference=interference
    )
    log, _ = kit.run(setup, Fixed(allocations))
    return [event.at_s for event in log if isinstance(event, JobFinished)]


def test_both_are_slowed_until_the_round_in_which_one_of_them_ends(kit: Any) -> None:
    """Of 60 s (a) and 120 s (b) of work after a restart of 30 s, at half speed: a ends at 150 s.

    By the round at 180 s b has done 75 s of its own; the other 45 s go at full speed.
    """
    sharing = {A: on(**{"node-0": 1, "node-1": 1}), B: on(**{"node-1": 1, "node-2": 1})}
    assert finishes_s(kit, 0.0, sharing) == pytest.approx([90.0, 150.0])
    assert finishes_s(kit, 0.5, sharing) == pytest.approx([150.0, 225.0])


def test_on_nodes_of_their_own_nobody_is_slowed(kit: Any) -> None:
    apart = {A: on(**{"node-0": 1, "node-1": 1}), B: on(**{"node-1": 2})}
    assert finishes_s(kit, 0.5, apart) == finishes_s(kit, 0.0, apart)


def log_of(kit: Any, interference: float, **settings: str) -> list[Any]:
    """Two jobs of three GPUs on three nodes of two: together they must share the second node."""
    jobs = [kit.job(name, gpus=3, work_examples=100_000.0) for name in "ab"]
    setup = Setup(workload=kit.workload(*jobs), cluster=kit.cluster("3x2"))
    log, _ = kit.run(replace(setup, interference=interference), make("pollux", settings))
    return log[1:]


def jcts_s(log: list[Any]) -> list[float]:
    return [job.jct_s for job in per_job(log) if job.jct_s is not None]


def test_where_pollux_avoids_interference_it_changes_nothing(kit: Any) -> None:
    """Pollux (OSDI'21), section 5.3.2. Without turns the second job waits for the first."""
    assert log_of(kit, 0.5) == log_of(kit, 0.0)
    first, second = sorted(jcts_s(log_of(kit, 0.5, turn_gpu_s="0")))
    assert second > 1.9 * first


def test_where_it_does_not_both_run_at_once_and_each_slows_the_other(kit: Any) -> None:
    """100,000 examples in passes of 11 examples on each of three GPUs, and 30 s to start."""
    run_s = 100_000 / 32 * 0.11
    shared = jcts_s(log_of(kit, 0.0, avoid_interference="false"))
    assert shared == pytest.approx([30 + run_s] * 2)
    slowed = jcts_s(log_of(kit, 0.5, avoid_interference="false"))
    assert slowed == pytest.approx([30 + 2 * run_s] * 2)
