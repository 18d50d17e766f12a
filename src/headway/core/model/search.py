"""The exact search for (m, s): for each of many (job, placement) pairs, in closed form and Newton.

For n = s + 1 passes of m examples on K GPUs, maximising goodput (Pollux, Eqn. 4) is minimising

    cost(m, n) = T_iter(m, n) * (phi / (n m) + K).

Facts that make it exact, E_n(m) the elasticity of T_iter in m and R = phi / (phi + K n m):

1. For fixed n the cost falls in m while E_n < R and rises after; E_n - R rises in m. So the best
   integer m is next to the one root, or at a bound.
2. E_n(m) - R also rises in n, so there is a first n at which memory does not bind m (``last``,
   the larger root of a quadratic). Below it m is at the memory limit, where the cost is convex
   in n with its minimum at sqrt(phi (T_1 - G) / (K m G)).
3. For equal n m, one more pass costs at least alpha_grad. So the real minimum at ``last`` bounds
   the cost of all greater n from below; they are searched only where an integer m could
   still make one of them win.
"""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from headway.core.model.throughput import overlapped_s
from headway.core.types import Float64, FloatArray, IntArray

Choices = Float64[FloatArray, " choices"]

_MOST_NOISE = 1e18  # examples; more is not told from infinity
LEAST_PASS_S = 1e-12  # of a pass that is said to take no time at all
_NEWTON_STEPS = 64  # 5 to 8 do; each that leaves its bracket halves it instead
_SETTLED = 1e-3  # examples; a Newton step that small is far inside the next integers
_TIE = 1e-12  # relative; below it fewer passes and the smaller batch are taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Choices to be made at once, one an entry; counts and sizes as floats."""

    alpha_s: Choices
    beta_s: Choices
    sync_s: Choices
    gamma: Choices
    noise_scale: Choices
    gpus: Choices
    least_batch_per_gpu: Choices
    most_batch_per_gpu: Choices
    least_batch_size: Choices
    most_batch_size: Choices
    least_passes: Choices
    most_passes: Choices

    def take(self, rows: IntArray) -> Self:
        return type(self)(**{name: getattr(self, name)[rows] for name in _NAMES})

    def but(self, **values: Choices) -> Self:
        return type(self)(**{name: getattr(self, name) for name in _NAMES} | values)


_NAMES = tuple(field.name for field in fields(Problem))


@dataclass(frozen=True, slots=True)
class Choice:
    """The best found; its cost is infinite where nothing is feasible."""

    cost: Choices
    batch_per_gpu: Choices
    passes: Choices

    def or_better(self, other: "Choice") -> "Choice":
        better = other.cost < self.cost * (1 - _TIE)
        return Choice(
            np.where(better, other.cost, self.cost),
            np.where(better, other.batch_per_gpu, self.batch_per_gpu),
            np.where(better, other.passes, self.passes),
        )


def search(problem: Problem) -> Choice:
    """The (m, n) of least cost for each entry."""
    ask = _sound(problem)
    last = _first_unbound(ask)
    best, bound = _at_passes(ask, last)
    best = _at_memory_limit(ask, last).or_better(best)
    rows, passes = np.arange(last.size), last
    dearer = ask.alpha_s * ask.gpus * (ask.noise_scale / ask.most_batch_size + 1)  # fact 3
    while True:
        passes = passes + 1
        may_win = (passes <= ask.most_passes) & (bound + dearer < best.cost[rows] * (1 - 1e-10))
        may_win &= ask.gpus * passes * ask.least_batch_per_gpu <= ask.most_batch_size
        kept = np.flatnonzero(may_win)
        if kept.size == 0:
            break
        rows, passes, dearer, ask = rows[kept], passes[kept], dearer[kept], ask.take(kept)
        found, bound = _at_passes(ask, passes)
        old = Choice(best.cost[rows], best.batch_per_gpu[rows], best.passes[rows])
        new = old.or_better(found)
        best.cost[rows], best.batch_per_gpu[rows], best.passes[rows] = (
            new.cost,
            new.batch_per_gpu,
            new.passes,
        )
    return best


def _sound(problem: Problem) -> Problem:
    """The same problem with some T_grad, a finite phi, and few enough passes."""
    needed = np.ceil(problem.least_batch_size / (problem.gpus * problem.most_batch_per_gpu))
    return problem.but(
        alpha_s=np.where(problem.alpha_s + problem.beta_s > 0, problem.alpha_s, LEAST_PASS_S),
        noise_scale=np.minimum(problem.noise_scale, _MOST_NOISE),
        least_passes=np.maximum(problem.least_passes, needed),
    )


def cost(ask: Problem, batch_per_gpu: Choices, passes: Choices) -> Choices:
    """T_iter (phi / (n m) + K): K (phi + M0) over the goodput."""
    grad_s = ask.alpha_s + ask.beta_s * batch_per_gpu
    step_s = (passes - 1) * grad_s + overlapped_s(grad_s, ask.sync_s, ask.gamma)
    return np.asarray(step_s * (ask.noise_scale / (passes * batch_per_gpu) + ask.gpus))


