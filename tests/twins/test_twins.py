"""The second law of the whole: the same events give the same commands, simulated or served.

A run is recorded from a loop in virtual time whose effects react to commands. What happened in it
is then fed, without those effects, through the simulator's loop and through the service's runner.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from headway.core.control.commands import Command, RunJob, ScaleCluster, StopJob
from headway.core.control.events import (
    BatchChanged,
    Event,
    JobCancelled,
    JobFinished,
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
from headway.core.control.lifecycle import Phase
from headway.core.control.state import State
from headway.core.explain.forward import Push, Queue, forward
from headway.core.ids import JobId, NodeId
from headway.core.policy import POLICIES, Policy, make
from headway.core.types import (
    BatchContract,
    BatchMode,
    GpuBounds,
    JobSpec,
    Node,
)
from headway.engines.memory import MemoryEngine
from headway.protocol import eventlog
from headway.service.runner import Parts, Runner
from headway.service.store.memory import MemoryStore
from headway.testing.stores import change, report

ROUND_S = 60.0
OPENED = RunOpened(at_s=0.0, policy="any", round_s=ROUND_S)
NODES = tuple(Node(node_id=NodeId(name), gpus=4) for name in ("n0", "n1"))
WORK_S = 400.0  # GPU-seconds of a job


def job(number: int) -> JobSpec:
    return JobSpec(
        job_id=JobId(f"job-{number}"),
        name="job",
        submitted_s=3.0 + 47.0 * number,
        gpus=GpuBounds(min_gpus=1, max_gpus=4),
        batch=BatchContract(
            initial_batch_size=32,
            max_batch_size=256,
            max_batch_per_gpu=64,
            mode=BatchMode.ADAPTIVE,
        ),
        requested_gpus=1 + number % 4,
        requested_batch_size=32,
    )


@dataclass
class Effects:
    """A world that is simple, but answers: jobs start, report, change, stop and finish."""

    commands: list[tuple[float, Command]] = field(default_factory=list)  # and when
    done_s: dict[JobId, float] = field(default_factory=dict)
    rounds_go_on: bool = False

    def __call__(
        self, state: State[Any], event: Event, commands: tuple[Command, ...], push: Push
    ) -> None:
        self.commands += [(event.at_s, command) for command in commands]
        for command in commands:
            self._obey(command, state, event.at_s, push)
        match event:
            case JobSubmitted() if not self.rounds_go_on:
                self.rounds_go_on = True
                push(RoundStarted(at_s=event.at_s))
            case RoundStarted():
                self._next_round(state, event.at_s, push)

    def _obey(self, command: Command, state: State[Any], at_s: float, push: Push) -> None:
        """What is no news (that a cancelled job has stopped) a service does not log."""
        if isinstance(command, StopJob):
            job = state.jobs.get(command.job_id)
            if job is not None and job.phase is Phase.STOPPING:
                push(JobStopped(at_s=at_s + 2.1, job_id=command.job_id, generation=job.generation))
        elif isinstance(command, ScaleCluster):
            for node_id in command.leaving:
                push(NodeLost(at_s=at_s + 2.3, node_id=node_id))
            more = command.nodes - len(state.nodes) + len(command.leaving)
            for number in range(more):
                new = Node(node_id=NodeId(f"s{command.generation}-{number}"), gpus=4)
                push(NodeJoined(at_s=at_s + 15.7, node=new))
        else:
            started = JobStarted(
                at_s=at_s + 7.3, job_id=command.job.job_id, generation=command.generation
            )
            push(started)

    def _next_round(self, state: State[Any], at_s: float, push: Push) -> None:
        for number, (job_id, held) in enumerate(state.jobs.items()):
            if not held.allocation:
                continue
            done_s = self.done_s.get(job_id, 0.0) + ROUND_S * held.allocation.gpus
            self.done_s[job_id] = done_s
            then_s = at_s + 31.0 + 0.1 * number
            told = replace(report(done_s), noise_scale=50.0 + done_s)
            push(JobReported(at_s=then_s, job_id=job_id, report=told))
            if number % 3 == 0:
                changed = change(samples=int(done_s) + 1)
                push(BatchChanged(at_s=then_s + 0.01, job_id=job_id, change=changed))
            if done_s > WORK_S:
                push(JobFinished(at_s=then_s + 0.02, job_id=job_id))
        if state.jobs:
            push(RoundStarted(at_s=at_s + ROUND_S))


def recorded(policy: Policy[Any]) -> tuple[list[Event], list[Command]]:
    """A run and the commands in it; the last decision about no job at all is left out."""
    effects, log = Effects(), list[Event]()
    jobs = [job(number) for number in range(7)]
    start: list[Event] = [
        OPENED,
        *(NodeJoined(at_s=0.0, node=node) for node in NODES),
        *(JobSubmitted(at_s=job.submitted_s, job=job) for job in jobs),
        JobCancelled(at_s=200.7, job_id=jobs[2].job_id),
        NodeLost(at_s=250.9, node_id=NODES[1].node_id),
        NodeJoined(at_s=400.9, node=NODES[1]),
    ]
    rng = np.random.default_rng(0)
    forward(State(memory=policy.start()), Queue(start), policy, rng, effects, log.append)
    last_s = max(event.at_s for event in log if isinstance(event, JobFinished))
    commands = [command for at_s, command in effects.commands if at_s <= last_s]
    return [event for event in log if event.at_s <= last_s], commands


def simulated(policy: Policy[Any], happened: Sequence[Event]) -> tuple[list[Event], list[Command]]:
    """The simulator's loop."""
    log, commands = list[Event](), list[Command]()
    queue = Queue(event for event in happened if not isinstance(event, RoundDecided))
    rng = np.random.default_rng(0)
    forward(
        State(memory=policy.start()),
        queue,
        policy,
        rng,
        lambda _state, _event, given, _push: commands.extend(given),
        log.append,
    )
    return log, commands


