"""The command line: run what is missing, then write the page from all that is known."""

from dataclasses import replace
from pathlib import Path

import click

from benchmarks.results.scope import Scope
from benchmarks.results.sections import SECTIONS
from benchmarks.results.writing import KEPT, ROOT, versions, write

PAGE = ROOT / "docs" / "results" / "pollux.md"
HEAD = """# Pollux's published workloads

Every figure below was measured by the command beside it and every verdict computed from it;
nobody typed either. `make results DATA=FOLDER` measures again what the sources have changed and
rewrites this page.

`DATA` is the folder of profiles, workloads and results that was published with Pollux (OSDI'21):
petuum/adaptdl, branch osdi21-artifact. Unless a command says otherwise: 16 nodes of 4 GPUs,
rounds of 60 s, restarts of 30 s, averages over all jobs, percentiles by linear interpolation,
makespan from time 0 to the last completion. A published figure is that of the same workloads,
computed alike from the published completion times. {covered}
"""


@click.command()
@click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of what was published with Pollux.",
)
@click.option("--only", multiple=True, help="Run this section only; may be given several times.")
@click.option("--quick", is_flag=True, help="One workload and small clusters, on a page apart.")
@click.option("--no-run", is_flag=True, help="Run nothing; write what is known already.")
@click.option("--processes", default=1, show_default=True, type=click.IntRange(1))
def main(data: Path, only: tuple[str, ...], quick: bool, no_run: bool, processes: int) -> None:
    """Measure what the sources have changed since the last time, and write the page."""
    scope = Scope(data=data.resolve())
    if quick:
        scope = replace(scope, workloads=(6,), most_gpus=256)
    covered = f"Here: {scope.named}; {versions()}, one thread a run."
    whole = write(
        KEPT / "quick.md" if quick else PAGE,
        HEAD.format(covered=covered),
        [make(scope) for make in SECTIONS],
        scope.data,
        only=None if no_run else only,
        processes=processes,
    )
    raise SystemExit(0 if whole else 1)


if __name__ == "__main__":
    main()
