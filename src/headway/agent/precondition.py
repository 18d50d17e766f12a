"""P of Pollux's Eqn. 5: by what an optimizer divides a gradient, from its state before the step.

- Adam, AdamW, NAdam, RAdam: sqrt(v / (1 - beta2^t)) + eps; with AMSGrad the largest v so far.
- AdaGrad: sqrt(sum of squares) + eps. RMSprop: sqrt(v) + eps, with ``centered`` less the mean's.
- SGD, with or without momentum: nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from headway.agent.sharding import local

RARE = 0.1  # of the root mean square of sqrt(v) in a tensor
SLIGHT = 0.01  # of the least root of a second moment: an epsilon that is left away
SETTLED_STEPS = 10  # before that a second moment is no preconditioner
_TINY = 2 * torch.finfo(torch.float32).tiny  # what is smaller has no inverse
_SECOND_MOMENTS = ("max_exp_avg_sq", "exp_avg_sq", "sum", "square_avg")


@dataclass(frozen=True)
class Divisor:
    """What the gradient of one parameter is divided by, part after part of it.

    Floored at a share of its tensor's own size: in rows that are hardly ever touched (of an
    embedding) v is next to nothing, and a single gradient there would outweigh all others.
    """

    squares: Tensor  # the second moment, flat
    floor: Tensor  # of these
    share: Tensor | float  # of it that has come together since it began at 0
    epsilon: Tensor | float

    def of(self, part: slice) -> Tensor:
        """For these elements of the flat gradient."""
        return self._settled(part).sqrt_().add_(self.epsilon)

    def squared(self, part: slice) -> Tensor:
        """The same, squared; where epsilon is slight, without it and without a root, which takes a
        CPU as long as all else together."""
        if self._without:
            return self._settled(part)
        return self.of(part).square_().clamp_(min=_TINY)

    @cached_property
    def _without(self) -> bool:
        """Asked on the CPU alone: a device would have to be waited for."""
        parts = (self.floor, self.share, self.epsilon)
        if any(isinstance(one, Tensor) and one.device.type != "cpu" for one in parts):
            return False
        least, slight = float(self.floor), float(self.epsilon) / SLIGHT
        # False for NaN; a share next to 0 is no divisor
        return least >= _TINY and slight * slight * float(self.share) <= least

    def _settled(self, part: slice) -> Tensor:
        return torch.maximum(self.squares[part].float(), self.floor).div_(self.share)


@final
class Preconditioners:
    """The optimizers of a job, asked for one parameter at a time.

    Everything stays on the device, so asking never makes the host wait.
    """

    def __init__(self) -> None:
        self.unknown = False  # somebody rescales in a way that is not in the list above
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

    def divisor(self, parameter: nn.Parameter) -> Divisor | None:
        """None: nothing. NaN while the second moment is young: what it divides is dropped."""
        optimizer, group = self._of.get(id(parameter), (None, {}))
        if optimizer is None or "eps" not in group:
            return None
        state = optimizer.state.get(parameter)
        if not state:
            nothing = torch.full((), torch.nan)
            return Divisor(torch.zeros_like(local(parameter)).flatten(), nothing, 1.0, 0.0)
        name = next((name for name in _SECOND_MOMENTS if name in state), None)
        if name is None or "acc_delta" in state:
            self.unknown = True
            return None
        squares = _squares(name, state)
        floor = RARE**2 * squares.mean(dtype=torch.float32)
        return Divisor(squares, floor, _share(name, state, group), group["eps"])


def _squares(name: str, state: Mapping[str, Any]) -> Tensor:
    squares = local(state[name])
    if state.get("grad_avg") is not None:  # RMSprop, centered
        squares = squares - local(state["grad_avg"]).square()
    return squares.flatten()


def _share(name: str, state: Mapping[str, Any], group: Mapping[str, Any]) -> Tensor:
    """1 - beta2^t, or 1 where the moment is a sum; NaN while it is young.

    A scalar of the host may divide what is on a device: nothing is copied, nobody waits.
    """
    steps = torch.as_tensor(state.get("step", SETTLED_STEPS))
    share = 1 - group["betas"][1] ** steps if name.endswith("exp_avg_sq") else 1.0
    return torch.where(steps < SETTLED_STEPS, torch.nan, share)
