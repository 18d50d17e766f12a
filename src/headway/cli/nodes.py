"""headway nodes: the machines, their GPUs, and who holds them."""

from collections.abc import Mapping
from typing import Any

import click

from headway.cli.client import Client, service_options
from headway.cli.output import print_json, print_table

COLUMNS = ("node", "type", "rack", "speed", "gpus", "free", "jobs")


@click.command("nodes")
@service_options
def nodes_command(url: str | None, state: str | None, as_json: bool) -> None:
    """List nodes: GPU type, rack, nominal speed, and which jobs hold how many GPUs."""
    answer = Client.find(url=url, state=state).get("/api/v1/cluster")["nodes"]
    if as_json:
        print_json({"nodes": answer})
    elif answer:
        print_table(COLUMNS, [_row(node) for node in answer], right=COLUMNS[3:6])
    else:
        click.echo("no nodes")


def _row(node: Mapping[str, Any]) -> tuple[str, ...]:
    jobs = ", ".join(f"{job} {gpus}" for job, gpus in sorted(node["jobs"].items()))
    return (
        node["node_id"],
        node["gpu_type"],
        node["rack"] or "-",
        f"{node['speed']:g}",
        str(node["gpus"]),
        str(node["free_gpus"]),
        jobs or "-",
    )
