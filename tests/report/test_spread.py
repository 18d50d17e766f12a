"""Figures over seeds: by hand, and the laws of a mean."""

import statistics
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.metrics import Summary
from headway.report.spread import Spread, fairness_over_seeds, over_seeds

NOTHING: dict[str, Any] = {field.name: None for field in fields(Summary)}
EMPTY = Summary(
    **{**NOTHING, "jobs": 10, "finished": 10, "restarts": 5, "gpu_hours": 3.0, "node_hours": 2.0}
)


def runs(*averages_s: float) -> Sequence[Summary]:
    return [replace(EMPTY, avg_jct_s=average_s) for average_s in averages_s]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1000.0, 2000.0, 3000.0], "2,000 ± 577"),  # 1000 / sqrt(3)
        ([1000.0, 2000.0], "1,000–2,000"),
        ([1000.0], "1,000"),
        ([0.1, 0.1, 0.1], "0"),
    ],
)
def test_how_a_spread_is_shown(values: list[float], shown: str) -> None:
    spread = Spread.of(values)
    assert spread is not None
    assert spread.shown(0) == shown


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=9))
def test_mean_and_error_are_those_of_the_textbook(values: list[float]) -> None:
    spread = Spread.of(values)
    assert spread is not None
    assert spread.error is not None
    assert spread.mean == pytest.approx(statistics.mean(values), abs=1e-6)
    expected = statistics.stdev(values) / len(values) ** 0.5
    assert spread.error == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_a_figure_that_one_run_lacks_has_no_mean() -> None:
    assert Spread.of([1.0, None]) is None
    assert Spread.of([]) is None


def test_equal_values_have_no_error_from_rounding() -> None:
    spread = Spread.of([0.1] * 3)
    assert spread is not None
    assert (spread.mean, spread.error) == (0.1, 0.0)


def test_the_best_mean_is_marked_and_more_is_better_where_it_is() -> None:
    rows = {
        row.title: row
        for row in over_seeds(
            {
                "a": [replace(run, utilisation=0.5) for run in runs(10, 30)],
                "b": [replace(run, utilisation=0.9) for run in runs(15, 16)],
            }
        )
    }
    assert [cell.text for cell in rows["avg JCT s"].cells] == ["10–30", "15–16"]
    assert [cell.best for cell in rows["avg JCT s"].cells] == [False, True]
    assert [cell.best for cell in rows["GPUs used"].cells] == [False, True]
    assert [cell.best for cell in rows["GPU-h"].cells] == [False, False], "all are equal"
    assert [cell.text for cell in rows["restarts/job"].cells] == ["0.50", "0.50"]
    assert [(cell.text, cell.best) for cell in rows["p99 s"].cells] == [("–", False)] * 2


def test_ties_for_the_best_are_all_marked() -> None:
    rows = over_seeds({"a": runs(10.2), "b": runs(30), "c": runs(9.8)})
    assert [cell.best for cell in rows[1].cells] == [True, False, True]


def test_of_one_policy_nothing_is_best() -> None:
    assert not any(cell.best for row in over_seeds({"a": runs(1, 2)}) for cell in row.cells)


def test_fairness_has_four_readings_by_name() -> None:
    rows = fairness_over_seeds({"a": [replace(EMPTY, worst_rho_static=2.0)]})
    assert len(rows) == len({row.title for row in rows}) == 12
    found = [row.title for row in rows if row.cells[0].text == "2.00"]
    assert found == ["worst rho, jobs of the whole workload"]
