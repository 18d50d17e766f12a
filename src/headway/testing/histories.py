"""Legal sequences of events, as Hypothesis strategies, and what the scheduler made of them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from hypothesis import strategies as st

from headway.core.control.commands import Command
from headway.core.control.events import (
    BatchChanged,
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
    RoundStarted,
    RunOpened,
)
from headway.core.control.state import JobState, State
from headway.core.control.step import records, step
from headway.core.ids import JobId, NodeId
from headway.core.policy.base import Policy, Traits
from headway.core.types import Allocation, Decision, JobView, Reason, ReasonCode, Snapshot
from headway.testing.batches import batch_changes
from headway.testing.strategies import job_reports, job_specs, nodes

DELAYS_S = st.sampled_from([0.0, 0.0, 0.5, 10.0, 60.0]) | st.floats(0, 1e4)
# made once: to make a strategy costs more than to draw from it
NODES, SPECS = nodes(), job_specs(max_gpus=4)
REPORTS, CHANGES = job_reports(), batch_changes()
CODES = (ReasonCode.GREW, ReasonCode.WAITING)  # few, so that they often repeat
NODE_IDS = tuple(NodeId(f"n{index}") for index in range(5))


@final
@dataclass(frozen=True)
class Scattered:
    """A policy that knows nothing and decides by chance; always within capacity and bounds."""

    keeps_share: float = 0.3  # of the jobs, that keep what they hold

    @property
    def traits(self) -> Traits:
        """It resizes, moves and stops at will."""
        return Traits(adapts_batch_size=True, resizes=True)

    def start(self) -> int:
        """It counts its decisions, to show that memory is handed on."""
        return 0

    def decide(
        self, snapshot: Snapshot, memory: int, rng: np.random.Generator
    ) -> tuple[Decision, int]:
        """Random sizes on random nodes, for jobs in random order."""
        free = {node.node_id: node.gpus for node in snapshot.nodes}
        keep = rng.random(len(snapshot.jobs)) < self.keeps_share
        held = {
            job.spec.job_id: job.allocation
            for job, keeps in zip(snapshot.jobs, keep, strict=True)
            if keeps and _take(free, job.allocation)
        }
        others = [job for job in snapshot.jobs if job.spec.job_id not in held]
        for index in rng.permutation(len(others)):
            job = others[index]
            held[job.spec.job_id] = self._placed(job, free, rng)
        codes = rng.integers(len(CODES), size=len(snapshot.jobs))
        told = (
            Reason(job_id=job.spec.job_id, code=CODES[code])
            for job, code in zip(snapshot.jobs, codes, strict=True)
        )
        return Decision(allocations=held, reasons=tuple(told), gap=rng.random()), memory + 1

    def _placed(
        self, job: JobView, free: dict[NodeId, int], rng: np.random.Generator
    ) -> Allocation:
        sizes = (0, *job.spec.gpus.allowed(sum(free.values())))
        slots = [node_id for node_id, gpus in sorted(free.items()) for _ in range(gpus)]
        chosen = rng.permutation(len(slots))[: rng.choice(sizes)]
        names = [slots[index] for index in chosen]
        allocation = Allocation.of({node_id: names.count(node_id) for node_id in names})
        _take(free, allocation)
        return allocation


def _take(free: dict[NodeId, int], allocation: Allocation) -> bool:
    if any(free.get(node_id, 0) < gpus for node_id, gpus in allocation.per_node):
        return False
    for node_id, gpus in allocation.per_node:
        free[node_id] -= gpus
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Events from outside, and after each of them the state and the commands."""

    inputs: tuple[Event, ...]
    states: tuple[State[int], ...]  # the first one is from before any event
    commands: tuple[tuple[Command, ...], ...]
    log: tuple[Event, ...]  # inputs and decisions, as a driver writes them


@dataclass(slots=True)
class _Player:
    """Plays events to the scheduler and keeps everything."""

    policy: Policy[int]
    rng: np.random.Generator
    states: list[State[int]]
    inputs: list[Event] = field(default_factory=list)
    commands: list[tuple[Command, ...]] = field(default_factory=list)
    log: list[Event] = field(default_factory=list)
    submitted: int = 0

    @property
    def state(self) -> State[int]:
        return self.states[-1]

    def play(self, event: Event) -> None:
        after, commands = step(self.state, event, self.policy, self.rng)
        self.inputs.append(event)
        self.states.append(after)
        self.commands.append(commands)
        self.log.extend(records(event, after))


Make = Callable[[st.DrawFn, _Player, float], Event | None]


