"""The gradients of the step before, kept for the differenced estimator."""

from collections.abc import Mapping, Sequence
from typing import final

from torch import Tensor, nn

Gradients = Sequence[tuple[nn.Parameter, Tensor]]


@final
class Previous:
    """One copy of a model's gradients, in memory that is used again."""

    def __init__(self) -> None:
        self._kept: dict[int, Tensor] = {}
        self._size = 0  # samples of that step; 0: nothing is kept

    def of(self, size: int, gradients: Gradients) -> Mapping[int, Tensor] | None:
        """By parameter, if the step before had as many samples and gradients of the same."""
        if self._size != size or self._kept.keys() != {id(p) for p, _ in gradients}:
            return None
        return self._kept

    def keep(self, size: int, gradients: Gradients) -> None:
        """Until the next call."""
        self._size = size if gradients else 0
        if gradients:
            self._kept = {id(p): _copied(new, self._kept.get(id(p))) for p, new in gradients}

    def forget(self) -> None:
        """It was of another kind of step; the memory stays."""
        self._size = 0

    def rescale(self, by: Tensor) -> None:
        """The loss is scaled by so much more."""
        for kept in self._kept.values() if self._size else ():
            kept.mul_(by.to(kept.device))


def _copied(gradient: Tensor, into: Tensor | None) -> Tensor:
    fits = into is not None and into.shape == gradient.shape and into.dtype == gradient.dtype
    if into is None or not fits or into.device != gradient.device:
        return gradient.detach().clone()
    return into.copy_(gradient.detach())
