"""The command line: run what is missing, then write the page from all that is known."""

from pathlib import Path

import click

from benchmarks.agent.costs import costs, counts, law, resize
from benchmarks.agent.misleading import misleading
from benchmarks.agent.quality import noise, quality
from benchmarks.ml100k import WHEEL
from benchmarks.results.writing import ROOT, versions, write

KEPT = ROOT / "out" / "agent"
PAGE = ROOT / "docs" / "results" / "agent.md"
PACKAGES = ("torch", "numpy", "scikit-learn")
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
    if not only and not _rated(data):
        only = tuple(section.key for section in sections if section.key != "misleading")
    whole = write(
        PAGE,
        HEAD.format(versions=versions(PACKAGES)),
        sections,
        data.resolve(),
        only=None if no_run else only,
        processes=processes,
        kept=KEPT,
    )
    raise SystemExit(0 if whole else 1)


def _rated(data: Path) -> bool:
    """Whether somebody has put the ratings there."""
    return any(data.glob(WHEEL))


if __name__ == "__main__":
    main()
