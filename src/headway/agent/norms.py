"""Squared norms of preconditioned gradients, in single precision at least.

Part after part of one parameter after the other: no second copy of a model is ever made, and on a
CPU a part stays in the cache and needs no fresh memory.
"""

from collections.abc import Iterator
from typing import final

import torch
from torch import Tensor, nn

from headway.agent.precondition import Preconditioners

_PART = 1 << 16  # elements
_PART_ON_DEVICE = 1 << 24


@final
class Norms:
    """|P g|^2 and what the differenced estimator needs of two gradients."""

    def __init__(self, preconditioners: Preconditioners) -> None:
        self._preconditioners = preconditioners

    def squared(self, parameter: nn.Parameter, gradient: Tensor) -> Tensor:
        """|P g|^2; NaN where P is not known yet."""
        divisor, flat = self._preconditioners.divisor(parameter), gradient.detach().flatten()
        if divisor is None:
            return _squared(flat)
        parts = [_squared(flat[part] / divisor.of(part)) for part in _parts(flat)]
        return torch.stack(parts).sum() if len(parts) > 1 else parts[0]

    def pair(self, parameter: nn.Parameter, new: Tensor, old: Tensor) -> tuple[Tensor, Tensor]:
        """|P new|^2 + |P old|^2, and |P (new + old) / 2|^2."""
        divisor, new, old = self._preconditioners.divisor(parameter), new.flatten(), old.flatten()
        if divisor is None:
            apart, product = _squared(new) + _squared(old), _product(new, old)
        else:
            parts = []
            for part in _parts(new):
                by = divisor.of(part)
                one, other = new[part] / by, old[part] / by
                parts += [_squared(one) + _squared(other), _product(one, other)]
            apart, product = torch.stack(parts).view(-1, 2).sum(0).unbind()
        return apart, apart / 4 + product / 2


def added(parts: list[Tensor], device: torch.device) -> Tensor:
    """Their sum, on one device; copies between devices do not make the host wait."""
    together = [part.to(device, non_blocking=True) for part in parts]
    return torch.stack(together).sum() if together else torch.zeros((), device=device)


def untouched_rows(gradient: Tensor) -> Tensor:
    """Share of the rows of an embedding that no sample of the step has looked up."""
    untouched = (gradient == 0).all(dim=-1).float()
    return untouched.mean() if untouched.numel() else untouched.sum()


def _parts(flat: Tensor) -> Iterator[slice]:
    """At least one."""
    size = _PART if flat.device.type == "cpu" else _PART_ON_DEVICE
    for start in range(0, max(flat.numel(), 1), size):
        yield slice(start, start + size)


def _squared(one: Tensor) -> Tensor:
    """Half precision has too few digits for differences of norms."""
    exact = torch.promote_types(one.dtype, torch.float32)
    norm: Tensor = torch.linalg.vector_norm(one, dtype=exact)
    return norm.square().float()


def _product(one: Tensor, other: Tensor) -> Tensor:
    exact = torch.promote_types(one.dtype, torch.float32)
    return torch.dot(one.to(exact), other.to(exact)).float()
