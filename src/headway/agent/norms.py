"""Squared norms of preconditioned gradients, parameter by parameter, in single precision at least.

One parameter at a time, so that no second copy of a whole model is ever made.
"""

from typing import final

import torch
from torch import Tensor, nn

from headway.agent.precondition import Preconditioners


@final
class Norms:
    """|P g|^2 and what the differenced estimator needs of two gradients."""

    def __init__(self, preconditioners: Preconditioners) -> None:
        self.unknown = False  # a parameter's optimizer rescales in a way that is not known
        self._preconditioners = preconditioners

    def squared(self, parameter: nn.Parameter, gradient: Tensor) -> Tensor:
        """|P g|^2; NaN where P is not known yet."""
        return _squared(self._seen_by_optimizer(parameter, gradient)[0])

    def pair(self, parameter: nn.Parameter, new: Tensor, old: Tensor) -> tuple[Tensor, Tensor]:
        """|P new|^2 + |P old|^2, and |P (new + old) / 2|^2."""
        new, old = self._seen_by_optimizer(parameter, new, old)
        apart = _squared(new) + _squared(old)
        return apart, apart / 4 + torch.dot(new.flatten(), old.flatten()) / 2

    def _seen_by_optimizer(self, parameter: nn.Parameter, *gradients: Tensor) -> list[Tensor]:
        divisor = self._preconditioners.divisor(parameter)
        self.unknown = self.unknown or not divisor.known
        single = [_single(gradient.detach()) for gradient in gradients]
        return single if divisor.by is None else [one / divisor.by for one in single]


def untouched_rows(gradient: Tensor) -> Tensor:
    """Share of the rows of an embedding that no sample of the step has looked up."""
    return (gradient == 0).all(dim=-1).float().mean()


def _single(gradient: Tensor) -> Tensor:
    """At least single precision: half has too few digits for differences of norms."""
    return gradient.to(torch.promote_types(gradient.dtype, torch.float32))


def _squared(one: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(one)
    return norm.square().float()
