"""The command line: run what is missing, then write the page from all that is known."""

from dataclasses import replace
from pathlib import Path

import click

from benchmarks.results.pages import PAGES
from benchmarks.results.scope import Scope
from benchmarks.results.writing import KEPT, ROOT, versions, write

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
    covered = f"{wanted.covered(scope)}; {versions()}, one thread a run."
    whole = write(
        KEPT / "quick.md" if quick else FOLDER / f"{name}.md",
        wanted.head.format(covered=covered),
        wanted.sections(scope),
        scope.data,
        only=None if no_run else only,
        processes=processes,
        first=wanted.first,
    )
    raise SystemExit(0 if whole else 1)


if __name__ == "__main__":
    main()