def _first_unbound(ask: Problem) -> Choices:
    """The first n at which the memory limit no longer binds m (fact 2)."""
    limit = ask.gpus * ask.most_batch_per_gpu
    by_beta_s = ask.beta_s * ask.most_batch_per_gpu
    grad_s = ask.alpha_s + by_beta_s
    both_s = overlapped_s(grad_s, ask.sync_s, ask.gamma)
    slope_s = by_beta_s * (grad_s / both_s) ** (ask.gamma - 1)
    # (E_n - R) > 0 for n = 1 + d: a d^2 + b d + c > 0, monotone, so one root is not below 0
    a = by_beta_s * limit
    b = limit * (by_beta_s + slope_s) - ask.noise_scale * ask.alpha_s
    c = slope_s * limit - ask.noise_scale * (both_s - slope_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
        further = np.where(b > 0, -2 * c / (b + root), (root - b) / (2 * a))
    further = np.where(np.isnan(further), np.inf, further)  # 0 / 0: memory binds for ever
    passes = np.where(c >= 0, 1.0, np.floor(further) + 2)
    passes = np.minimum(passes, np.ceil(ask.most_batch_size / limit))
    return np.maximum(np.minimum(passes, ask.most_passes), ask.least_passes)


def _at_memory_limit(ask: Problem, last: Choices) -> Choice:
    """The best of the n below ``last``, all with m at the memory limit (fact 2)."""
    most = ask.most_batch_per_gpu
    grad_s = ask.alpha_s + ask.beta_s * most
    waits_s = np.maximum(overlapped_s(grad_s, ask.sync_s, ask.gamma) - grad_s, 0.0)
    turn = np.floor(np.sqrt(ask.noise_scale * waits_s / (ask.gpus * most * grad_s)))
    below = np.minimum(np.maximum(turn, ask.least_passes), last - 1)
    above = np.minimum(np.maximum(turn + 1, ask.least_passes), last - 1)
    none = last <= ask.least_passes
    here = [
        Choice(np.where(none, np.inf, cost(ask, most, np.maximum(n, 1))), most, n)
        for n in (below, above)
    ]
    return here[0].or_better(here[1])


def _at_passes(ask: Problem, passes: Choices) -> tuple[Choice, Choices]:
    """The best integer m for given n, and the least cost of a real m without memory limit."""
    each = ask.gpus * passes
    least = np.maximum(ask.least_batch_per_gpu, np.ceil(ask.least_batch_size / each))
    most = np.minimum(ask.most_batch_per_gpu, np.floor(ask.most_batch_size / each))
    low, high = ask.least_batch_size / each, ask.most_batch_size / each
    high = np.maximum(np.minimum(high, ask.most_batch_per_gpu), low)
    root = _root(ask, passes, low, high)
    down = np.minimum(np.maximum(np.floor(root), least), most)
    up = np.minimum(np.maximum(np.floor(root) + 1, least), most)
    feasible = (least <= most) & (passes <= ask.most_passes)
    here = [
        Choice(np.where(feasible, cost(ask, np.maximum(m, 1), passes), np.inf), m, passes)
        for m in (down, up)
    ]
    return here[0].or_better(here[1]), cost(ask, root, passes)


def _slope(ask: Problem, passes: Choices, batch_per_gpu: Choices) -> tuple[Choices, Choices]:
    """E_n - R and its derivative by log m; the first has the sign of the cost's slope (fact 1)."""
    by_beta_s = ask.beta_s * batch_per_gpu
    grad_s = ask.alpha_s + by_beta_s
    both_s = overlapped_s(grad_s, ask.sync_s, ask.gamma)
    weight = (grad_s / both_s) ** ask.gamma
    whole_s = (passes - 1) * grad_s + both_s
    grad_elasticity = by_beta_s / grad_s
    last_elasticity = grad_elasticity * weight
    early = (passes - 1) * grad_s / whole_s
    reward = ask.noise_scale / (ask.noise_scale + ask.gpus * passes * batch_per_gpu)
    value = early * grad_elasticity + (1 - early) * last_elasticity - reward
    bend = grad_elasticity * (1 - grad_elasticity) * (early + (1 - early) * weight)
    bend += ask.gamma * grad_elasticity * last_elasticity * (1 - weight) * (1 - early)
    bend += early * (1 - early) * (grad_elasticity - last_elasticity) ** 2
    return value, bend + reward * (1 - reward)


def _root(ask: Problem, passes: Choices, low: Choices, high: Choices) -> Choices:
    """The real m in [low, high] of least cost for given n: safeguarded Newton in log m."""
    rising = _slope(ask, passes, low)[0] >= 0
    falling = ~rising & (_slope(ask, passes, high)[0] <= 0)
    root = np.where(falling, high, low)
    rows = np.flatnonzero(~rising & ~falling)
    if rows.size == 0:
        return root
    ask, passes = ask.take(rows), passes[rows]
    left, right = np.log(low[rows]), np.log(high[rows])
    # exact for gamma = 1 or no synchronisation
    squared = ask.noise_scale * (passes * ask.alpha_s + ask.sync_s)
    squared /= passes**2 * ask.beta_s * ask.gpus
    x = np.minimum(np.maximum(np.log(squared) / 2, left), right)
    for _ in range(_NEWTON_STEPS):  # pragma: no branch
        value, bend = _slope(ask, passes, np.exp(x))
        left, right = np.where(value < 0, x, left), np.where(value > 0, x, right)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = x - value / bend
        inside = (newton >= left) & (newton <= right)
        following = np.where(inside, newton, (left + right) / 2)
        moved = np.abs(following - x) * np.exp(x)
        x = following
        if np.max(moved) < _SETTLED:
            break
    root[rows] = np.exp(x)
    return root
