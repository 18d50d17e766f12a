"""What an engine is: it makes commands true and says what has happened."""

from collections.abc import Sequence
from typing import Protocol

from headway.core.control.commands import Command, JobCommand, RunJob, ScaleCluster
from headway.core.control.events import Event
from headway.core.errors import UnavailableError
from headway.core.ids import JobId
from headway.core.types import Node
from headway.protocol.messages import AgentReport, Directive


class Engine(Protocol):
    """Where jobs really run.

    A command names the wanted state of one job. An engine applies it as soon as the GPUs it needs
    are free: no two jobs ever share a slot, whatever the order of commands. Applying a command
    whose key was applied before does nothing.
    """

    def nodes(self) -> tuple[Node, ...]:
        """The nodes it has now."""
        ...

    def apply(self, command: JobCommand) -> None:
        """Begin to make a command true; never waits for it."""
        ...

    def adopt(self, wanted: Sequence[RunJob]) -> None:
        """After a restart of the service: find the jobs that still run, and want these.

        Jobs that run but are not wanted are stopped; wanted ones that do not run are reported as
        stopped by the next ``observe``, so that a policy starts them again.
        """
        ...

    def hear(self, message: AgentReport) -> Directive:
        """Take an agent's message; the answer is what the agent must make true."""
        ...

    def observe(self, now_s: float) -> tuple[Event, ...]:
        """What has happened since the last call, stamped with this time."""
        ...

    def holds(self) -> dict[JobId, tuple[int, ...]]:
        """Slots in use, by job; a slot is in use until its last process is gone."""
        ...

    def close(self, *, stop_jobs: bool) -> None:
        """Let go; with ``stop_jobs`` nothing is left running."""
        ...


class Provider(Protocol):
    """Who adds nodes to an engine and takes them away; an engine without one cannot scale."""

    def scale(self, command: ScaleCluster) -> None:
        """Begin to make a command true; the nodes that come and go are told by ``observe``.

        A node that leaves does so when no worker is left on it. Applying a command whose key was
        applied before does nothing.
        """
        ...


def carry(command: Command, engine: Engine, provider: Provider | None) -> None:
    """Give a command to whom it is for.

    Raises:
        UnavailableError: nobody can add or remove nodes.
    """
    if not isinstance(command, ScaleCluster):
        engine.apply(command)
    elif provider is None:
        raise UnavailableError("the engine can neither add nor remove nodes")
    else:
        provider.scale(command)
