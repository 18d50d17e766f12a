"""A runner with a clock that a test turns, and a policy whose choices are plain to see."""

from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import numpy as np
import pytest

from headway.core.control.events import Event, JobSubmitted, RunOpened
from headway.core.ids import JobId, NodeId
from headway.core.policy.base import Traits
from headway.core.types import Allocation, Decision, Node, Reason, ReasonCode, Snapshot
from headway.engines.base import Engine
from headway.engines.memory import MemoryEngine
from headway.protocol.messages import AgentPhase, AgentReport
from headway.service.runner import Parts, Runner
from headway.service.store.base import Store
from headway.service.store.memory import MemoryStore
from headway.testing.stores import spec

NODE = NodeId("n0")


@dataclass(frozen=True)
class Share:
    """All jobs of the first so many hold the same: enough to start, resize and stop them."""

    traits = Traits(resizes=True)

    def start(self) -> None:
        """Nothing to remember."""

    def decide(
        self, snapshot: Snapshot, memory: None, rng: np.random.Generator
    ) -> tuple[Decision, None]:
        first = snapshot.jobs[: snapshot.gpus]
        each = max(snapshot.gpus // max(len(first), 1), 1)
        held = {job.spec.job_id: min(each, job.spec.gpus.max_gpus) for job in first}
        reasons = tuple(
            Reason(
                job_id=job.spec.job_id,
                code=ReasonCode.KEPT if job.spec.job_id in held else ReasonCode.WAITING,
                numbers=(("gpus", held.get(job.spec.job_id, 0)),),
            )
            for job in snapshot.jobs
        )
        node = snapshot.nodes[0].node_id if snapshot.nodes else NODE
        allocations = {job_id: Allocation.of({node: gpus}) for job_id, gpus in held.items()}
        return Decision(allocations=allocations, reasons=reasons), None


@dataclass
class World:
    """A service without an API: what a test does to it, and what it can see."""

    store: Store = field(default_factory=MemoryStore)
    engine: Engine = field(default_factory=lambda: MemoryEngine((Node(node_id=NODE, gpus=4),)))
    policy: Any = field(default_factory=Share)
    policy_name: str = "share"
    now_s: float = 1000.0
    runner: Runner[Any] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """A new process on the same store and the same engine."""
        self.runner = Runner(
            Parts(
                store=self.store,
                engine=self.engine,
                policy=self.policy,
                opening=RunOpened(at_s=0.0, policy=self.policy_name, round_s=60.0),
                rng=np.random.default_rng(0),
                clock=lambda: self.now_s,
                report_log_s=5.0,
            )
        )
        self.runner.open()

    def after(self, seconds: float) -> None:
        """Let time pass, then once around."""
        self.now_s += seconds
        self.runner.turn()

    def submit(self, job_id: str, max_gpus: int = 2) -> None:
        """As the API does, but without waiting."""
        self.put(JobSubmitted(at_s=self.now_s, job=spec(job_id, self.now_s, max_gpus)))

    def put(self, event: Event) -> Any:
        """An event from the API."""
        return self.runner._inbox.put(lambda _: event)

    def hear(self, job_id: str, phase: AgentPhase = AgentPhase.RUNNING, **fields: Any) -> None:
        """A message of an agent; it is answered when its news is kept."""
        job = self.runner.state.jobs.get(JobId(job_id))
        generation = fields.pop("generation", job.generation if job else 0)
        message = AgentReport(job_id=job_id, phase=phase, generation=generation, **fields)
        agent = Thread(target=self.runner.hear, args=(message,))
        agent.start()
        while agent.is_alive():
            self.runner.turn()
            agent.join(0.01)

    def log(self, *kinds: type) -> list[Event]:
        """The events that are kept, of these kinds or all."""
        events = [logged.event for logged in self.store.load()]
        return [event for event in events if not kinds or isinstance(event, kinds)]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(scope="session")
def make_world() -> type[World]:
    return World
