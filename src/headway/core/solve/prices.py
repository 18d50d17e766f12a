"""The relaxed window at one price: a threshold on remainders, and steps by value for width.

H is the largest of two terms, so for any share s in [0, 1] it is at least (1 - s) tail h + s area,
where h is the longest remainder and area the mean load. For a share and an h every item gets what
brings its remainder down to h, and the rest of the room goes step by step to the most value for
its width.
That is F_s(h): concave in h, and its maximum bounds the window from above.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from headway.core.solve.envelope import ROUNDING, concave_steps
from headway.core.solve.exchange import share_out
from headway.core.solve.window import Window
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray

AMONG = 24  # items that share out their room anew
FURTHER = 40  # rounds of steps that are looked at for what room is left


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """F at one threshold: what it is, how it falls or rises there, and where the greedy stops."""

    threshold: float
    value: float  # minus infinite if the thresholds cannot be met
    slope: float
    stop: int  # steps before it in the order are taken whole
    forced: Int64[IntArray, " forced"]  # items whose remainder would be above the threshold
    least: Float64[FloatArray, " forced"]  # rounds that these need

    def at(self, threshold: float | FloatArray) -> FloatArray:
        """The tangent: nowhere below F."""
        return np.asarray(self.value + self.slope * (threshold - self.threshold))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """All steps of all items in the order of value for width, for one share of the mean load."""

    window: Window
    share: float
    base: float  # F where nothing is taken and h is 0
    ratio: Float64[FloatArray, " steps"]  # in order
    width: Float64[FloatArray, " steps"]
    order: Int64[IntArray, " steps"]  # item x rounds + step
    place: Int64[IntArray, "items rounds"]  # of each step in the order
    corner: BoolArray  # (items, counts): where the envelope touches the value
    fall: Float64[FloatArray, "items rounds"]  # of the convex function below each remainder
    floor: Float64[FloatArray, "items counts"]  # that function

    @classmethod
    def of(cls, window: Window, share: float, fall: FloatArray, floor: FloatArray) -> Self:
        """The greedy's order for one share."""
        weight = share * window.price / window.capacity
        worth = window.value - weight * window.width[:, None] * window.left
        steps = np.maximum(concave_steps(worth), 0.0)
        ratio = (steps / window.width[:, None]).ravel()
        order = np.argsort(-ratio, kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        width = np.repeat(window.width.astype(np.float64), window.rounds)
        total = np.cumsum(np.concatenate([worth[:, :1], steps], axis=1), axis=1)
        close = 1e-9 * np.abs(worth).max(axis=1, initial=0.0, keepdims=True)
        return cls(
            window=window,
            share=share,
            base=float(worth[:, 0].sum()),
            ratio=ratio[order],
            width=width[order],
            order=order,
            place=place.reshape(steps.shape),
            corner=worth >= total - close,
            fall=fall,
            floor=floor,
        )

    def point(self, threshold: float, *, whole: bool = False) -> Point:
        """F, or with ``whole`` rounds for those who must come down to the threshold."""
        window, rounds = self.window, self.window.rounds
        forced = np.flatnonzero(window.left[:, 0] > threshold)
        left = (window.left if whole else self.floor)[forced]
        level = (left[:, 1:] > threshold).sum(axis=1)  # whole steps that are not enough
        if (level >= rounds).any():
            return _nowhere(threshold)
        fall = self.fall[forced, level]
        enough = 1.0 if whole else (left[np.arange(len(forced)), level] - threshold) / fall
        least = level + enough
        must = np.clip(least[:, None] - np.arange(rounds), 0.0, 1.0) * window.width[forced, None]
        place, total = self.place[forced], float(must.sum())
        if total > window.room * (1 + ROUNDING):
            return _nowhere(threshold)
        free = self.width.copy()
        free[place] -= must
        used = np.cumsum(free) + total
        stop = int(np.searchsorted(used, window.room, side="right"))
        rest = window.room - (float(used[stop - 1]) if stop else total)
        price = float(self.ratio[stop]) if stop < len(self.ratio) else 0.0
        lost = price - self.ratio[place[np.arange(len(forced)), level]]
        lost = np.maximum(lost, 0.0) * window.width[forced] / fall
        beyond = np.where(place >= stop, self.ratio[place] * must, 0.0)
        charge = window.price * window.tail * (1 - self.share)
        value = self.base + float(self.ratio[:stop] @ self.width[:stop]) + price * rest
        return Point(
            threshold=threshold,
            value=value + float(beyond.sum()) - charge * threshold,
            slope=float(lost.sum()) - charge,
            stop=stop,
            forced=forced,
            least=least,
        )

    def taken(self, point: Point) -> Int64[IntArray, " items"]:
        """Whole rounds at a point, those that are forced rounded up."""
        counts = (self.place < point.stop).sum(axis=1)
        least = np.ceil(point.least - ROUNDING).astype(np.int64)
        counts[point.forced] = np.maximum(counts[point.forced], least)
        return np.asarray(counts)

    def counts(self, point: Point) -> Int64[IntArray, " items"]:
        """Rounds at a point: to a corner of the envelope, then what fits into the room left."""
        counts = self.taken(point)
        free = np.ones(len(counts), dtype=np.bool_)
        free[point.forced] = False
        rows = np.arange(len(counts))
        while (inside := free & ~self.corner[rows, counts]).any():
            counts[inside] -= 1
        return _filled(self, counts, point.stop)

    def exchanged(self, point: Point, counts: Int64[IntArray, " items"]) -> IntArray:
        """The same, with the room of those items shared out anew whose steps are near the stop.

        Exact for them also where their value is not concave.
        """
        window = self.window
        near = np.abs(self.place - point.stop).min(axis=1, initial=len(self.order))
        some = np.argsort(near, kind="stable")[:AMONG]
        weight = self.share * window.price / window.capacity
        worth = window.value[some] - weight * window.width[some, None] * window.left[some]
        worth = np.where(window.left[some] <= point.threshold, worth, -np.inf)
        used = window.width * counts
        room = window.room - int(used.sum()) + int(used[some].sum())
        counts = counts.copy()
        counts[some] = share_out(worth, window.width[some], room)
        return counts


def _nowhere(threshold: float) -> Point:
    """No counts come down to this threshold."""
    none = np.zeros(0, dtype=np.int64)
    return Point(
        threshold=threshold,
        value=-np.inf,
        slope=np.inf,
        stop=0,
        forced=none,
        least=none.astype(np.float64),
    )


def _filled(prices: Prices, counts: IntArray, stop: int) -> Int64[IntArray, " items"]:
    """What room is left goes to the next steps that fit it, in their order."""
    window = prices.window
    room = window.room - int(window.width @ counts)
    if room < 0:
        return _trimmed(prices, counts, -room)
    narrowest = int(window.width.min(initial=window.room + 1))
    lowest = max(stop - window.rounds, 0)
    for code in prices.order[lowest : stop + FURTHER * window.rounds].tolist():
        if room < narrowest:
            break
        item, step = divmod(code, window.rounds)
        if counts[item] == step and window.width[item] <= room:
            counts[item] += 1
            room -= int(window.width[item])
    return counts


def _trimmed(prices: Prices, counts: IntArray, excess: int) -> Int64[IntArray, " items"]:
    """Rounding up took too much: the least valuable last rounds are given back."""
    window = prices.window
    for code in prices.order[::-1].tolist():
        if excess <= 0:
            break
        item, step = divmod(code, window.rounds)
        if counts[item] == step + 1:
            counts[item] -= 1
            excess -= int(window.width[item])
    return counts
