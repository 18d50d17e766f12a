"""Formats are told from content, and nothing is guessed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.traces.catalogue import CATALOGUE
from headway.traces.sniff import format_of, read_profiles, read_workload

Write = Callable[[str | bytes], Path]


def test_a_published_table_is_known(table: Write, good_table: str) -> None:
    assert format_of(table(good_table)) == "pollux"


def test_an_unknown_header_names_the_formats(table: Write) -> None:
    with pytest.raises(
        InvalidInputError, match=r"no known workload format \(gavel, headway, pollux\)"
    ):
        format_of(table("job,when\n1,2\n"))


def test_a_format_that_is_named_wins_over_the_content(table: Write, good_table: str) -> None:
    with pytest.raises(InvalidInputError, match="column submitted_s is missing"):
        read_workload(table(good_table), CATALOGUE, "headway")
    with pytest.raises(InvalidInputError, match="--format 'slurm' is not known"):
        read_workload(table(good_table), CATALOGUE, "slurm")


def test_profiles_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="does not exist"):
        read_profiles(tmp_path / "nothing")
