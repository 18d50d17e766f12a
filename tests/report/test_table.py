"""A table as Markdown, whatever is in its cells."""

from hypothesis import given
from hypothesis import strategies as st

from headway.report.table import Table, number, signed

CELLS = st.tuples(st.text("ab |\n", max_size=8), st.text("12", max_size=3))


def test_numbers_are_aligned_to_the_right() -> None:
    table = Table(("policy", "JCT s"), (("las", "1,200"), ("fifo", "–")), frozenset({"JCT s"}))
    assert table.markdown() == ("| policy | JCT s |\n| --- | --: |\n| las | 1,200 |\n| fifo | – |")


@given(st.lists(CELLS))
def test_no_cell_breaks_the_table(rows: list[tuple[str, str]]) -> None:
    """A job may be called ``a|b``."""
    lines = Table(("name", "gpus"), tuple(rows)).markdown().split("\n")
    assert len(lines) == len(rows) + 2
    assert {line.replace("\\|", "").count("|") for line in lines} == {3}


def test_numbers_for_people() -> None:
    assert number(1234567.891) == "1,234,568"
    assert number(0.125, 2) == "0.12"
    assert number(None, 2) == "–"
    assert number(0) == "0"


def test_a_balance_has_its_sign_but_where_it_is_nothing() -> None:
    said = [signed(value, 1) for value in (1234.56, -2.5, 0.01, -0.01, 0.0)]
    assert said == ["+1,234.6", "-2.5", "0.0", "0.0", "0.0"]
    assert signed(-0.4) == "0"
