"""A world of one rule in virtual time: a job runs for 100 s after its start."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.core.control.commands import Command, RunJob
from headway.core.control.events import (
    Event,
    JobFinished,
    JobStarted,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    RoundDecided,
    RoundStarted,
)
from headway.core.control.fold import rebuild
from headway.core.control.state import State
from headway.core.explain.forward import Push, Queue, forward
from headway.core.ids import JobId, NodeId
from headway.core.types import BatchContract, GpuBounds, JobSpec, Node
from headway.testing.histories import Scattered

RUN_S, ROUND_S = 100.0, 60.0


def submitted(name: str, at_s: float) -> JobSubmitted:
    spec = JobSpec(
        job_id=JobId(name),
        name=name,
        submitted_s=at_s,
        gpus=GpuBounds(max_gpus=2),
        batch=BatchContract(initial_batch_size=32, max_batch_size=32, max_batch_per_gpu=32),
        requested_gpus=1,
        requested_batch_size=32,
    )
    return JobSubmitted(at_s=at_s, job=spec)


def world(state: State[int], event: Event, commands: tuple[Command, ...], push: Push) -> None:
    """Jobs finish 100 s after their last start; rounds go on while there are jobs."""
    for command in commands:
        if isinstance(command, RunJob):
            push(JobFinished(at_s=state.now_s + RUN_S, job_id=command.job.job_id))
    if isinstance(event, RoundStarted) and state.jobs:
        push(RoundStarted(at_s=event.at_s + ROUND_S))


def run(seed: int, arrivals_s: list[float]) -> tuple[State[int], list[Event]]:
    policy = Scattered()
    events: list[Event] = [NodeJoined(at_s=0.0, node=Node(node_id=NodeId("n0"), gpus=4))]
    events += [submitted(f"job-{index}", at_s) for index, at_s in enumerate(arrivals_s)]
    first_round = RoundStarted(at_s=max(arrivals_s, default=0.0))
    log: list[Event] = []
    state = forward(
        State(memory=policy.start()),
        Queue([*events, first_round]),
        policy,
        np.random.default_rng(seed),
        world,
        log.append,
    )
    return state, log


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0])))
def test_a_queue_is_stable_events_of_one_moment_leave_as_they_came(times_s: list[float]) -> None:
    """A submission and a round at the same second: the round must see the job, always."""
    jobs = [submitted(f"job-{index}", at_s) for index, at_s in enumerate(times_s)]
    queue = Queue(jobs[: len(jobs) // 2])
    for job in jobs[len(jobs) // 2 :]:
        queue.push(job)
    assert len(queue) == len(jobs)
    assert [queue.pop() for _ in jobs] == sorted(jobs, key=lambda job: job.at_s)
    assert not queue


@given(st.integers(0, 2**32 - 1), st.lists(st.floats(0, 500), max_size=6))
def test_it_runs_until_nothing_more_will_happen(seed: int, arrivals_s: list[float]) -> None:
    state, log = run(seed, arrivals_s)
    assert not state.jobs
    assert state.departures == state.arrivals == len(arrivals_s)
    assert [event.at_s for event in log] == sorted(event.at_s for event in log)


@given(st.integers(0, 2**32 - 1))
def test_the_record_has_every_event_and_after_each_round_its_decision(seed: int) -> None:
    state, log = run(seed, [0.0, 10.0, 10.0])
    rounds = [index for index, event in enumerate(log) if isinstance(event, RoundStarted)]
    decisions = [index for index, event in enumerate(log) if isinstance(event, RoundDecided)]
    assert decisions == [index + 1 for index in rounds]
    assert state.memory == len(rounds) > 0
    rebuilt = rebuild(log, State(memory=state.memory))
    assert (rebuilt.now_s, rebuilt.round_index) == (state.now_s, state.round_index)


@given(st.integers(0, 2**32 - 1))
def test_the_same_seed_gives_the_same_log(seed: int) -> None:
    assert run(seed, [0.0, 30.0, 200.0]) == run(seed, [0.0, 30.0, 200.0])


def test_a_node_is_lost_after_all_else_that_happens_at_that_moment() -> None:
    """A job's first step, pushed later for the same moment, was told of a job without GPUs."""
    lost = NodeLost(at_s=5, node_id=NodeId("n0"))
    joined = NodeJoined(at_s=5, node=Node(node_id=NodeId("n1"), gpus=4))
    started = JobStarted(at_s=5, job_id=JobId("a"), generation=1)
    queue = Queue([lost, joined, started, RoundStarted(at_s=6)])
    assert [queue.pop() for _ in range(4)] == [joined, started, lost, RoundStarted(at_s=6)]
