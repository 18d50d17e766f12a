"""How many rounds each item of a window gets: counts by price, with a bound (concave knapsack).

Tangents of F_s(h) (``prices``) find its maximum over h and prove it; the least such maximum over
the shares s is the bound. Counts are rounded from the best of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from headway.core.solve.envelope import concave_steps
from headway.core.solve.prices import Point, Prices
from headway.core.solve.window import Window
from headway.core.types import Int64, IntArray

TOLERANCE = 1e-8  # relative, of the bound
CLIMB, SHARES, EXACT = 30, 10, 48  # most evaluations: for one share, of shares, of whole thresholds
WORTH_EXCHANGING = 1e-6  # relative gap
LATER = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)  # longest steps above the best threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class Climbed:
    """The maximum of F for one share, and the tangents that prove it."""

    prices: Prices
    best: Point
    tangents: tuple[Point, ...]
    bound: float

    def excess(self) -> float:
        """The longest remainder less the mean load; of the sign of d bound / d share."""
        window = self.prices.window
        left = window.left[np.arange(len(window.width)), self.prices.taken(self.best)]
        mean = float(window.width @ left) / window.capacity
        return window.tail * self.best.threshold - mean


@dataclass(slots=True)
class Best:
    """The best counts seen so far."""

    window: Window
    rounds: Int64[IntArray, " items"] = field(init=False)
    objective: float = field(init=False)

    def __post_init__(self) -> None:
        """To run nothing is always possible."""
        self.rounds = np.zeros(len(self.window.width), dtype=np.int64)
        self.objective = self.window.objective(self.rounds)

    def offer(self, prices: Prices, point: Point) -> None:
        """Take the counts at a point if they are better."""
        if np.isfinite(point.value):
            self._take(prices.counts(point))

    def exchange(self, prices: Prices, point: Point) -> None:
        """Take what sharing out anew near the stop gives, if it is better."""
        if np.isfinite(point.value):
            self._take(prices.exchanged(point, prices.counts(point)))

    def _take(self, counts: Int64[IntArray, " items"]) -> None:
        objective = self.window.objective(counts)
        if objective > self.objective:
            self.rounds, self.objective = counts, objective


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The best counts that were found, and a bound on all."""

    rounds: Int64[IntArray, " items"]
    bound: float
    evaluations: int


def best_counts(window: Window) -> Counts:
    """Counts whose objective is provably near the best there is."""
    climbed = sorted(_shares(window), key=lambda one: one.bound)
    found = Best(window)
    for one in climbed[:3]:
        step = float(one.prices.fall.max(initial=0.0))
        for later in LATER:
            threshold = one.best.threshold + later * step
            found.offer(one.prices, one.prices.point(threshold, whole=True))
    best = climbed[0]
    if window.finely and best.bound - found.objective > WORTH_EXCHANGING * abs(best.bound):
        longest = float(window.left[np.arange(len(found.rounds)), found.rounds].max())
        for threshold in (best.best.threshold, longest):
            found.exchange(best.prices, best.prices.point(threshold, whole=True))
    bound, exact = _refined(best, found)
    evaluations = sum(len(one.tangents) for one in climbed) + exact
    return Counts(rounds=found.rounds, bound=max(bound, found.objective), evaluations=evaluations)


def _shares(window: Window) -> Iterator[Climbed]:
    """Shares towards the least bound, which is convex in them."""
    fall = concave_steps(-window.left)
    floor = window.left[:, :1] - np.cumsum(np.pad(fall, ((0, 0), (1, 0))), axis=1)
    low, high = 0.0, 1.0
    at_low = _climb(Prices.of(window, low, fall, floor))
    yield at_low
    if at_low.excess() >= 0 or window.price == 0:
        return
    at_high = _climb(Prices.of(window, high, fall, floor))
    yield at_high
    if at_high.excess() <= 0:
        return
    for _ in range(SHARES):
        down, up = window.price * at_low.excess(), window.price * at_high.excess()
        share = low + (at_high.bound - at_low.bound + up * (low - high)) / min(down - up, -1e-300)
        share = min(max(share, 0.95 * low + 0.05 * high), 0.05 * low + 0.95 * high)
        expected = max(at_low.bound + down * (share - low), at_high.bound + up * (share - high))
        at = _climb(Prices.of(window, share, fall, floor))
        yield at
        if at.bound - expected <= TOLERANCE * abs(at.bound):
            return
        if at.excess() < 0:
            low, at_low = share, at
        else:
            high, at_high = share, at


def _climb(prices: Prices) -> Climbed:
    """Where the tangents from both sides meet, again and again (Kelley's cutting planes)."""
    low = float(prices.floor[:, -1].max())
    right = prices.point(max(float(prices.floor[:, 0].max()), low))
    left, at, tangents, bound = None, low, [right], right.value
    for _ in range(CLIMB):
        if right.slope >= 0 or right.threshold <= low:
            break
        point = prices.point(at)
        if np.isfinite(point.value):
            tangents.append(point)
            left, right = (point, right) if point.slope > 0 else (left, point)
        else:
            low = at
        if left is None:
            at, bound = (low + right.threshold) / 2, float(right.at(low))
        else:
            at = _meeting(left, right)
            bound = float(left.at(at))
        if bound - max(one.value for one in tangents) <= TOLERANCE * abs(bound):
            break
    best = max(tangents, key=lambda one: one.value)
    return Climbed(prices=prices, best=best, tangents=tuple(tangents), bound=bound)


def _meeting(left: Point, right: Point) -> float:
    """Where two tangents meet; the left one rises, the right one does not."""
    rise = right.value - left.value + left.slope * left.threshold
    return (rise - right.slope * right.threshold) / (left.slope - right.slope)


def _refined(climbed: Climbed, found: Best) -> tuple[float, int]:
    """A bound from whole rounds: h is a remainder that some item can have; and what it took.

    Only thresholds where the tangents leave room for something better than what was found.
    """
    window, prices = climbed.prices.window, climbed.prices
    longest = window.left[window.left[:, 0] >= window.left[:, -1].max()]
    at = np.unique(longest[longest >= window.left[:, -1].max()])
    above = np.min([one.at(at) for one in climbed.tangents], axis=0)
    bound = found.objective
    order = np.argsort(-above, kind="stable")
    for number, index in enumerate(order.tolist()):
        if above[index] <= max(bound, found.objective):
            return max(bound, found.objective), number
        if number == EXACT:
            return min(climbed.bound, float(above[index])), number
        point = prices.point(float(at[index]), whole=True)
        bound = max(bound, min(point.value, float(above[index])))
        if point.value > found.objective:
            found.offer(prices, point)
    return max(bound, found.objective), len(order)
