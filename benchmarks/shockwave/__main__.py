"""The command line: run what is missing, then write the page from all that is known."""

from pathlib import Path

import click

from benchmarks.results.writing import ROOT, versions, write
from benchmarks.shockwave.sections import SECTIONS

PAGE = ROOT / "docs" / "results" / "shockwave.md"
HEAD = """# Shockwave's published traces

Every figure below was measured by the command beside it and every verdict computed from it;
nobody typed either. `make results-shockwave DATA=FOLDER` measures again what the sources have
changed and rewrites this page.

`DATA` is the folder of traces, throughput tables and results published with Shockwave:
uw-mad-dash/shockwave. One-GPU nodes, rounds of 120 s, restarts of 20 s, averages over all jobs,
makespan from time 0 to the last completion. `rho_static`, the fraction above 1.05 and the other
readings of fairness: [Fairness](../explanation/fairness.md). Published figures are those of the
published code on the same trace, most of them from a re-run; differences below 2 % in makespan or
JCT and below 0.35 in the worst rho are chance. {versions}, one thread a run.
"""


@click.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of what was published with Shockwave.",
)
@click.option("--only", multiple=True, help="Run this section only; may be given several times.")
@click.option("--no-run", is_flag=True, help="Run nothing; write what is known already.")
@click.option("--processes", default=1, show_default=True, type=click.IntRange(1))
def main(data: Path, only: tuple[str, ...], no_run: bool, processes: int) -> None:
    """Measure what the sources have changed since the last time, and write the page."""
    where = data.resolve()
    whole = write(
        PAGE,
        HEAD.format(versions=versions()),
        [make(where) for make in SECTIONS],
        where,
        only=None if no_run else only,
        processes=processes,
    )
    raise SystemExit(0 if whole else 1)


if __name__ == "__main__":
    main()
