"""A cloud in virtual time: nodes that are asked for come after a while, others go."""

from itertools import count
from typing import Any, final

from headway.core.control.commands import ScaleCluster
from headway.core.control.events import NodeJoined, NodeLost
from headway.core.control.state import State
from headway.core.explain.forward import Push
from headway.core.ids import NodeId
from headway.core.types import Node


@final
class Provider:
    """Provides nodes of one kind, ``provision_s`` after each was asked for.

    What has been asked for comes, even if it is not wanted any more; it can be given back then.
    """

    def __init__(self, kind: Node, *, provision_s: float) -> None:
        self._kind = kind
        self._provision_s = provision_s
        self._numbers = count(1)
        self._comes_s: list[float] = []  # when what was asked for comes

    def scale(
        self, state: State[Any], command: ScaleCluster, now_s: float, push: Push
    ) -> list[float]:
        """Push what will become of the nodes; the moments at which it will."""
        self._comes_s = [at_s for at_s in self._comes_s if at_s > now_s]
        stay = len(state.nodes) - len(command.leaving)
        comes_s = now_s + self._provision_s
        more = max(command.nodes - stay - len(self._comes_s), 0)
        for _ in range(more):
            push(NodeJoined(at_s=comes_s, node=self._node()))
        for node_id in command.leaving:
            push(NodeLost(at_s=now_s, node_id=node_id))
        self._comes_s += [comes_s] * more
        return [*([now_s] * len(command.leaving)), *([comes_s] * more)]

    def _node(self) -> Node:
        node_id = NodeId(f"scaled-{next(self._numbers):04}")
        return Node(
            node_id=node_id,
            gpus=self._kind.gpus,
            gpu_type=self._kind.gpu_type,
            rack=self._kind.rack,
            cpus=self._kind.cpus,
            memory_gb=self._kind.memory_gb,
        )
