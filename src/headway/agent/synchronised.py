"""A model that several workers hold: when its gradients are reduced."""

from typing import Any, final

from torch import nn
from torch.nn.parallel import DistributedDataParallel


@final
class Synchronised:
    """DistributedDataParallel, or what ``fully_shard`` made of a model."""

    def __init__(self, model: nn.Module) -> None:
        self._model: Any = model

    def synchronises_at(self, last: bool) -> None:
        """Reduce in the last pass of a step; before that gradients add up where they are."""
        if isinstance(self._model, DistributedDataParallel):
            self._model.require_backward_grad_sync = last
        else:
            self._model.set_requires_gradient_sync(last)
