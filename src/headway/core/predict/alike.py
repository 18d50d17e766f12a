"""How fast a model is at a batch size that nobody has run on so many GPUs: by what others ran.

A GPU has the same work at the same number of examples for it, whatever the number of GPUs. So the
times of one width, by examples for each GPU, tell the shape of those of another.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

# seconds of a step by model, batch size and GPUs, as jobs have measured them
StepTimes = Mapping[tuple[str, int, int], float]


@dataclass(frozen=True, slots=True)
class Curve:
    """Seconds of a step by examples for each GPU, at one number of GPUs."""

    sizes: tuple[float, ...]  # rising
    times_s: tuple[float, ...]

    def covers(self, size: float) -> bool:
        """Whether it was measured on both sides of this size."""
        return self.sizes[0] <= size <= self.sizes[-1]

    def at(self, size: float) -> float:
        """Linear between what was measured; beyond it neither falling nor more than in proportion.

        Of a single point half is taken to be in proportion, as in a fit from one observation.
        """
        if len(self.sizes) == 1:
            return self.times_s[0] * (1.0 + size / self.sizes[0]) / 2
        right = next(
            (index for index in range(1, len(self.sizes)) if size <= self.sizes[index]),
            len(self.sizes) - 1,
        )
        low, high = self.sizes[right - 1], self.sizes[right]
        low_s, high_s = self.times_s[right - 1], self.times_s[right]
        slope = (high_s - low_s) / (high - low)
        near, near_s = (low, low_s) if size < low else (high, high_s)
        if not low <= size <= high:
            slope = min(max(slope, 0.0), near_s / near)
        return near_s + slope * (size - near)


@dataclass(frozen=True, slots=True)
class Alike:
    """All curves that jobs have measured together, by model and number of GPUs."""

    curves: Mapping[str, Mapping[int, Curve]]

    @classmethod
    def of(cls, step_s: StepTimes) -> Self:
        """From single measurements."""
        points: dict[str, dict[int, list[tuple[float, float]]]] = {}
        for (model, size, gpus), time_s in step_s.items():
            points.setdefault(model, {}).setdefault(gpus, []).append((size / gpus, time_s))
        return cls(
            {
                model: {gpus: _curve(some) for gpus, some in widths.items()}
                for model, widths in points.items()
            }
        )

    def step_s(self, model: str, size: int, gpus: int) -> float | None:
        """Seconds of a step; None where what was measured does not tell.

        The nearest size that was measured on as many GPUs, times what the step from it to this one
        costs on another number of GPUs; failing the first, as long as on the other number itself.
        """
        widths = self.curves.get(model, {})
        wanted = size / gpus
        own = widths.get(gpus)
        if own is None:
            shape = _best(widths, gpus, (wanted,), least=1)
            return None if shape is None else shape.at(wanted)
        near = min(
            range(len(own.sizes)), key=lambda index: abs(math.log(own.sizes[index] / wanted))
        )
        shape = _best(widths, gpus, (own.sizes[near], wanted), least=2)
        if shape is None:
            return None
        return own.times_s[near] * shape.at(wanted) / shape.at(own.sizes[near])


def _curve(points: Sequence[tuple[float, float]]) -> Curve:
    sizes, times_s = zip(*sorted(points), strict=True)
    return Curve(sizes, times_s)


def _best(
    widths: Mapping[int, Curve], gpus: int, sizes: Sequence[float], *, least: int
) -> Curve | None:
    """Of the curves with so many points one that covers the sizes, from the nearest number."""
    some = [
        (not all(curve.covers(size) for size in sizes), abs(math.log(width / gpus)), width)
        for width, curve in widths.items()
        if len(curve.sizes) >= least
    ]
    return widths[min(some)[2]] if some else None
