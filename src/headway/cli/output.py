"""Tables for people, JSON for scripts."""

import sys
from collections.abc import Iterable, Sequence

import click
import msgspec


def print_json(value: object) -> None:
    """One object on stdout, nothing else."""
    click.echo(msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as they need to be; colours only on a terminal."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="left" if column.islower() else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else 200
    Console(width=width, soft_wrap=True).print(table)
