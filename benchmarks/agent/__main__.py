"""The command line: run what is missing, then write the page from all that is known."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import click

from benchmarks.agent.costs import costs, counts, law, resize
from benchmarks.agent.misleading import misleading
from benchmarks.agent.quality import noise, quality
from benchmarks.ml100k import WHEEL
from benchmarks.results.command import Command
from benchmarks.results.figures import Section
from benchmarks.results.page import page
from benchmarks.results.run import Failure, Place, run_missing
from benchmarks.results.store import Store

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "out" / "agent"
PAGE = ROOT / "docs" / "results" / "agent.md"
SECTIONS = (quality, noise, misleading, law, costs, counts, resize)
HEAD = """# The agent

Real trainings on two cores. Every figure below was measured by the command beside it and every
verdict computed from it; nobody typed either. `python -m benchmarks.agent --data DATA` measures
again what the sources have changed and rewrites this page; `--only SECTION` one part of it.

`DATA` is a folder with `rcp`, the reference convergence points of MLCommons'
mlperf_logging/rcp_checker, and perhaps the wheel of recbole, for its film ratings. Here:
{versions}, one thread a process, gloo.
"""


@click.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with rcp, MLPerf's reference convergence points.",
)
@click.option("--only", multiple=True, help="Run this section only; may be given several times.")
@click.option("--no-run", is_flag=True, help="Run nothing; write what is known already.")
@click.option("--processes", default=1, show_default=True, type=click.IntRange(1))
def main(data: Path, only: tuple[str, ...], no_run: bool, processes: int) -> None:
    """Measure what the sources have changed since the last time, and write the page."""
    sections = [make() for make in SECTIONS]
    store, asked = Store(KEPT, ROOT), () if no_run else _chosen(sections, only, data)
    failed = run_missing(
        [command for section in asked for command in section.commands],
        store,
        Place(root=ROOT, data=data.resolve()),
        processes=processes,
        tell=lambda text: click.echo(text, err=True),
    )
    PAGE.write_text(_text(sections, store, failed), encoding="utf-8")
    click.echo(f"{PAGE} is written", err=True)
    raise SystemExit(1 if failed else 0)


def _chosen(sections: Sequence[Section], only: Sequence[str], data: Path) -> Sequence[Section]:
    keys = [section.key for section in sections]
    for key in only:
        if key not in keys:
            raise click.BadParameter(f"{key!r} is no section; there are {', '.join(keys)}")
    return [
        section
        for section in sections
        if section.key in only or (not only and (section.key != "misleading" or _rated(data)))
    ]


def _rated(data: Path) -> bool:
    """Whether somebody has put the ratings there."""
    return any(data.glob(WHEEL))


def _text(sections: Sequence[Section], store: Store, failed: dict[Command, Failure]) -> str:
    commands = {command for section in sections for command in section.commands}
    found = {command: store.load(command) for command in commands}
    results = {command: record for command, record in found.items() if record is not None}
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "scikit-learn"))
    versions = f"Python {platform.python_version()}, {packages}"
    return page(HEAD.format(versions=versions), sections, results, failed)


if __name__ == "__main__":
    main()
