"""A solver's answer says how good it is."""

from math import inf

import pytest

from headway.core.solve.outcome import Budget, Outcome, Status, relative_gap


@pytest.mark.parametrize(
    ("objective", "bound", "gap"),
    [
        (10.0, 9.0, 0.1),
        (-10.0, -11.0, 0.1),
        (5.0, 5.0, 0.0),
        (5.0, 5.1, 0.0),  # rounding may put the bound a hair above
        (0.0, -1.0, inf),
        (inf, 1.0, inf),
        (inf, inf, 0.0),
    ],
)
def test_the_gap_is_relative_to_the_objective(objective: float, bound: float, gap: float) -> None:
    assert relative_gap(objective, bound) == pytest.approx(gap)


def test_an_outcome_without_a_point_has_an_infinite_gap() -> None:
    spent = Outcome(status=Status.BUDGET_SPENT, x=None, objective=inf, bound=3.0)
    assert spent.gap == inf


@pytest.mark.parametrize(("budget", "nodes"), [(None, 50), (80, 50), (10, 10), (0, 0)])
def test_a_budget_of_no_nodes_is_none_and_not_the_most(budget: int | None, nodes: int) -> None:
    """The direct program took 50 for none at all."""
    assert Budget(branch_nodes=budget).nodes(50) == nodes
