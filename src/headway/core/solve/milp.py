"""Linear and mixed-integer programs through HiGHS: arrays in, an Outcome out, always the same."""

from dataclasses import replace
from math import inf
from typing import final

import highspy
import numpy as np
from highspy._core import _Highs  # the public constructor prints a banner on standard output

from headway.core.solve.assembly import Program
from headway.core.solve.outcome import DEFAULT_BUDGET, Budget, Outcome, Status
from headway.core.types import Float64, FloatArray

_STATUS = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kModelEmpty: Status.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kSolutionLimit: Status.BUDGET_SPENT,
    highspy.HighsModelStatus.kIterationLimit: Status.BUDGET_SPENT,
    highspy.HighsModelStatus.kTimeLimit: Status.BUDGET_SPENT,
    highspy.HighsModelStatus.kInterrupt: Status.BUDGET_SPENT,
}

_DUAL, _PRIMAL = 1, 4  # simplex_strategy
# Small, nearly integral programs are solved at the root by cuts. Measured on pinned-pattern
# programs of 64 to 1,024 GPUs: presolve and these start heuristics cost more than they save.
# Presolve is off in the heuristics' smaller programs as well. There it brought the process down
# (HiGHS 1.16: entries of a column that is gone); and the programs above take a sixth less without.
_LEAN: dict[str, bool | str] = {
    "presolve": "off",
    "mip_root_presolve_only": True,
    "mip_detect_symmetry": False,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_root_reduced_cost": False,
}


def solve_mixed(
    program: Program, *, rel_gap: float = 1e-4, budget: Budget = DEFAULT_BUDGET
) -> Outcome:
    """Minimise with the integer columns integer, to a relative gap or until the budget is spent."""
    highs = _load(program, budget)
    highs.setOptionValue("mip_rel_gap", rel_gap)
    for name, value in _LEAN.items():
        highs.setOptionValue(name, value)
    outcome = _run(highs)
    info = highs.getInfo()
    proven = {Status.INFEASIBLE: inf, Status.FAILED: -inf}
    bound = proven.get(outcome.status, info.mip_dual_bound)
    x = None if outcome.x is None else np.where(program.integer, np.round(outcome.x), outcome.x)
    return replace(outcome, x=x, bound=bound, branch_nodes=max(int(info.mip_node_count), 0))


@final
class Relaxation:
    """The linear relaxation of a program, to be solved again and again within other bounds."""

    def __init__(self, program: Program, budget: Budget = DEFAULT_BUDGET) -> None:
        """Start where the program says."""
        free = replace(program, integer=np.zeros_like(program.integer))
        self._highs = _load(free, budget)
        self._highs.setOptionValue("solver", "simplex")
        self._highs.setOptionValue("simplex_strategy", _PRIMAL)
        self._highs.setBasis(_first_basis(program))
        self._lower, self._upper = program.lower, program.upper

    def within(
        self, lower: Float64[FloatArray, " columns"], upper: Float64[FloatArray, " columns"]
    ) -> Outcome:
        """Minimise, from the basis of the last time; a vertex, so few fractions."""
        moved = np.flatnonzero((lower != self._lower) | (upper != self._upper)).astype(np.int32)
        if len(moved):
            self._highs.changeColsBounds(len(moved), moved, lower[moved], upper[moved])
            self._highs.setOptionValue("simplex_strategy", _DUAL)  # the last basis is dual feasible
        self._lower, self._upper = lower, upper
        outcome = _run(self._highs)
        if outcome.status is Status.FAILED:  # seldom: from that basis it is lost in rounding
            self._highs.clearSolver()
            outcome = _run(self._highs)
        bound = {Status.OPTIMAL: outcome.objective, Status.INFEASIBLE: inf}
        return replace(outcome, bound=bound.get(outcome.status, -inf))

    def duals(self) -> tuple[Float64[FloatArray, " columns"], Float64[FloatArray, " rows"]]:
        """Reduced costs of the columns and prices of the rows, of the last solution."""
        solution = self._highs.getSolution()
        return np.array(solution.col_dual), np.array(solution.row_dual)


def solve_linear(program: Program, *, budget: Budget = DEFAULT_BUDGET) -> Outcome:
    """Minimise the linear relaxation by the primal simplex method."""
    relaxation = Relaxation(program, budget)
    outcome = relaxation.within(program.lower, program.upper)
    reduced, prices = relaxation.duals()
    return replace(outcome, reduced=reduced, prices=prices)


def _first_basis(program: Program) -> highspy.HighsBasis:
    """Every row's slack is basic but for rows that begin with a column in its place."""
    status = highspy.HighsBasisStatus
    column = np.full(len(program.cost), status.kLower)
    row = np.full(len(program.row_lower), status.kBasic)
    rows, columns = program.start
    row[rows], column[columns] = status.kUpper, status.kBasic
    basis = highspy.HighsBasis()
    basis.col_status, basis.row_status = column.tolist(), row.tolist()
    basis.valid, basis.alien = True, False
    return basis


def _load(program: Program, budget: Budget) -> _Highs:
    highs = _Highs()
    options: dict[str, bool | int | float | None] = {
        "output_flag": False,
        "threads": 1,
        "random_seed": 0,
        "mip_max_nodes": budget.branch_nodes,
        "simplex_iteration_limit": budget.simplex_iterations,
        "time_limit": budget.seconds,
    }
    for name, value in options.items():
        if value is not None:
            highs.setOptionValue(name, value)
    highs.passModel(
        len(program.cost),
        len(program.row_lower),
        len(program.values),
        int(highspy.MatrixFormat.kColwise),
        int(highspy.ObjSense.kMinimize),
        program.offset,
        program.cost,
        program.lower,
        program.upper,
        program.row_lower,
        program.row_upper,
        program.starts,
        program.indices,
        program.values,
        program.integer.astype(np.int32),
    )
    return highs


def _run(highs: _Highs) -> Outcome:
    highs.run()
    status = _STATUS.get(highs.getModelStatus(), Status.FAILED)
    info = highs.getInfo()
    found = info.primal_solution_status == int(highspy.SolutionStatus.kSolutionStatusFeasible)
    return Outcome(
        status=status,
        x=np.array(highs.getSolution().col_value) if found else None,
        objective=info.objective_function_value if found else inf,
        bound=-inf,
        simplex_iterations=max(int(info.simplex_iteration_count), 0),
    )
