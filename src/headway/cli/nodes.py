"""headway nodes: the machines, their GPUs, and who holds them."""

from collections.abc import Mapping, Sequence
from typing import Any

import click

from headway.cli.client import Connect, service_options
from headway.cli.output import print_json, print_table

COLUMNS = ("node", "type", "rack", "speed", "gpus", "free", "jobs")
BESIDE = {"cpus": ("cpus", "free_cpus"), "memory_gb": ("memory_gb", "free_memory_gb")}


@click.command("nodes")
@service_options
def nodes_command(connect: Connect, as_json: bool) -> None:
    """List nodes: type, rack, speed and GPUs, free CPUs and GB of memory, who holds how much."""
    answer = connect().get("/api/v1/cluster")["nodes"]
    if as_json:
        print_json({"nodes": answer})
    elif answer:
        columns, rows = table(answer)
        print_table(columns, rows, right=columns[3:-1])
    else:
        click.echo("no nodes")


def table(
    nodes: Sequence[Mapping[str, Any]],
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and rows; of CPUs and memory what is free of how much, where a node says it."""
    shown = [name for name in BESIDE if any(node[name] is not None for node in nodes)]
    columns = (*COLUMNS[:-1], *shown, COLUMNS[-1])
    return columns, [_row(node, shown) for node in nodes]


def _row(node: Mapping[str, Any], shown: Sequence[str]) -> tuple[str, ...]:
    jobs = ", ".join(f"{job} {gpus}" for job, gpus in sorted(node["jobs"].items()))
    return (
        node["node_id"],
        node["gpu_type"],
        node["rack"] or "-",
        f"{node['speed']:g}",
        str(node["gpus"]),
        str(node["free_gpus"]),
        *(_free(*(node[field] for field in BESIDE[name])) for name in shown),
        jobs or "-",
    )


def _free(there: float | None, free: float | None) -> str:
    return "-" if there is None or free is None else f"{free:g}/{there:g}"
