"""P of Pollux's Eqn. 5: by what an optimizer divides a gradient, from its state before the step.

- Adam, AdamW, NAdam, RAdam: sqrt(v / (1 - beta2^t)) + eps; with AMSGrad the largest v so far.
- AdaGrad: sqrt(sum of squares) + eps. RMSprop: sqrt(v) + eps, with ``centered`` less the mean's.
- SGD, with or without momentum: nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

RARE = 0.1  # of the root mean square of sqrt(v) in a tensor
SETTLED_STEPS = 10  # before that a second moment is no preconditioner
_SECOND_MOMENTS = ("max_exp_avg_sq", "exp_avg_sq", "sum", "square_avg")


@dataclass(frozen=True, slots=True)
class Divisor:
    """What the gradient of one parameter is divided by."""

    by: Tensor | None = None  # None: nothing
    known: bool = True  # False: the optimizer rescales in a way that is not in the list above


@final
class Preconditioners:
    """The optimizers of a job, asked for one parameter at a time.

    Nothing is kept between questions: a divisor is as large as its parameter. Everything stays on
    the device, so asking never makes the host wait.
    """

    def __init__(self) -> None:
        self._optimizers: list[Optimizer] = []
        self._of: dict[int, tuple[Optimizer, dict[str, Any]]] = {}

    def add(self, optimizer: Optimizer) -> None:
        self._optimizers.append(optimizer)

    def refresh(self) -> None:
        """Before the questions of a step: groups may have been added or replaced."""
        self._of = {
            id(parameter): (optimizer, group)
            for optimizer in self._optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        }

    def divisor(self, parameter: nn.Parameter) -> Divisor:
        """NaN while the second moment is young, so that whatever it divides is dropped."""
        optimizer, group = self._of.get(id(parameter), (None, {}))
        if optimizer is None or "eps" not in group:
            return _NONE
        state = optimizer.state.get(parameter)
        if not state:
            return Divisor(torch.full((), torch.nan))
        name = next((name for name in _SECOND_MOMENTS if name in state), None)
        if name is None or "acc_delta" in state:
            return _UNKNOWN
        root = _root(name, state, group)
        return Divisor(_floored(root) + group["eps"])


_NONE = Divisor()
_UNKNOWN = Divisor(known=False)


def _root(name: str, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    """The root of the second moment, without the bias of its start; NaN while it is young."""
    squares: Tensor = state[name].float()
    if state.get("grad_avg") is not None:  # RMSprop, centered
        squares = (squares - state["grad_avg"].float().square()).clamp_(min=0)
    steps = torch.as_tensor(state.get("step", SETTLED_STEPS))
    unbiased = 1 - group["betas"][1] ** steps if name.endswith("exp_avg_sq") else 1.0
    share = torch.where(steps < SETTLED_STEPS, torch.nan, unbiased)
    return (squares / share).sqrt_()  # a scalar of the host: no copy, so no waiting


def _floored(root: Tensor) -> Tensor:
    """Not below a share of its tensor's own size: in rows that are hardly ever touched (of an
    embedding) v is next to nothing, and a single gradient there would outweigh all others."""
    return torch.maximum(root, RARE * torch.linalg.vector_norm(root) / max(root.numel(), 1) ** 0.5)
