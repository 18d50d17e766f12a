"""``headway import``: an outside trace becomes a Headway workload."""

import math
from pathlib import Path

import click

from headway.core.errors import InvalidInputError, UnavailableError
from headway.core.words import counted
from headway.traces.catalogue import CATALOGUE
from headway.traces.neutral import written
from headway.traces.recorded import Window
from headway.traces.sniff import IMPORTED, TRACES, imported, read_profiles
from headway.traces.variants import elastic, rigid


@click.command("import")
@click.argument("format_name", metavar="FORMAT", type=click.Choice(IMPORTED))
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
@click.option(
    "--from-h",
    default=0.0,
    show_default=True,
    help="Only jobs submitted from this hour of the trace on; it becomes hour 0.",
)
@click.option("--hours", default=math.inf, help="Only jobs of so many hours; all by default.")
@click.option("--tenant", help="Only jobs of this tenant: of philly, a virtual cluster.")
@click.option(
    "--elastic",
    "makes_elastic",
    is_flag=True,
    help="Give every job a built-in model by its GPU time, so that it is elastic and adaptive.",
)
@click.option(
    "--rigid",
    "rigid_share",
    type=float,
    help="Keep this share of the jobs at their requested GPUs and batch size.",
)
@click.option("--seed", default=0, show_default=True, help="Of all that is drawn by chance.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def import_command(
    format_name: str,
    file: Path,
    output: Path,
    profiles: Path | None,
    from_h: float,
    hours: float,
    tenant: str | None,
    makes_elastic: bool,
    rigid_share: float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Convert FILE, a trace in FORMAT, to a Headway workload; say what was dropped and why.

    FORMAT is gavel (Shockwave's too), headway, itp, philly or pollux. Jobs of itp and philly have
    no model: each is given one by its GPU time, drawn by seed and written down.
    """
    window = _window(from_h, hours, tenant, seed)
    known = CATALOGUE if profiles is None else read_profiles(profiles)
    workload = imported(file, known, format_name, window, seed)
    if makes_elastic and format_name not in TRACES:  # those of a trace are so already
        workload = elastic(workload, seed)
    if rigid_share is not None:
        workload = rigid(workload, rigid_share, seed)
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
    click.echo(f"{counted(len(workload.jobs), 'job')} written to {output}")


def _window(from_h: float, hours: float, tenant: str | None, seed: int) -> Window:
    if not (math.isfinite(from_h) and from_h >= 0):
        raise InvalidInputError(f"--from-h must be an hour of the trace from 0 on, not {from_h:g}")
    if not hours > 0:
        raise InvalidInputError(f"--hours must be more than 0, not {hours:g}")
    if seed < 0:
        raise InvalidInputError(f"--seed must not be negative, not {seed}")
    return Window(from_h=from_h, hours=hours, tenant=tenant)
