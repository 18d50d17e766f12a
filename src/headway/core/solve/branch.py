"""Branch and bound over linear relaxations, for small programs that are nearly integral.

Each relaxation is solved from the basis of the one before, which takes a few simplex iterations:
a dozen of them take less than the cuts and heuristics of a mixed-integer solver.
"""

from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

import numpy as np

from headway.core.solve.assembly import Program
from headway.core.solve.milp import Relaxation
from headway.core.solve.outcome import DEFAULT_BUDGET, Budget, Outcome, Status
from headway.core.types import Float64, FloatArray

_MOST_NODES = 120  # half of them are done in the time of the mixed-integer solver
_INTEGRAL = 1e-6  # from a whole number, up to which a value is taken for it
_ABS_GAP = 1e-6  # in units of the objective: less is rounding

Columns = Float64[FloatArray, " columns"]


def solve_branching(
    program: Program,
    *,
    first: int = 0,
    rel_gap: float = 1e-4,
    budget: Budget = DEFAULT_BUDGET,
) -> Outcome:
    """Minimise with the integer columns integer, to a relative gap or until the budget is spent.

    The first columns, so many, are decided before all others. The budget is spent after 120
    relaxations in any case.
    """
    search = _Search(program, first, rel_gap, Relaxation(program, budget))
    most = budget.nodes(_MOST_NODES)
    status = search.look(program.lower, program.upper)
    while status is Status.OPTIMAL and search.least_open() < search.worthless():
        status = search.split() if search.looked < most else Status.BUDGET_SPENT
    return search.outcome(status)


@dataclass(frozen=True, slots=True, order=True)
class _Node:
    """A part of the program that may hold something better, and the optimum of its relaxation."""

    bound: float
    number: int  # of equal ones the first
    lower: Columns = field(compare=False)
    upper: Columns = field(compare=False)
    x: Columns = field(compare=False)


@dataclass(slots=True)
class _Search:
    """What was found so far and what is open."""

    program: Program
    first: int
    rel_gap: float
    relaxation: Relaxation
    open: list[_Node] = field(default_factory=list)
    best: Columns | None = None
    objective: float = inf
    looked: int = 0
    iterations: int = 0

    def least_open(self) -> float:
        """What is open costs at least this."""
        return self.open[0].bound if self.open else inf

    def worthless(self) -> float:
        """What costs as much is not worth a look."""
        if self.best is None:
            return inf
        return self.objective - max(self.rel_gap * abs(self.objective), _ABS_GAP)

    def split(self) -> Status:
        """Look at both halves of the best part: one column up to the next whole number, or down.

        Of fractions the largest: the half above it is most often a solution, or soon is one.
        """
        node = heappop(self.open)
        rest = self._rest(node.x)
        column = int(np.argmax(rest[: self.first] if rest[: self.first].any() else rest))
        lower, upper = node.lower.copy(), node.upper.copy()
        upper[column] = np.floor(node.x[column])
        lower[column] = upper[column] + 1
        status = self.look(lower, node.upper)
        if status is Status.OPTIMAL:
            status = self.look(node.lower, upper)
        if status is not Status.OPTIMAL:
            heappush(self.open, node)  # as if nobody had looked
        return status

    def look(self, lower: Columns, upper: Columns) -> Status:
        """Solve a part's relaxation: it is a solution, has none, or is open."""
        found = self.relaxation.within(lower, upper)
        self.looked += 1
        self.iterations += found.simplex_iterations
        if found.status is Status.OPTIMAL and found.x is not None:
            if self._rest(found.x).any():
                heappush(self.open, _Node(found.objective, self.looked, lower, upper, found.x))
            elif found.objective < self.objective:
                self.best, self.objective = found.x, found.objective
        return Status.OPTIMAL if found.status is Status.INFEASIBLE else found.status

    def _rest(self, x: Columns) -> Columns:
        """By how much integer columns are above whole numbers; 0 where they are whole."""
        off = self.program.integer & (np.abs(x - np.round(x)) > _INTEGRAL)
        return np.where(off, x - np.floor(x), 0.0)

    def outcome(self, status: Status) -> Outcome:
        """The best solution, if any; no other is below the bound."""
        solved = status is Status.OPTIMAL
        bound = self.least_open() if self.open or solved else -inf
        x, whole = self.best, self.program.integer
        return Outcome(
            status=Status.INFEASIBLE if solved and x is None else status,
            x=None if x is None else np.where(whole, np.round(x), x),
            objective=self.objective,
            bound=min(bound, self.objective),
            branch_nodes=self.looked,
            simplex_iterations=self.iterations,
        )
