"""Sizes and places of all jobs at once by the pinned-pattern program, with a proven bound.

The program is in ``program.py``, its solution becomes a placement in ``unpack.py``.
"""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from headway.core.solve import direct
from headway.core.solve.branch import solve_branching
from headway.core.solve.fill import fill
from headway.core.solve.milp import solve_linear, solve_mixed
from headway.core.solve.outcome import DEFAULT_BUDGET, Budget, Outcome, Status, relative_gap
from headway.core.solve.problem import Problem
from headway.core.solve.program import Model, build
from headway.core.solve.restrict import Part, dealt, few, groups, open_part
from headway.core.solve.sums import narrowed
from headway.core.solve.unpack import place
from headway.core.types import Int64, IntArray

EXACT_UP_TO_GPUS = 128
_LARGEST_EXACT_COST = 1e5  # over the median; beyond, tolerances hide what the other costs say
_OPEN_SHARES = (0.1, 0.4)  # of the jobs, in one part after the other
_LARGEST_GAP = 0.01  # of a part
_MOST_DIRECT, _DIRECT_NODES = 4_000, 50  # columns of the direct program, and its branch and bound
_MOST_GROUPS = 16  # of nodes that it looks at where it would be too large for all
_BRANCHED = 0.01  # of the gap that will do, for branch and bound: takes 1 % more relaxations
_PART_NODES = 10  # of a part's branch and bound; without racks one or two do


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
        """The size of the program and the work it took the solver that decided."""
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

    Up to ``exact_up_to_gpus`` by the exact mixed-integer program, to a relative gap. Beyond, and
    for costs that span too much, by the linear relaxation of the aggregated program, whose value
    bounds every placement, rounded; and then by the exact programs of the parts that it leaves
    open, while the gap is too large. Of CPUs and memory these programs know the sums; where that
    leaves a gap the direct program narrows it.
    """
    if problem.held.size == 0:
        return _nothing_to_place(problem)
    problem = narrowed(problem)
    plan = _by_patterns(problem, rel_gap, budget, exact_up_to_gpus)
    if problem.beside and plan.gap > rel_gap:
        return _with_places(problem, plan, rel_gap, budget)
    return plan


def _by_patterns(problem: Problem, rel_gap: float, budget: Budget, exact_up_to_gpus: int) -> Plan:
    if int(problem.capacity.sum()) <= exact_up_to_gpus:
        model = build(problem, exact=True)
        if float(np.abs(model.program.cost).max(initial=0.0)) <= _LARGEST_EXACT_COST:
            return _exact(problem, model, rel_gap, budget)
    return _relaxed(problem, rel_gap, budget)


def _exact(problem: Problem, model: Model, rel_gap: float, budget: Budget) -> Plan:
    """By branch and bound, and by the mixed-integer solver where that gives up.

    Of the 967 programs of workload-6 on 64 GPUs under ``pollux`` the first relaxation settles four
    in five; the others need 15 of them on average and take a quarter of what that solver does.
    Who waits when not all can hold something is for the costs to say: of equal ones the optimum
    lets the same wait for ever (docs/design/0022).
    """
    outcome = solve_branching(
        model.program,
        first=len(model.options.job),
        rel_gap=rel_gap * _BRANCHED,
        budget=budget,
    )
    if outcome.x is not None and outcome.gap <= rel_gap:
        plan = _plan(problem, model, outcome)
        if plan.alloc is not None:
            return replace(plan, status=Status.OPTIMAL)  # the gap that was asked for is wider
    return _plan(problem, model, solve_mixed(model.program, rel_gap=rel_gap, budget=budget))


def _with_places(problem: Problem, plan: Plan, rel_gap: float, budget: Budget) -> Plan:
    """The plan improved by the direct program: of all nodes at once, or of a few after the other.

    Only the former may also prove more.
    """
    budget = replace(budget, branch_nodes=budget.nodes(_DIRECT_NODES))
    if direct.columns(problem) <= _MOST_DIRECT:
        outcome, alloc = direct.solve(problem, rel_gap=rel_gap, budget=budget)
        plan = _better(problem, plan, alloc, outcome)
        return replace(plan, bound=min(max(plan.bound, outcome.bound), plan.objective))
    for nodes in dealt(problem, plan.alloc)[:_MOST_GROUPS] if plan.alloc is not None else ():
        assert plan.alloc is not None
        among = few(problem, plan.alloc, nodes)
        if plan.gap > rel_gap and direct.columns(among.problem) <= _MOST_DIRECT:
            outcome, own = direct.solve(among.problem, rel_gap=_LARGEST_GAP, budget=budget)
            alloc = None if own is None else among.within(plan.alloc, own)
            plan = _better(problem, plan, alloc, outcome)
    return plan


def _better(problem: Problem, plan: Plan, alloc: IntArray | None, work: Outcome | Plan) -> Plan:
    """The plan with another placement, if that is better, and the work that it took."""
    if alloc is not None:
        alloc = fill(problem, alloc)
        cost = float(problem.cost(alloc).sum())
        if cost < plan.objective and problem.feasible(alloc):
            plan = replace(plan, alloc=alloc, objective=cost)
    return replace(
        plan,
        bound=min(plan.bound, plan.objective),  # rounding may have put it above
        branch_nodes=plan.branch_nodes + work.branch_nodes,
        simplex_iterations=plan.simplex_iterations + work.simplex_iterations,
    )


def _relaxed(problem: Problem, rel_gap: float, budget: Budget) -> Plan:
    model = build(problem, exact=False)
    outcome = solve_linear(model.program, budget=budget)
    plan = _plan(problem, model, outcome)
    if outcome.status is not Status.OPTIMAL or outcome.x is None:
        return plan
    choice, reduced = model.choice(outcome.x), model.reduced(outcome)
    for share in _OPEN_SHARES:
        if plan.alloc is None or plan.gap <= rel_gap:
            break
        for among in groups(problem, plan.alloc, choice, reduced, share):
            part = open_part(problem, plan.alloc, choice, reduced, share, among)
            if len(part.jobs) and len(part.nodes):  # else only who waits, and every node is full
                plan = _improved(problem, plan, part, rel_gap, budget)
    return plan


def _improved(problem: Problem, plan: Plan, part: Part, rel_gap: float, budget: Budget) -> Plan:
    """The plan with a part of it solved exactly, if that is better."""
    assert plan.alloc is not None
    cost = abs(float(problem.cost(plan.alloc)[part.jobs].sum()))
    gap = min(rel_gap * abs(plan.objective) / cost, _LARGEST_GAP) if cost else rel_gap
    model = build(part.problem, exact=True, few_cuts=True)
    budget = replace(budget, branch_nodes=budget.nodes(_PART_NODES))
    # At so wide a gap the relaxation first costs more than it spares.
    own = _plan(part.problem, model, solve_mixed(model.program, rel_gap=gap, budget=budget))
    other = None if own.alloc is None else part.within(plan.alloc, own.alloc)
    return _better(problem, plan, other, own)


def _plan(problem: Problem, model: Model, outcome: Outcome) -> Plan:
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
    if (outcome.status is not Status.OPTIMAL or problem.beside) and problem.feasible(stay):
        candidates.append(fill(problem, stay))
    best, best_cost = None, inf
    for candidate in candidates:
        cost = float(problem.cost(candidate).sum())
        if cost < best_cost and problem.feasible(candidate):
            best, best_cost = candidate, cost
    return best
