"""The window problem's own arithmetic."""

import numpy as np
import pytest

from headway.core.solve.window import Plan, Window

TWO = Window(
    value=np.array([[0.0, 1.0, 2.0], [0.0, 3.0, 3.0]]),
    left=np.array([[4.0, 3.0, 2.0], [1.0, 0.0, 0.0]]),
    width=np.array([1, 2]),
    capacity=2,
    price=0.5,
)


@pytest.mark.parametrize(
    ("counts", "length", "objective"),
    [((0, 0), 4.0, -2.0), ((2, 0), 2.0, 1.0), ((0, 1), 4.0, 1.0), ((1, 1), 3.0, 2.5)],
)
def test_length_is_the_longest_remainder_or_the_mean_load(
    counts: tuple[int, int], length: float, objective: float
) -> None:
    assert TWO.length(np.array(counts)) == length
    assert TWO.objective(np.array(counts)) == objective


def test_the_mean_load_counts_widths() -> None:
    flat = Window(
        value=np.zeros((2, 2)),
        left=np.array([[3.0, 3.0], [3.0, 3.0]]),
        width=np.array([1, 2]),
        capacity=2,
        price=1.0,
    )
    assert flat.length(np.array([0, 0])) == 4.5
    assert (flat.rounds, flat.room) == (1, 2)


def test_the_gap_is_relative_to_the_objective() -> None:
    runs = np.zeros((1, 1), dtype=np.bool_)
    assert Plan(runs=runs, objective=-2.0, bound=-1.0).gap == 0.5
    assert Plan(runs=runs, objective=2.0, bound=2.5).gap == 0.25
    assert Plan(runs=runs, objective=2.0, bound=2.0).gap == 0.0


def test_where_the_objective_is_near_zero_the_gap_is_relative_to_what_was_gained() -> None:
    runs = np.zeros((1, 1), dtype=np.bool_)
    assert Plan(runs=runs, objective=0.0, bound=0.5, idle=-1.0).gap == 0.5
