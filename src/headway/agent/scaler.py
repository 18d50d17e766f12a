"""Wraps the user's GradScaler: it unscales, steps and moves its scale at the last pass only.

In an earlier pass it would divide gradients in place to which later passes add scaled ones, and
it would take each pass for a step.
"""

from collections.abc import Callable
from typing import Any, final

import torch
from torch import Tensor
from torch.amp import GradScaler
from torch.optim import Optimizer

from headway.agent.job import MisuseError
from headway.agent.optimizer import ScaledOptimizer, Turn


@final
class PassScaler:
    """A scaler around another one. ``skipped`` is told of a step that overflowed: nothing moved."""

    def __init__(self, inner: GradScaler, turn: Turn, skipped: Callable[[], None]) -> None:
        self.inner = inner
        self._turn = turn
        self._skipped = skipped

    def scale(self, outputs: Tensor) -> Tensor:
        """In every pass; the scale stays the same for all passes of a step."""
        return self.inner.scale(outputs)

    def factor(self, device: torch.device) -> Tensor:
        """The present scale, on a device; the host does not wait."""
        return self.inner.scale(torch.ones((), device=device))

    def unscale_(self, optimizer: Optimizer) -> None:
        """At the last pass, as before clipping; before that gradients are not complete."""
        if self._turn.last_pass:
            self.inner.unscale_(optimizer)

    def step(self, optimizer: Optimizer) -> None:
        """At the last pass; an overflow is over then, however the script zeroes its gradients."""
        if not isinstance(optimizer, ScaledOptimizer):
            raise MisuseError("scaler.step(optimizer): give it what job.optimizer returned")
        if not self._turn.last_pass:
            return
        if not optimizer.stepped_by(self.inner.step):
            self._skipped()

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """At the last pass."""
        if self._turn.last_pass:
            self.inner.update(new_scale)

    def get_scale(self) -> float:
        """The host waits for it."""
        return self.inner.get_scale()

    def is_enabled(self) -> bool:
        return self.inner.is_enabled()

    def state_dict(self) -> dict[str, Any]:
        return self.inner.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """A scaler that was not enabled has left nothing to go on from."""
        if state_dict:
            self.inner.load_state_dict(state_dict)