class Playback:
    """An engine that says what happened when its time comes, and takes note of commands."""

    def __init__(self, inner: MemoryEngine) -> None:
        self._inner = inner
        self.happens: list[Event] = []
        self.commands: list[Command] = []

    def observe(self, now_s: float) -> tuple[Event, ...]:
        happens, self.happens = tuple(self.happens), []
        return happens

    def apply(self, command: Command) -> None:
        self.commands.append(command)

    def scale(self, command: ScaleCluster) -> None:
        self.commands.append(command)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def served(policy: Policy[Any], happened: Sequence[Event]) -> tuple[list[Event], list[Command]]:
    """The service's runner; it finds its own times to decide."""
    store, engine, now = MemoryStore(), Playback(MemoryEngine(NODES)), [0.0]
    parts: Parts[Any] = Parts(
        store=store,
        engine=engine,
        policy=policy,
        opening=OPENED,
        rng=np.random.default_rng(0),
        clock=lambda: now[0],
        report_log_s=0.0,
        provider=engine,
    )
    runner = Runner(parts)
    runner.open()
    for at_s in sorted({event.at_s for event in happened if event.at_s > 0}):
        now[0] = at_s
        for event in happened:
            if event.at_s != at_s or isinstance(event, RoundStarted | RoundDecided):
                continue
            if isinstance(event, JobSubmitted | JobCancelled):
                runner._inbox.put(lambda _, event=event: event)  # type: ignore[misc]
            else:
                engine.happens.append(event)
        runner.turn()
    assert runner.trouble is None
    return [logged.event for logged in store.load()], engine.commands


QUICK_LAS = ("las", {"quantum_gpu_s": "60"})  # takes GPUs away from those who run
SCALED = [
    ("pollux+cost", {"max_nodes": "4", "in_rounds": "1"}),
    ("pollux+goodput", {"max_nodes": "4", "in_rounds": "1"}),
    ("las+throughput", {"max_nodes": "4", "in_rounds": "1", "quantum_gpu_s": "60"}),
]
CASES = [*((name, {}) for name in sorted(POLICIES)), QUICK_LAS, *SCALED]


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_one_recorded_run_gives_the_same_commands_in_both(
    name: str, settings: dict[str, str]
) -> None:
    happened, commands = recorded(make(name, settings))
    scales = make(name, settings).traits.most_nodes is not None
    kinds = {RunJob, StopJob, ScaleCluster} if scales else {RunJob, StopJob}
    assert {type(command) for command in commands} == kinds
    simulation = simulated(make(name, settings), happened)
    service = served(make(name, settings), happened)
    assert simulation[1] == commands
    assert service[1] == commands
    lines = [eventlog.encode(event) for event in happened]
    assert [eventlog.encode(event) for event in simulation[0]] == lines
    assert [eventlog.encode(event) for event in service[0]] == lines


def test_the_recorded_runs_have_all_that_can_happen_to_a_job() -> None:
    """Else the test above would say little."""
    runs = [recorded(make(name, settings)) for name, settings in CASES]
    kinds = {type(event) for happened, _ in runs for event in happened}
    assert {JobCancelled, JobStarted, JobStopped, JobFinished, NodeLost, BatchChanged} <= kinds
    generations = [c.generation for _, commands in runs for c in commands if isinstance(c, RunJob)]
    assert max(generations) >= 3  # resizes and restarts
