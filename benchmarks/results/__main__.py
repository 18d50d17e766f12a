"""The command line: run what is missing, then write the page from all that is known."""

import platform
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import click

from benchmarks.results.command import Command
from benchmarks.results.figures import Section
from benchmarks.results.page import page
from benchmarks.results.pages import PAGES, Page
from benchmarks.results.run import Failure, Place, run_missing
from benchmarks.results.scope import Scope
from benchmarks.results.store import Store

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "out" / "results"
FOLDER = ROOT / "docs" / "results"


@click.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of what was published; the head of a page says what is in it.",
)
@click.option(
    "--page", "name", type=click.Choice(sorted(PAGES)), default="pollux", show_default=True
)
@click.option("--only", multiple=True, help="Run this section only; may be given several times.")
@click.option("--quick", is_flag=True, help="One workload and small clusters, on a page apart.")
@click.option("--no-run", is_flag=True, help="Run nothing; write what is known already.")
@click.option("--processes", default=1, show_default=True, type=click.IntRange(1))
def main(
    data: Path, name: str, only: tuple[str, ...], quick: bool, no_run: bool, processes: int
) -> None:
    """Measure what the sources have changed since the last time, and write the page."""
    scope = Scope(data=data.resolve())
    if quick:
        scope = replace(scope, workloads=(6,), most_gpus=256)
    wanted = PAGES[name]
    sections = wanted.sections(scope)
    store, asked = Store(KEPT, ROOT), () if no_run else _chosen(sections, only)
    failed = run_missing(
        sorted((each for section in asked for each in section.commands), key=wanted.first),
        store,
        Place(root=ROOT, data=scope.data),
        processes=processes,
        tell=lambda text: click.echo(text, err=True),
    )
    path = KEPT / "quick.md" if quick else FOLDER / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_text(wanted, scope, sections, store, failed), encoding="utf-8")
    click.echo(f"{path} is written", err=True)
    raise SystemExit(1 if failed else 0)


def _chosen(sections: Sequence[Section], only: Sequence[str]) -> Sequence[Section]:
    keys = [section.key for section in sections]
    for key in only:
        if key not in keys:
            raise click.BadParameter(f"{key!r} is no section; there are {', '.join(keys)}")
    return [section for section in sections if not only or section.key in only]


def _text(
    wanted: Page,
    scope: Scope,
    sections: Sequence[Section],
    store: Store,
    failed: dict[Command, Failure],
) -> str:
    commands = {command for section in sections for command in section.commands}
    found = {command: store.load(command) for command in commands}
    results = {command: record for command, record in found.items() if record is not None}
    python, *packages = (
        f"Python {platform.python_version()}",
        *(f"{name} {version(name)}" for name in ("numpy", "scipy", "highspy")),
    )
    covered = f"{wanted.covered(scope)}; {python}, {', '.join(packages)}, one thread a run."
    return page(wanted.head.format(covered=covered), sections, results, failed)


if __name__ == "__main__":
    main()
