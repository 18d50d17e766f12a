"""Squared norms of preconditioned gradients, in single precision at least.

Part after part of one parameter after the other: no second copy of a model is ever made, and on a
CPU a part stays in the cache and needs no fresh memory.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor, nn

from headway.agent.noise import Pair
from headway.agent.precondition import Preconditioners

_PART = 1 << 16  # elements
_PART_ON_DEVICE = 1 << 24


@dataclass(frozen=True, slots=True)
class Measured:
    """One measured step: sums of squared norms, still on the device, and the sizes they are at."""

    small: Tensor  # this worker's sum over the passes that read samples
    big: Tensor
    doubt: Tensor  # share of the rows of embeddings without a gradient; 1: not all was measured
    passes: int  # over all workers
    small_size: float
    big_size: float
    examples: float  # of training that it stands for

    def pair(self, small: float, big: float, doubt: float = 0.0) -> Pair:
        """With ``small`` summed over all workers."""
        return Pair(
            small_squared=small / self.passes,
            small_size=self.small_size,
            big_squared=big,
            big_size=self.big_size,
            doubt=doubt,
        )


@final
class Norms:
    """|P g|^2, and what is needed of two gradients of the same parameter."""

    def __init__(self, preconditioners: Preconditioners) -> None:
        self._preconditioners = preconditioners

    def squared(self, parameter: nn.Parameter, gradient: Tensor) -> Tensor:
        """|P g|^2; NaN where P is not known yet."""
        divisor, flat = self._preconditioners.divisor(parameter), gradient.detach().flatten()
        if divisor is None:
            return _squared(flat)
        parts = [_weighed(flat[part], divisor.squared(part)) for part in _parts(flat)]
        return torch.stack(parts).sum() if len(parts) > 1 else parts[0]

    def products(self, parameter: nn.Parameter, new: Tensor, old: Tensor) -> list[Tensor]:
        """|P new|^2, |P old|^2 and their product, in turn, of each part."""
        divisor, new, old = self._preconditioners.divisor(parameter), new.flatten(), old.flatten()
        if divisor is None:
            return _products(new, old)
        found = []
        for part in _parts(new):
            found += _products(new[part], old[part], divisor.squared(part))
        return found


@final
class Halves:
    """Two gradients of half a step each, looked at together, parameter after parameter: P is asked
    for once, and that of the whole step follows from them."""

    def __init__(self, norms: Norms) -> None:
        self._norms = norms
        self._found: dict[float, list[Tensor]] = {}  # by what the old ones had been multiplied by

    def clear(self) -> None:
        self._found = {}

    def add(
        self, parameter: nn.Parameter, new: Tensor, old: Tensor | None, *, kept_as: float
    ) -> None:
        """``old`` had been multiplied by ``kept_as``; None: there was none in the first half."""
        old = torch.zeros_like(new) if old is None else old
        products = self._norms.products(parameter, new.detach(), old.detach())
        self._found.setdefault(kept_as, []).extend(products)

    def read(
        self,
        device: torch.device,
        *,
        share: float,
        alone: Iterable[tuple[nn.Parameter, Tensor, float]] = (),
    ) -> tuple[Tensor, Tensor]:
        """Their squared norms added up, and that of the whole, of which the new one is a ``share``.
        ``alone``: old ones without a new one, and what each had been multiplied by."""
        groups = {kept_as: [*found] for kept_as, found in self._found.items()}
        for parameter, kept, kept_as in alone:
            products = self._norms.products(parameter, torch.zeros_like(kept), kept.detach())
            groups.setdefault(kept_as, []).extend(products)
        small = whole = torch.zeros((), device=device)  # sparse gradients alone
        for kept_as, found in groups.items():
            together = torch.stack([one.to(device, non_blocking=True) for one in found])
            new, old, both = together.view(-1, 3).sum(0).unbind()
            old, both, rest = old / kept_as**2, both / kept_as, 1 - share
            small = small + new + old
            whole = whole + share**2 * new + rest**2 * old + 2 * share * rest * both
        return small, whole


def added(parts: list[Tensor], device: torch.device) -> Tensor:
    """Their sum, on one device; copies between devices do not make the host wait."""
    together = [part.to(device, non_blocking=True) for part in parts]
    return torch.stack(together).sum() if together else torch.zeros((), device=device)


def untouched_rows(tables: Iterable[Tensor], device: torch.device) -> Tensor:
    """The largest share of the rows of an embedding that no sample of the step has looked up."""
    shares = [(gradient == 0).all(dim=-1).float() for gradient in tables]
    means = [one.mean().to(device) for one in shares if one.numel()]
    return torch.stack(means).max() if means else torch.zeros((), device=device)


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


def _weighed(one: Tensor, by: Tensor) -> Tensor:
    """|g|^2 with each square divided."""
    one = one.to(torch.promote_types(one.dtype, torch.float32))
    return torch.dot(one / by, one).float()


def _products(one: Tensor, other: Tensor, by: Tensor | None = None) -> list[Tensor]:
    """Of both and of one with the other, each product of two elements divided."""
    exact = torch.promote_types(one.dtype, torch.float32)
    one, other = one.to(exact), other.to(exact)
    if by is None:
        return [torch.dot(*both).float() for both in ((one, one), (other, other), (one, other))]
    weight = by.to(exact).reciprocal_()
    weighed = one * weight
    squares = torch.dot(weighed, one), torch.dot(weight.mul_(other), other)
    return [number.float() for number in (*squares, torch.dot(weighed, other))]
