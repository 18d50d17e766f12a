"""Sizes and places of all jobs at once by the pinned-pattern program, with a proven bound.

The program is in ``program.py``, its solution becomes a placement in ``unpack.py``.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from headway.core.solve.fill import fill
from headway.core.solve.milp import solve_linear, solve_mixed
from headway.core.solve.outcome import DEFAULT_BUDGET, Budget, Outcome, Status, relative_gap
from headway.core.solve.problem import Problem
from headway.core.solve.program import Model, build
from headway.core.solve.unpack import place
from headway.core.types import Int64, IntArray

EXACT_UP_TO_GPUS = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The placement found and how far from the best possible it may be."""

    status: Status
    alloc: Int64[IntArray, "jobs nodes"] | None  # None: no feasible placement was found
    objective: float  # sum of the jobs' costs
    bound: float  # no placement costs less
    columns: int
    rows: int
    branch_nodes: int
    simplex_iterations: int

    @property
    def gap(self) -> float:
        """Relative distance of the objective to the bound."""
        return relative_gap(self.objective, self.bound)

    def counts(self) -> dict[str, float]:
        """The size of the program and the work it took."""
        return {
            "columns": self.columns,
            "rows": self.rows,
            "branch_nodes": self.branch_nodes,
            "simplex_iterations": self.simplex_iterations,
        }


def solve(
    problem: Problem,
    *,
    rel_gap: float = 1e-4,
    budget: Budget = DEFAULT_BUDGET,
    exact_up_to_gpus: int = EXACT_UP_TO_GPUS,
) -> Plan:
    """The placement of least total cost.

    Up to ``exact_up_to_gpus`` by the exact mixed-integer program, to a relative gap; beyond by
    rounding the linear relaxation of the aggregated program, whose value bounds every placement.
    """
    if problem.held.size == 0:
        return _nothing_to_place(problem)
    exact = int(problem.capacity.sum()) <= exact_up_to_gpus
    model = build(problem, exact=exact)
    if exact:
        outcome = solve_mixed(model.program, rel_gap=rel_gap, budget=budget)
    else:
        outcome = solve_linear(model.program, budget=budget)
    alloc = _best_placement(problem, model, outcome)
    objective = inf if alloc is None else float(problem.cost(alloc).sum())
    return Plan(
        status=outcome.status,
        alloc=alloc,
        objective=objective,
        bound=min(outcome.bound * model.scale, objective),
        columns=len(model.program.cost),
        rows=len(model.program.row_lower),
        branch_nodes=outcome.branch_nodes,
        simplex_iterations=outcome.simplex_iterations,
    )


def _nothing_to_place(problem: Problem) -> Plan:
    """Without jobs or without nodes every job holds nothing."""
    alloc = np.zeros_like(problem.held)
    objective = float(problem.cost(alloc).sum())
    possible = bool(np.isfinite(objective))
    return Plan(
        status=Status.OPTIMAL if possible else Status.INFEASIBLE,
        alloc=alloc if possible else None,
        objective=objective,
        bound=objective,
        columns=0,
        rows=0,
        branch_nodes=0,
        simplex_iterations=0,
    )


def _best_placement(problem: Problem, model: Model, outcome: Outcome) -> IntArray | None:
    """The best of: nobody moves; nobody moves but free GPUs are given out; the solver's answer."""
    stay = np.where(problem.keepable()[:, None], problem.held, 0)
    candidates = [stay]
    if outcome.x is not None:
        candidates.append(place(problem, model.choice(outcome.x)))
    if outcome.status is not Status.OPTIMAL and problem.feasible(stay):
        candidates.append(fill(problem, stay))
    best, best_cost = None, inf
    for candidate in candidates:
        cost = float(problem.cost(candidate).sum())
        if cost < best_cost and problem.feasible(candidate):
            best, best_cost = candidate, cost
    return best
