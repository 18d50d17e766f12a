"""A model that ``fully_shard`` has cut up: when its gradients are reduced."""

from typing import Any, final

from torch import nn

from headway.agent.replica import Replica


@final
class Synchronised:
    """It belongs to one set of workers: no other can take its place in memory."""

    movable = False

    def __init__(self, model: nn.Module) -> None:
        self._model: Any = model

    def synchronises_at(self, last: bool) -> None:
        """Reduce in the last pass of a step; before that gradients add up where they are."""
        self._model.set_requires_gradient_sync(last)

    def synchronise(self, *, same: bool = False) -> None:
        """Nothing: it is, as long as it lives."""

    def part(self) -> None:
        """Nothing: it ends with its workers."""


AnyReplica = Replica | Synchronised
