"""Tables for people, JSON for scripts."""

import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

if TYPE_CHECKING:
    from rich.table import Table

WIDE = 200  # columns of text where there is no terminal to ask


def print_json(value: object) -> None:
    """One object on stdout, nothing else."""
    encoded = msgspec.json.encode(value, order="deterministic")
    click.echo(msgspec.json.format(encoded, indent=2).decode())


def make_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[str] = ()
) -> "Table":
    """Columns as wide as they need to be; those named in ``right`` are numbers."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left")
    for row in rows:
        table.add_row(*row)
    return table


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[str] = ()
) -> None:
    """A table on stdout; colours only on a terminal."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDE
    Console(width=width).print(make_table(columns, rows, right=right))
