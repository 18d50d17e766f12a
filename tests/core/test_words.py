"""Numbers as people say them."""

from math import inf, nan

import pytest

from headway.core.words import counted, number, span


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5.0, "0 s"),
        (119.0, "119 s"),
        (120.0, "2 min"),
        (7_199.0, "120 min"),
        (7_200.0, "2.0 h"),
        (36_000.0, "10 h"),
        (2.5 * 86_400.0, "2.5 d"),
    ],
)
def test_durations_are_said_as_people_do(seconds: float, said: str) -> None:
    assert span(seconds) == said


@pytest.mark.parametrize(
    ("count", "unit", "said"),
    [
        (1, "CPU", "1 CPU"),
        (1.0, "GPU", "1 GPU"),
        (0, "slot", "0 slots"),
        (1.5, "CPU", "1.5 CPUs"),
        (1_234, "job", "1,234 jobs"),
        (3_363_000, "job", "3,363,000 jobs"),
        (64.0, "GB", "64 GB"),
    ],
)
def test_one_of_something_has_no_plural(count: float, unit: str, said: str) -> None:
    """``1 CPUs each`` was what a job was said to need."""
    assert counted(count, unit) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.75, "0.75"),
        (12.0, "12"),
        (12.34, "12.3"),
        (-0.5, "-0.5"),
        (1_625.4, "1,625"),
        (inf, "inf"),
        (nan, "nan"),
    ],
)
def test_a_figure_is_as_long_as_people_read_it(value: float, said: str) -> None:
    assert number(value) == said
