"""Run what is missing, then write a page from all that is known: what every results page shares."""

import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import click

from benchmarks.results.command import Command
from benchmarks.results.figures import Section
from benchmarks.results.page import page
from benchmarks.results.run import Failure, Place, run_missing
from benchmarks.results.store import Store

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "out" / "results"


def write(
    path: Path,
    head: str,
    sections: Sequence[Section],
    data: Path,
    *,
    only: Sequence[str] | None,
    processes: int,
    first: Callable[[Command], int] = lambda command: 0,
    kept: Path = KEPT,
) -> bool:
    """Whether all commands have an answer; ``only`` None runs nothing, and none of them all.

    What has less of ``first`` is run earlier; answers are kept in the folder ``kept``.
    """
    store = Store(kept, ROOT)
    wanted = [command for section in _chosen(sections, only) for command in section.commands]
    failed = run_missing(
        sorted(wanted, key=first),
        store,
        Place(root=ROOT, data=data),
        processes=processes,
        tell=lambda text: click.echo(text, err=True),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_text(head, sections, store, failed), encoding="utf-8")
    click.echo(f"{path} is written", err=True)
    return not failed


def _chosen(sections: Sequence[Section], only: Sequence[str] | None) -> Sequence[Section]:
    keys = [section.key for section in sections]
    for key in only or ():
        if key not in keys:
            raise click.BadParameter(f"{key!r} is no section; there are {', '.join(keys)}")
    if only is None:
        return ()
    return [section for section in sections if not only or section.key in only]


def _text(
    head: str, sections: Sequence[Section], store: Store, failed: Mapping[Command, Failure]
) -> str:
    commands = {command for section in sections for command in section.commands}
    found = {command: store.load(command) for command in commands}
    results = {command: record for command, record in found.items() if record is not None}
    return page(head, sections, results, failed)


def versions(names: Sequence[str] = ("numpy", "scipy", "highspy")) -> str:
    """Of Python and of what figures depend on, for a head."""
    packages = ", ".join(f"{name} {version(name)}" for name in names)
    return f"Python {platform.python_version()}, {packages}"
