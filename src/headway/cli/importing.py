"""``headway import``: an outside trace becomes a Headway workload."""

from pathlib import Path

import click

from headway.core.errors import UnavailableError
from headway.traces.catalogue import CATALOGUE
from headway.traces.neutral import written
from headway.traces.sniff import FORMATS, read_profiles, read_workload


@click.command("import")
@click.argument("format_name", metavar="FORMAT", type=click.Choice(sorted(FORMATS)))
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="Where to write it."
)
@click.option(
    "--profiles",
    type=click.Path(path_type=Path),
    help="Measured profiles that the jobs refer to: a folder of Pollux's, or a throughput table of "
    "Gavel's; the built-in catalogue by default.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def import_command(
    format_name: str, file: Path, output: Path, profiles: Path | None, as_json: bool
) -> None:
    """Convert FILE, a trace in FORMAT, to a Headway workload; say what was dropped and why.

    FORMAT is gavel (Shockwave's too), headway or pollux.
    """
    known = CATALOGUE if profiles is None else read_profiles(profiles)
    workload = read_workload(file, known, format_name)
    try:
        output.write_text(written(workload), encoding="utf-8")
    except OSError as error:
        raise UnavailableError(f"{output} cannot be written: {error.strerror}") from None
    if as_json:
        from headway.cli.output import print_json

        print_json(
            {"jobs": len(workload.jobs), "notes": list(workload.notes), "output": str(output)}
        )
        return
    for note in workload.notes:
        click.echo(f"headway: note: {note}", err=True)
    click.echo(f"{len(workload.jobs)} jobs written to {output}")
