"""A population of placements that improves from generation to generation (Pollux, section 4.2.1).

What the paper searches with, for comparison with the exact program: mutation, crossover of rows,
tournaments, and repair of what the rules forbid. It proves nothing about what it finds.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from headway.core.solve.problem import Problem
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray

Population = Int64[IntArray, "plans jobs nodes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best placement of the last generation, and all of it."""

    alloc: Int64[IntArray, "jobs nodes"] | None  # None: no feasible placement was found
    objective: float  # sum of the jobs' costs
    plans: Population  # the best first
    generations: int
    gap: float = inf  # nothing is proven

    def counts(self) -> dict[str, float]:
        """The work it took."""
        return {"generations": self.generations, "plans": len(self.plans)}


def search(
    problem: Problem,
    start: Population,
    rng: np.random.Generator,
    *,
    population: int = 100,
    generations: int = 100,
) -> Found:
    """The best found from what is held now and ``start``, the last population of a search before.

    Parents win a tournament of two; a child has each row from one of its parents; each of its
    elements is mutated with probability 1 / nodes to a number up to the node's GPUs; then it is
    repaired. The best of parents and children, each once, are the next generation.
    """
    rules = _Rules.of(problem)
    stay = np.where(problem.keepable()[:, None], problem.held, 0)
    plans = rules.repaired(np.concatenate([stay[None], start[: population - 1]]), rng)
    fill = np.resize(np.arange(len(plans)), population - len(plans))
    fresh = rules.repaired(_mutated(plans[fill], problem.capacity, rng), rng)
    plans, cost = _fittest(problem, np.concatenate([plans, fresh]), population)
    for _ in range(generations):
        mothers, fathers = (_tournament(cost, population, rng) for _ in range(2))
        from_mother = rng.random((population, plans.shape[1], 1)) < 0.5
        children = np.where(from_mother, plans[mothers], plans[fathers])
        children = rules.repaired(_mutated(children, problem.capacity, rng), rng)
        plans, cost = _fittest(problem, np.concatenate([plans, children]), population)
    feasible = bool(np.isfinite(cost[0]) and problem.feasible(plans[0]))
    return Found(
        alloc=plans[0] if feasible else None,
        objective=float(cost[0]) if feasible else inf,
        plans=plans,
        generations=generations,
    )


def _tournament(
    cost: Float64[FloatArray, " plans"], winners: int, rng: np.random.Generator
) -> Int64[IntArray, " winners"]:
    one, two = rng.integers(len(cost), size=(2, winners))
    return np.asarray(np.where(cost[one] <= cost[two], one, two))


def _mutated(
    plans: Population, capacity: Int64[IntArray, " nodes"], rng: np.random.Generator
) -> Population:
    chosen = rng.random(plans.shape) < 1 / len(capacity)
    return np.where(chosen, rng.integers(0, capacity + 1, size=plans.shape), plans)


def _fittest(
    problem: Problem, plans: Population, population: int
) -> tuple[Population, Float64[FloatArray, " plans"]]:
    """The cheapest plans, each once, and what they cost; the best first."""
    _, first = np.unique(plans.reshape(len(plans), -1), axis=0, return_index=True)
    plans = plans[np.sort(first)]
    cost = _costs(problem, plans)
    order = np.argsort(cost, kind="stable")[:population]
    return plans[order], cost[order]


