"""A table as a value: the command line prints it, a report writes it as Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

UNKNOWN = "–"


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows of text; the columns named in ``right`` are numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[str] = frozenset()

    def markdown(self) -> str:
        """The table in Markdown, without a line end at its end."""
        rule = ["--:" if column in self.right else "---" for column in self.columns]
        return "\n".join(_line(cells) for cells in (self.columns, rule, *self.rows))


def number(value: float | None, digits: int = 0) -> str:
    """A number for people; what could not be computed is a dash."""
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def signed(value: float, digits: int = 0) -> str:
    """A balance for people; one that rounds to nothing has no sign."""
    text = f"{value:+,.{digits}f}"
    return text if text.strip("+-0.,") else text[1:]


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(escaped)} |"
