"""Gradients of a step in two equal halves, weighed once, where they lie, and in no copies."""

from typing import final

from torch import Tensor, nn

HALF = 0.5  # a power of two: the same bits as with a copy of each gradient, but for overflows


@final
class Owed:
    """Parameters whose gradient of the first half lies there whole, and nothing else with it."""

    def __init__(self) -> None:
        self._parameters: dict[int, nn.Parameter] = {}

    def takes(self, parameter: nn.Parameter, gradient: Tensor, half: int) -> bool:
        """Whether a gradient of half 0 or 1 is to come to lie there as it is."""
        if half == 0 and parameter.grad is None and not gradient.is_sparse:
            self._parameters[id(parameter)] = parameter
        return self.has(parameter)

    def has(self, parameter: nn.Parameter) -> bool:
        """Whether it is to be halved yet."""
        return id(parameter) in self._parameters

    def settle(self) -> None:
        """Halve them: when both halves have been added up, or where the second one gives none."""
        for parameter in self._parameters.values():
            if parameter.grad is not None:
                parameter.grad.detach().mul_(HALF)
        self._parameters.clear()
