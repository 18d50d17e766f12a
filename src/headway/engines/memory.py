"""An engine that runs nothing: it remembers what it was told and confirms it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import final

from headway.core.control.commands import JobCommand, RunJob, ScaleCluster, StopJob
from headway.core.control.events import (
    Event,
    JobFailed,
    JobFinished,
    JobStarted,
    JobStopped,
    NodeJoined,
    NodeLost,
)
from headway.core.ids import JobId, NodeId
from headway.core.types import Node
from headway.protocol.messages import AgentPhase, AgentReport, Directive


@final
@dataclass
class MemoryEngine:
    """For tests and twins: a command is true as soon as it is given and there is room."""

    _nodes: tuple[Node, ...]
    _leaving: frozenset[NodeId] = frozenset()
    _applied: set[str] = field(default_factory=set)
    _running: dict[JobId, RunJob] = field(default_factory=dict)
    _waiting: dict[JobId, RunJob] = field(default_factory=dict)
    _events: list[Event] = field(default_factory=list)

    def nodes(self) -> tuple[Node, ...]:
        """The nodes it was given."""
        return self._nodes

    def apply(self, command: JobCommand) -> None:
        """Make a command true now, or when other jobs have made room."""
        if command.key in self._applied:
            return
        self._applied.add(command.key)
        if isinstance(command, StopJob):
            self._stop(command)
        else:
            self._waiting[command.job.job_id] = command
        self._start_what_fits()

    def scale(self, command: ScaleCluster) -> None:
        """Nodes like its first come at once; one that leaves goes when no job runs on it."""
        if command.key in self._applied:
            return
        self._applied.add(command.key)
        self._leaving = frozenset(command.leaving) & {node.node_id for node in self._nodes}
        more = command.nodes + len(self._leaving) - len(self._nodes)
        for number in range(more):
            node_id = NodeId(f"{self._nodes[0].node_id}-{command.generation}-{number}")
            self._nodes += (replace(self._nodes[0], node_id=node_id),)
            self._events.append(NodeJoined(at_s=0.0, node=self._nodes[-1]))
        self._start_what_fits()

    def adopt(self, wanted: Sequence[RunJob]) -> None:
        """Nothing outlives this engine, so nothing of this runs but what runs already."""
        ids = {run.job.job_id for run in wanted}
        self._running = {key: run for key, run in self._running.items() if key in ids}
        for run in wanted:
            if run.job.job_id not in self._running:
                self._stopped(run.job.job_id, run.generation, "it was not running any more")
        self._start_what_fits()

    def hear(self, message: AgentReport) -> Directive:
        """Take the word of an agent; there are none but those that a test plays."""
        job_id = JobId(message.job_id)
        if message.phase in {AgentPhase.FINISHED, AgentPhase.FAILED}:
            self._end(job_id, message)
        run = self._running.get(job_id)
        if run is None:
            return Directive(generation=message.generation, slots=(), adapts=False, cancel=True)
        return Directive(generation=run.generation, slots=self.holds()[job_id], adapts=run.adapts)

    def observe(self, now_s: float) -> tuple[Event, ...]:
        """What has become true since the last call."""
        events = tuple(replace(event, at_s=now_s) for event in self._events)
        self._events.clear()
        return events

    def holds(self) -> dict[JobId, tuple[int, ...]]:
        """Slots by job, counted through all nodes in their order."""
        free = self._slots()
        return {
            job_id: tuple(
                next(free[node_id])
                for node_id, gpus in run.allocation.per_node
                for _ in range(gpus)
            )
            for job_id, run in self._running.items()
        }

    def close(self, *, stop_jobs: bool) -> None:
        """Forget what runs, if so wished."""
        if stop_jobs:
            self._running.clear()
            self._waiting.clear()

    def _slots(self) -> dict[NodeId, Iterator[int]]:
        firsts = [
            sum(node.gpus for node in self._nodes[:index]) for index in range(len(self._nodes))
        ]
        return {node.node_id: count(first) for node, first in zip(self._nodes, firsts, strict=True)}

    def _stop(self, command: StopJob) -> None:
        self._running.pop(command.job_id, None)
        self._waiting.pop(command.job_id, None)
        self._stopped(command.job_id, command.generation, "")

    def _stopped(self, job_id: JobId, generation: int, message: str) -> None:
        stopped = JobStopped(at_s=0.0, job_id=job_id, generation=generation, message=message)
        self._events.append(stopped)

    def _end(self, job_id: JobId, message: AgentReport) -> None:
        if self._running.pop(job_id, None) is None:
            return
        if message.phase is AgentPhase.FINISHED:
            self._events.append(JobFinished(at_s=0.0, job_id=job_id))
        else:
            self._events.append(JobFailed(at_s=0.0, job_id=job_id, message=message.message))
        self._start_what_fits()

    def _start_what_fits(self) -> None:
        """Until nothing more fits: one that shrinks makes room for one that was asked before."""
        fitting = [run for run in self._waiting.values() if self._fits(run)]
        while fitting:
            run = fitting[0]
            del self._waiting[run.job.job_id]
            self._running[run.job.job_id] = run
            started = JobStarted(at_s=0.0, job_id=run.job.job_id, generation=run.generation)
            self._events.append(started)
            fitting = [run for run in self._waiting.values() if self._fits(run)]
        self._let_go()

    def _let_go(self) -> None:
        held = {node for run in self._running.values() for node, _ in run.allocation.per_node}
        gone = self._leaving - held
        self._leaving -= gone
        self._nodes = tuple(node for node in self._nodes if node.node_id not in gone)
        self._events += [NodeLost(at_s=0.0, node_id=node_id) for node_id in sorted(gone)]

    def _fits(self, run: RunJob) -> bool:
        others = [other for key, other in self._running.items() if key != run.job.job_id]
        return all(
            sum(other.allocation.on(node.node_id) for other in (*others, run)) <= node.gpus
            for node in self._nodes
        )
