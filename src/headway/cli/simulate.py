"""``headway simulate``: a workload in virtual time under one or more policies."""

from collections.abc import Sequence
from pathlib import Path

import click

from headway.cli.keeping import alone_in, keep
from headway.cli.output import print_json, print_table
from headway.cli.progress import progress
from headway.cli.scenario import Scenario, facts, notes, scenario_options, warnings
from headway.report import comparison
from headway.report.table import number, signed
from headway.sim.results import Result, run_all


@click.command("simulate")
@scenario_options
@click.option("--seed", default=0, show_default=True, help="Of all that is drawn by chance.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for event logs, tables and a report."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def simulate_command(scenario: Scenario, seed: int, out: Path | None, as_json: bool) -> None:
    """Run WORKLOAD in virtual time under one or more policies.

    WORKLOAD is a file in any known format, or pollux-mix (with options, as in
    pollux-mix:jobs=320,hours=8): jobs that are drawn anew for each seed.
    """
    setup = scenario.setup(seed)
    notes(setup.workload.notes)
    with alone_in(out):
        with progress(len(setup.workload.jobs)) as tell:
            results = run_all(setup, scenario.contenders, out, tell)
        for result in results:
            notes(warnings(result))
        if out is not None:
            keep(out, facts(setup), results)
    if as_json:
        print_json(
            {
                "workload": setup.workload.name,
                "cluster": setup.cluster.name,
                "seed": seed,
                "results": [result.row() for result in results],
            }
        )
    else:
        _print(results)


def _print(results: Sequence[Result]) -> None:
    """A column for each policy: there are more figures than policies, and 80 columns of text."""
    table = comparison({result.policy: result.summary for result in results})
    (head, *policies), *figures = zip(table.columns, *table.rows, strict=True)
    print_table((head, *policies), [*figures, *_tenants(results)], right=policies)


def _tenants(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """GPU-hours of each tenant, where there are several: held, and how far beyond its share."""
    names = [tenant.tenant for tenant in results[0].tenants]
    if len(names) < 2:
        return []
    each = list(zip(*(result.tenants for result in results), strict=True))
    rows = [
        (f"GPU-h {name}", *(number(one.gpu_hours) for one in ones))
        for name, ones in zip(names, each, strict=True)
    ]
    return rows + [
        (f"ahead {name}", *(signed(one.ahead_gpu_hours) for one in ones))
        for name, ones in zip(names, each, strict=True)
    ]
