"""headway tenants: the ledger of who is ahead and behind, by how many GPU-hours."""

from collections.abc import Mapping
from typing import Any

import click

from headway.cli.client import Connect, service_options
from headway.cli.output import print_json, print_table
from headway.report.table import signed

COLUMNS = ("tenant", "weight", "jobs", "active", "GPU-h held", "GPU-h share", "GPU-h ahead")


@click.command("tenants")
@service_options
def tenants_command(connect: Connect, as_json: bool) -> None:
    """Say which tenants are ahead and behind.

    A tenant's share is what it was entitled to while its jobs were active: by its weight, or job
    by job where tenants have none, and no more than its jobs can use. Negative: it is behind.
    """
    answer = connect().get("/api/v1/tenants")
    if as_json:
        print_json(answer)
    elif answer["tenants"]:
        print_table(COLUMNS, [_row(one) for one in answer["tenants"]], right=COLUMNS[1:])
    else:
        click.echo("no tenants; nobody has submitted a job yet")


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        one["tenant"],
        "-" if one["weight"] is None else f"{one['weight']:g}",
        str(one["jobs"]),
        str(one["active"]),
        f"{one['gpu_hours']:,.2f}",
        f"{one['entitled_gpu_hours']:,.2f}",
        signed(one["ahead_gpu_hours"], 2),
    )