def _costs(problem: Problem, plans: Population) -> Float64[FloatArray, " plans"]:
    job = np.arange(plans.shape[1])[None]
    gpus, nodes = plans.sum(axis=2), (plans > 0).sum(axis=2)
    shaped = problem.shape_cost(job, gpus, nodes)
    kept = (plans == problem.held).all(axis=2) & (gpus > 0)
    cost = np.where(kept, np.minimum(problem.cost_keep, shaped), shaped).sum(axis=1)
    return np.asarray(cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """What a placement must keep to, as tables for whole populations."""

    problem: Problem
    stays: BoolArray  # jobs that may only keep what they hold
    keepable: BoolArray
    local: Int64[IntArray, "jobs sizes"]  # the largest allowed size up to each; 0: none
    several: Int64[IntArray, "jobs counts"]

    @classmethod
    def of(cls, problem: Problem) -> "_Rules":
        keepable = problem.keepable()
        return cls(
            problem=problem,
            stays=keepable & np.isinf(problem.cost_none),
            keepable=keepable,
            local=_largest_allowed(problem.cost_local, 1),
            several=_largest_allowed(problem.cost_several, 2),
        )

    def repaired(self, plans: Population, rng: np.random.Generator) -> Population:
        """The same within capacity, with one spanning job a node, at allowed sizes."""
        plans = np.where(self.stays[:, None], self.problem.held, plans)
        if not self.problem.share_spanning:
            rank = np.where(self.stays, -1.0, rng.random(plans.shape[:2]))
            plans = _one_spanning_each(plans, rank)
        plans = self._within_capacity(plans, rng)
        plans = self._at_allowed_sizes(plans, self.several, several=True)
        return self._at_allowed_sizes(plans, self.local, several=False)

    def _within_capacity(self, plans: Population, rng: np.random.Generator) -> Population:
        """Decrement random elements of every node that gives more than it has."""
        columns = np.swapaxes(plans, 1, 2).reshape(-1, plans.shape[1])
        room = np.tile(self.problem.capacity, len(plans))
        over = np.flatnonzero(columns.sum(axis=1) > room)
        while len(over):
            may_give = (columns[over] > 0) & ~self.stays
            over, may_give = over[may_give.any(axis=1)], may_give[may_give.any(axis=1)]
            giver = np.argmax(rng.random(may_give.shape) * may_give, axis=1)
            columns[over, giver] -= 1
            over = over[columns[over].sum(axis=1) > room[over]]
        plans_, jobs, nodes = plans.shape
        return np.swapaxes(columns.reshape(plans_, nodes, jobs), 1, 2)

    def _at_allowed_sizes(
        self, plans: Population, largest: Int64[IntArray, "jobs sizes"], *, several: bool
    ) -> Population:
        """Trim jobs on several nodes, or on one, the smallest pieces first.

        Where no size on several nodes is allowed, only the largest piece stays.
        """
        gpus, nodes = plans.sum(axis=2), (plans > 0).sum(axis=2)
        job = np.arange(plans.shape[1])[None]
        allowed = largest[job, np.minimum(gpus, largest.shape[1] - 1)]
        if several:
            allowed = np.where(allowed > 0, allowed, plans.max(axis=2))
        kept = self.keepable & (plans == self.problem.held).all(axis=2)
        wrong = (nodes > 1 if several else nodes == 1) & (allowed < gpus) & ~kept
        rows = plans[wrong]
        order = np.argsort(-rows, axis=1, kind="stable")
        pieces = np.take_along_axis(rows, order, axis=1)
        left = allowed[wrong][:, None] - (np.cumsum(pieces, axis=1) - pieces)
        np.put_along_axis(rows, order, np.clip(pieces, 0, np.maximum(left, 0)), axis=1)
        plans[wrong] = rows
        return plans


def _one_spanning_each(plans: Population, rank: Float64[FloatArray, "plans jobs"]) -> Population:
    """Of the spanning jobs on a node the one of least rank stays there."""
    spans = (plans > 0).sum(axis=2) > 1
    claim = np.where(spans[:, :, None] & (plans > 0), rank[:, :, None], inf)
    loses = np.isfinite(claim) & (claim > claim.min(axis=1, keepdims=True))
    return np.where(loses, 0, plans)


def _largest_allowed(
    cost: Float64[FloatArray, "jobs sizes"], least: int
) -> Int64[IntArray, "jobs sizes"]:
    size = np.arange(cost.shape[1])
    return np.maximum.accumulate(np.where(np.isfinite(cost) & (size >= least), size, 0), axis=1)
