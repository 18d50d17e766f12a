"""A population of placements that improves from generation to generation (Pollux, section 4.2.1).

What the paper searches with, for comparison with the exact program: mutation, crossover of rows,
tournaments, and repair of what the rules forbid. It proves nothing about what it finds. Over ten
rounds of Pollux's workload-6 (64 GPUs, 10 to 26 jobs) 100 plans in 100 generations came to 0.95 of
the exact program's bound, and to 0.96 in five calls, each of 0.3 CPU s.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from headway.core.solve.options import Level
from headway.core.solve.problem import Problem, Shapes
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
    population, jobs, nodes = plans.shape
    rows = plans.reshape(population * jobs, nodes)
    shaped = problem.new_cost(np.tile(np.arange(jobs), population), rows).reshape(population, jobs)
    kept = (plans == problem.held).all(axis=2) & plans.any(axis=2)
    cost = np.where(kept, np.minimum(problem.cost_keep, shaped), shaped).sum(axis=1)
    return np.asarray(cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rules:
    """What a placement must keep to, as tables for whole populations."""

    problem: Problem
    stays: BoolArray  # jobs that may only keep what they hold
    keepable: BoolArray
    # by level, the widest first: the largest allowed size up to each; 0: none
    allowed: Mapping[Level, Int64[IntArray, "jobs kinds sizes"]]

    @classmethod
    def of(cls, problem: Problem) -> "_Rules":
        keepable = problem.keepable()
        return cls(
            problem=problem,
            stays=keepable & np.isinf(problem.cost_none),
            keepable=keepable,
            allowed={
                level: _largest_allowed(cost, 1 if level is Level.LOCAL else 2)
                for level, cost in (
                    (Level.SEVERAL, problem.cost_several),
                    (Level.RACK, problem.cost_rack),
                    (Level.LOCAL, problem.cost_local),
                )
                if cost is not None
            },
        )

    def repaired(self, plans: Population, rng: np.random.Generator) -> Population:
        """The same within capacity, with one spanning job a node, at allowed sizes."""
        plans = np.where(self.stays[:, None], self.problem.held, self._of_one_type(plans))
        if not self.problem.share_spanning:
            rank = np.where(self.stays, -1.0, rng.random(plans.shape[:2]))
            plans = _one_spanning_each(plans, rank)
        plans = self._within_capacity(plans, rng)
        if self.problem.beside:
            plans = self._within_beside(plans, rng)
        for level in self.allowed:
            plans = self._at_allowed_sizes(plans, level)
        return plans

    def _of_one_type(self, plans: Population) -> Population:
        """Of a job on GPUs of several types, those of which it has most."""
        if self.problem.kinds == 1:
            return plans
        of_kind = self.problem.kind == np.arange(self.problem.kinds)[:, None]
        most = np.argmax(plans @ of_kind.T, axis=2)
        kept = (plans == self.problem.held).all(axis=2)
        return np.where(of_kind[most] | kept[:, :, None], plans, 0)

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

    def _within_beside(self, plans: Population, rng: np.random.Generator) -> Population:
        """Take random jobs off every node that has too little of what goes with their GPUs."""
        beside, plans = self.problem.beside, plans.copy()
        for plan in plans:
            for node in np.flatnonzero((beside.left(plan) < 0).any(axis=1)).tolist():
                for job in rng.permutation(np.flatnonzero((plan[:, node] > 0) & ~self.stays)):
                    if (beside.left(plan)[node] >= 0).all():
                        break
                    plan[job, node] = 0
        return plans

    def _at_allowed_sizes(self, plans: Population, level: Level) -> Population:
        """Trim jobs that are spread so far, the smallest pieces first.

        Where no size so far spread is allowed, only the largest piece stays.
        """
        population, jobs, nodes = plans.shape
        rows = plans.reshape(population * jobs, nodes)
        shape = self.problem.shapes(rows)
        job, kind = np.tile(np.arange(jobs), population), np.maximum(shape.kind, 0)
        table = self.allowed[level]
        allowed = table[job, kind, np.minimum(shape.gpus, table.shape[2] - 1)]
        if level is not Level.LOCAL:
            allowed = np.where(allowed > 0, allowed, rows.max(axis=1))
        kept = self.keepable[job] & (rows == self.problem.held[job]).all(axis=1)
        wrong = self._spread_to(shape, level) & (allowed < shape.gpus) & ~kept
        order = np.argsort(-rows[wrong], axis=1, kind="stable")
        pieces = np.take_along_axis(rows[wrong], order, axis=1)
        left = allowed[wrong][:, None] - (np.cumsum(pieces, axis=1) - pieces)
        trimmed = np.zeros_like(pieces)
        np.put_along_axis(trimmed, order, np.clip(pieces, 0, np.maximum(left, 0)), axis=1)
        rows[wrong] = trimmed
        return rows.reshape(population, jobs, nodes)

    def _spread_to(self, shape: Shapes, level: Level) -> BoolArray:
        """Rows on one node, on several of one rack, or on several racks."""
        if level is Level.LOCAL:
            return np.asarray(shape.nodes == 1)
        if Level.RACK not in self.allowed:
            return np.asarray(shape.nodes > 1)
        return np.asarray((shape.nodes > 1) & ((shape.racks == 1) == (level is Level.RACK)))


def _one_spanning_each(plans: Population, rank: Float64[FloatArray, "plans jobs"]) -> Population:
    """Of the spanning jobs on a node the one of least rank stays there."""
    spans = (plans > 0).sum(axis=2) > 1
    claim = np.where(spans[:, :, None] & (plans > 0), rank[:, :, None], inf)
    loses = np.isfinite(claim) & (claim > claim.min(axis=1, keepdims=True))
    return np.where(loses, 0, plans)


def _largest_allowed(
    cost: Float64[FloatArray, "jobs kinds sizes"], least: int
) -> Int64[IntArray, "jobs kinds sizes"]:
    size = np.arange(cost.shape[2])
    return np.maximum.accumulate(np.where(np.isfinite(cost) & (size >= least), size, 0), axis=2)