@st.composite
def histories(draw: st.DrawFn, max_events: int = 40) -> History:
    """A cluster's life under ``Scattered``: jobs come, run, move and end; nodes come and go."""
    policy = Scattered(keeps_share=draw(st.sampled_from([0.0, 0.3, 0.9])))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    player = _Player(policy, rng, [State(memory=policy.start())])
    player.play(RunOpened(at_s=0.0, policy="scattered", round_s=60.0))
    player.play(NodeJoined(at_s=0.0, node=replace(draw(NODES), node_id=NODE_IDS[0])))
    for _ in range(draw(st.integers(0, max_events))):
        at_s = player.state.now_s + draw(DELAYS_S)
        event = draw(st.sampled_from(MAKERS))(draw, player, at_s)
        if event is not None:
            player.play(event)
    return History(
        inputs=tuple(player.inputs),
        states=tuple(player.states),
        commands=tuple(player.commands),
        log=tuple(player.log),
    )


def _joined(draw: st.DrawFn, player: _Player, at_s: float) -> Event | None:
    absent = [node_id for node_id in NODE_IDS if node_id not in player.state.nodes]
    return (
        NodeJoined(at_s=at_s, node=replace(draw(NODES), node_id=draw(st.sampled_from(absent))))
        if absent
        else None
    )


def _lost(draw: st.DrawFn, player: _Player, at_s: float) -> Event | None:
    return NodeLost(at_s=at_s, node_id=draw(st.sampled_from(NODE_IDS)))


def _submitted(draw: st.DrawFn, player: _Player, at_s: float) -> Event | None:
    job_id = JobId(f"job-{player.submitted}")
    player.submitted += 1
    spec = replace(draw(SPECS), job_id=job_id, submitted_s=at_s)
    return JobSubmitted(at_s=at_s, job=spec)


def _round(draw: st.DrawFn, player: _Player, at_s: float) -> Event | None:
    return RoundStarted(at_s=at_s)


def _active(draw: st.DrawFn, player: _Player) -> JobState | None:
    jobs = tuple(player.state.jobs.values())
    return draw(st.sampled_from(jobs)) if jobs else None


def _started(draw: st.DrawFn, player: _Player, at_s: float) -> Event | None:
    job = _active(draw, player)
    if job is None or not job.generation:
        return None
    late = draw(st.sampled_from([0, 0, 0, 1]))  # news of a generation that is no more
    return JobStarted(at_s=at_s, job_id=job.spec.job_id, generation=job.generation - late)


def _stopped(draw: st.DrawFn, player: _Player, at_s: float) -> Event | None:
    job = _active(draw, player)
    if job is None or not job.generation:
        return None
    late = draw(st.sampled_from([0, 0, 0, 1]))
    return JobStopped(at_s=at_s, job_id=job.spec.job_id, generation=job.generation - late)


def _ended(draw: st.DrawFn, player: _Player, at_s: float) -> Event | None:
    if not player.submitted:
        return None
    job_id = JobId(f"job-{draw(st.integers(0, player.submitted - 1))}")  # ended before, perhaps
    kind = draw(st.integers(0, 2))
    if kind == 0:
        return JobFinished(at_s=at_s, job_id=job_id)
    if kind == 1:
        return JobFailed(at_s=at_s, job_id=job_id, message="out of memory")
    return JobCancelled(at_s=at_s, job_id=job_id)


def _told(draw: st.DrawFn, player: _Player, at_s: float) -> Event | None:
    if not player.submitted:
        return None
    job_id = JobId(f"job-{draw(st.integers(0, player.submitted - 1))}")
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return JobReported(at_s=at_s, job_id=job_id, report=draw(REPORTS))
    if kind == 1:
        return BatchChanged(at_s=at_s, job_id=job_id, change=draw(CHANGES))
    if kind == 2:
        return EpochRead(at_s=at_s, job_id=job_id, epoch=0, samples=9, read_least=1, read_most=1)
    seconds = draw(st.floats(1, 1e5))
    return JobReferenced(at_s=at_s, job_id=job_id, egalitarian_s=2 * seconds, exclusive_s=seconds)


MAKERS: tuple[Make, ...] = (
    _submitted,
    _submitted,
    _round,
    _round,
    _round,
    _started,
    _started,
    _stopped,
    _ended,
    _told,
    _joined,
    _lost,
)


def shifted(event: Event, by_s: float) -> Event:
    """The same event at another time; a job's submission moves with it."""
    moved = replace(event, at_s=event.at_s + by_s)
    if isinstance(moved, JobSubmitted):
        spec = replace(moved.job, submitted_s=moved.job.submitted_s + by_s)
        return replace(moved, job=spec)
    return moved
