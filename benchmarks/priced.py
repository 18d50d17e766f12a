"""A lower bound on the sum of completion times, by prices for GPU-seconds.

Put any price p >= 0 on a GPU-second of each interval. All that jobs pay together is at most what
the whole cluster costs, so the sum of completion times of any schedule is no less (weak duality)
than

    sum over jobs of  min over the job's own schedules (its completion + what it pays)
    - the cost of the whole cluster.

A job's own minimum is no less than the following, for any values v >= 0 of a unit of each part of
its work. All of its work is worth sum v W, and a second in an interval is worth at most
h(p) = max(0, max over parts and sizes (v rate - p gpus)) more than it pays. So with its completion
at C it pays at least sum v W - the integral of h up to C. With C, this is linear within an
interval, so least at one of its two ends; after the last interval C alone counts. Parts in any
order and sizes that change at no cost are more than a real job has, which only lowers the bound.

Which values are tried: those that make the minimum exact where the price is constant,
v = min over sizes (price gpus + time) / rate with time = 1, and other times for prices that change.
Which prices: they climb where more is asked for than there is. Neither choice can make it invalid.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from headway.core.types import Float64, FloatArray, Int64, IntArray

LEAPS, STEPS = 80, 50
KEPT_IN_LEAPS, KEPT = 0.5, 0.7  # of a move, in the next
PATIENCE = 6  # leaps that gain less than a tenth of what was hoped for, before hope shrinks
SHRINKS = 0.6
STEP = 0.1  # of a price, where as much again is asked for; falls to 0
FLOOR = 0.02  # of a price, in a step
MOST_OVER = 2.0  # of what there is, in a step
INTERVALS = 200
BEFORE = 0.7  # share of the intervals up to the time at which all could have ended
HORIZON = 1.7  # over that time


class Grid(NamedTuple):
    """Constant prices (seconds of completion a GPU-second) and values of time."""

    prices: Float64[FloatArray, " prices"]
    times: Float64[FloatArray, " times"]

    @classmethod
    def of(cls, prices: int, times: int) -> Self:
        """So many of each, and 0; and 1 second of completion for one."""
        some = np.geomspace(0.003, 10.0, prices), np.geomspace(0.4, 3.0, times)
        return cls(np.append(0.0, some[0]), np.append([0.0, 1.0], some[1]))


COARSE, FINE = Grid.of(48, 12), Grid.of(300, 16)


class Ask(NamedTuple):
    """A job: from when it may run, and how fast each part of its work is on 0, 1, ... GPUs."""

    begins_s: float
    work: Float64[FloatArray, " parts"]
    per_s: Float64[FloatArray, "parts counts"]


class Best(NamedTuple):
    """Of one job: the bound on its completion and pay, and GPU-seconds asked for by interval."""

    least_s: float
    first: int  # interval
    gpu_s: Float64[FloatArray, " some"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What a unit of each part is worth to jobs of one speed-up, in some ways."""

    gpus: Int64[IntArray, " sizes"]
    per_s: Float64[FloatArray, "parts sizes"]
    each: Float64[FloatArray, "values parts"]
    gain: Float64[FloatArray, "values sizes"]  # in a second, by the best part

    @classmethod
    def of(cls, per_s: Float64[FloatArray, "parts counts"], grid: Grid) -> Self:
        """At all pairs of a price and a time."""
        gpus = np.flatnonzero((per_s.max(axis=0) > 0) | (np.arange(per_s.shape[1]) == 0))
        per_s = per_s[:, gpus]
        cost = grid.prices[:, None, None] * gpus + grid.times[:, None]
        cost = cost.reshape(-1, len(gpus))
        each, gain = [], np.zeros_like(cost)
        for part in per_s:
            can = part > 0
            each.append((cost[:, can] / part[can]).min(axis=1))
            gain = np.maximum(gain, each[-1][:, None] * part)
        return cls(gpus=gpus, per_s=per_s, each=np.stack(each, axis=1), gain=gain)

    def surplus(
        self, prices: Float64[FloatArray, " intervals"]
    ) -> Float64[FloatArray, "values intervals"]:
        """h: most that a second is worth over what it costs."""
        found = np.zeros((len(self.gain), len(prices)))
        for gain, gpus in zip(self.gain.T, self.gpus.tolist(), strict=True):
            np.maximum(found, gain[:, None] - gpus * prices, out=found)
        return found

    def held(
        self,
        value: int,
        prices: Float64[FloatArray, " some"],
        work: Float64[FloatArray, " parts"],
    ) -> Float64[FloatArray, " some"]:
        """GPUs that a job takes at these prices, on the mean over the time of its parts."""
        worth = (self.each[value][:, None] * self.per_s)[:, :, None]
        size = (worth - np.outer(self.gpus, prices)).argmax(axis=1)
        pace = np.take_along_axis(self.per_s, size, axis=1)
        time = np.divide(work[:, None], pace, out=np.zeros_like(pace), where=pace > 0)
        idle = time.sum(axis=0) == 0
        return np.asarray((time * self.gpus[size]).sum(axis=0) / np.where(idle, 1.0, time.sum(0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The bound at any prices, for jobs on a cluster."""

    asks: Sequence[Ask]
    gpus: int
    edges_s: Float64[FloatArray, " edges"]
    values: Sequence[Values]  # one for each speed-up
    kind: Sequence[int]  # of each job, its place in ``values``
    worth: Sequence[Float64[FloatArray, " values"]]  # of each job, of all its work

    @classmethod
    def of(
        cls, asks: Sequence[Ask], gpus: int, edges_s: Float64[FloatArray, " edges"], grid: Grid
    ) -> Self:
        """With values on a grid."""
        kinds: dict[bytes, int] = {}
        values: list[Values] = []
        for ask in asks:
            if kinds.setdefault(ask.per_s.tobytes(), len(values)) == len(values):
                values.append(Values.of(ask.per_s, grid))
        kind = [kinds[ask.per_s.tobytes()] for ask in asks]
        worth = [values[of].each @ ask.work for ask, of in zip(asks, kind, strict=True)]
        return cls(asks=asks, gpus=gpus, edges_s=edges_s, values=values, kind=kind, worth=worth)

    def bound(
        self, prices: Float64[FloatArray, " intervals"]
    ) -> tuple[float, Float64[FloatArray, " intervals"]]:
        """On the sum of completion times; and what is asked for over what there is."""
        lasts_s = np.diff(self.edges_s)
        surplus = [one.surplus(prices) for one in self.values]
        by_edge = [np.cumsum(np.pad(one * lasts_s, ((0, 0), (1, 0))), axis=1) for one in surplus]
        asked, total = np.zeros(len(prices)), 0.0
        for job, of in enumerate(self.kind):
            best = self._best(job, prices, surplus[of], by_edge[of])
            total += best.least_s
            asked[best.first : best.first + len(best.gpu_s)] += best.gpu_s
        return total - self.gpus * float(prices @ lasts_s), asked / (self.gpus * lasts_s)

    def _best(
        self,
        job: int,
        prices: Float64[FloatArray, " intervals"],
        surplus: Float64[FloatArray, "values intervals"],
        by_edge: Float64[FloatArray, "values edges"],
    ) -> Best:
        """Least over completions of the most over values; no completion pays less than nothing."""
        begins_s, work, _ = self.asks[job]
        first = min(int(np.searchsorted(self.edges_s, begins_s, side="right")), len(prices)) - 1
        before = by_edge[:, first] + surplus[:, first] * (begins_s - self.edges_s[first])
        ends_s = np.maximum(self.edges_s[first:], begins_s)
        width = 16
        while True:
            some = slice(first, min(first + width, len(prices)) + 1)
            at_s = ends_s[: some.stop - first]
            pays = (self.worth[job] + before)[:, None] - by_edge[:, some]
            pays[:, 0] = self.worth[job]
            both = np.minimum(pays[:, :-1] + at_s[:-1], pays[:, 1:] + at_s[1:])
            least = both.max(axis=0)
            last = int(least.argmin())
            if some.stop > len(prices) or least[last] <= at_s[-1]:
                break  # any later completion is itself later than that
            width *= 2
        chosen = slice(first, first + last + 1)
        held = self.values[self.kind[job]].held(int(both[:, last].argmax()), prices[chosen], work)
        spent = held * np.diff(ends_s[: last + 2])
        # it ends in its last interval where completion and pay add up to the least
        open_s = float(least[last] - ends_s[last] - spent[:-1] @ prices[chosen][:-1])
        whole_s = float(ends_s[last + 1] - ends_s[last] + spent[-1] * prices[chosen][-1])
        spent[-1] *= min(max(open_s / whole_s, 0.0), 1.0)
        return Best(min(float(least[last]), float(self.edges_s[-1])), first, spent)


def least_sum_s(asks: Sequence[Ask], gpus: int, ended_s: float) -> float:
    """A bound on the sum of completion times; about ``ended_s`` all could have ended."""
    early = round(INTERVALS * BEFORE)
    late = np.linspace(ended_s, HORIZON * ended_s, INTERVALS - early + 1)[1:]
    edges_s = np.concatenate([np.linspace(0.0, ended_s, early + 1), late])
    coarse = Prices.of(asks, gpus, edges_s, COARSE)
    found = _steps(coarse, _leaps(coarse))
    exact, _ = Prices.of(asks, gpus, edges_s, FINE).bound(found.prices)
    return float(max(found.bound, exact))


class Found(NamedTuple):
    """The best so far."""

    bound: float
    prices: Float64[FloatArray, " intervals"]


def _leaps(at: Prices) -> Found:
    """Polyak's supergradient steps to a hoped-for bound, from the best so far when it fails."""
    there_s = at.gpus * np.diff(at.edges_s)
    prices, pull = np.zeros(len(there_s)), np.zeros(len(there_s))
    bound, asked = at.bound(prices)
    best, hope, vain = Found(bound, prices), abs(bound), 0
    for _ in range(LEAPS):
        over = np.where((prices > 0) | (asked > 1), (asked - 1) * there_s, 0.0)
        pull = KEPT_IN_LEAPS * pull + (1 - KEPT_IN_LEAPS) * over
        if not pull.any():
            break
        prices = np.maximum(prices + (best.bound + hope - bound) / (pull @ pull) * pull, 0.0)
        bound, asked = at.bound(prices)
        vain = 0 if bound > best.bound + hope / 10 else vain + 1
        best = max(best, Found(bound, prices), key=lambda one: one.bound)
        if vain > PATIENCE:
            hope, vain, prices, pull = hope * SHRINKS, 0, best.prices, np.zeros(len(pull))
            bound, asked = at.bound(prices)
    return best


def _steps(at: Prices, best: Found) -> Found:
    """Each price by a share of itself, less and less."""
    prices, pull = best.prices, np.zeros(len(best.prices))
    for step in range(STEPS):
        bound, asked = at.bound(prices)
        best = max(best, Found(bound, prices), key=lambda one: one.bound)
        pull = KEPT * pull + (1 - KEPT) * np.clip(asked - 1, -1.0, MOST_OVER)
        size = STEP * (1 - step / STEPS) * np.maximum(prices, FLOOR)
        prices = np.maximum(prices + size * pull, 0.0)
    return best
