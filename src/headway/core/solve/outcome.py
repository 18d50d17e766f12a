"""What a solver answers: a status, the best point it found and how good that point provably is."""

from dataclasses import dataclass
from enum import StrEnum
from math import inf, isinf

from headway.core.types import Float64, FloatArray


class Status(StrEnum):
    """How a solver's run ended."""

    OPTIMAL = "optimal"  # within the gap that was asked for
    BUDGET_SPENT = "budget_spent"  # stopped early; there may be a point, with its gap
    INFEASIBLE = "infeasible"  # proven to have no point
    FAILED = "failed"  # numerical trouble; nothing is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When to stop early. Counts keep answers reproducible; seconds are for a live system only."""

    branch_nodes: int | None = 2_000
    simplex_iterations: int | None = 1_000_000  # of a linear program
    seconds: float | None = None

    def nodes(self, most: int) -> int:
        """Nodes of a branch and bound that needs no more than ``most``."""
        return most if self.branch_nodes is None else min(most, self.branch_nodes)


DEFAULT_BUDGET = Budget()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A solver's answer. The caller must look at the status and the gap."""

    status: Status
    x: Float64[FloatArray, " columns"] | None  # the best feasible point found, if any
    objective: float  # of x; infinite without one
    bound: float  # no feasible point is below it; minus infinite if nothing is proven
    reduced: Float64[FloatArray, " columns"] | None = None  # costs, of a linear program's columns
    prices: Float64[FloatArray, " rows"] | None = None  # of its rows: what one more unit changes
    branch_nodes: int = 0
    simplex_iterations: int = 0

    @property
    def gap(self) -> float:
        """Relative distance of the objective to the bound; 0 when optimal."""
        return relative_gap(self.objective, self.bound)


def relative_gap(objective: float, bound: float) -> float:
    """(objective - bound) / |objective|, at least 0; infinite when either is unknown."""
    if objective <= bound:
        return 0.0
    if isinf(objective) or isinf(bound) or not objective:
        return inf
    return (objective - bound) / abs(objective)
