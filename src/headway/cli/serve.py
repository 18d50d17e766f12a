"""headway serve: start the scheduler on this machine."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.output import print_json
from headway.cli.tenants import read_tenants, tenants_option
from headway.core.errors import InvalidInputError
from headway.core.words import counted

if TYPE_CHECKING:
    from headway.service.main import Ready


@click.command("serve")
@click.option("--host", help="Address to listen on.  [127.0.0.1]")
@click.option("--port", type=int, help="Port to listen on; 0 for any that is free.  [8642]")
@click.option("--state", metavar="DIR", help="Event log, token and job directories.")
@click.option("--slots", type=int, help="GPUs to use, or CPU slots where there is no GPU.  [all]")
@click.option("--engine", help="Where jobs run: local, or memory (nowhere, to try things out).")
@click.option(
    "--policy",
    help="Who decides; +cost, +goodput or +throughput scales the cluster, where the engine can.",
)
@click.option(
    "--set", "set", multiple=True, metavar="POLICY.SETTING=VALUE", help="As in pollux.p=-1."
)
@tenants_option
@click.option("--round-s", type=float, help="Seconds from one decision to the next.  [60]")
@click.option("--seed", type=int, help="Of the policy's dice.")
@click.option("--stop-jobs", is_flag=True, default=None, help="At the end, stop all jobs too.")
@click.option("--config", type=click.Path(path_type=Path), help="A TOML file with these settings.")
@click.option("--json", "as_json", is_flag=True, help="Say where it listens as JSON.")
def serve_command(config: Path | None, as_json: bool, **options: Any) -> None:
    """Start the scheduler on this machine and run until it is told to stop (Ctrl-C, SIGTERM).

    Jobs that run then go on running; the next start with the same --state takes them over. Every
    option is also a key of the TOML file (--config, HEADWAY_CONFIG) and a variable such as
    HEADWAY_ROUND_S.
    """
    import logging
    from importlib.util import find_spec

    for package in ("fastapi", "pydantic", "sqlalchemy", "uvicorn"):
        if find_spec(package) is None:
            raise InvalidInputError(f"serve needs {package}; pip install 'headway[service]'")

    from headway.service.main import serve
    from headway.service.settings import load

    logging.basicConfig(stream=sys.stderr, format="headway: %(levelname)s %(message)s")
    if config is None and os.environ.get("HEADWAY_CONFIG"):
        config = Path(os.environ["HEADWAY_CONFIG"])
    if options["state"] is not None:
        options["state"] = Path(options["state"]).expanduser().absolute()
    if options["tenants"] is not None:
        options["tenants"] = read_tenants(options["tenants"])
    settings = load(options, os.environ, config)
    serve(settings, _announce_json if as_json else _announce)


def _announce(ready: "Ready") -> None:
    settings = ready.settings
    click.echo(
        f"headway: listening on {ready.url} ({counted(ready.gpus, 'slot')}, "
        f"policy {settings.policy}, a decision every {settings.round_s:g} s); "
        f"state in {settings.state}"
    )


def _announce_json(ready: "Ready") -> None:
    settings = ready.settings
    print_json(
        {
            "url": ready.url,
            "pid": os.getpid(),
            "state": str(settings.state),
            "gpus": ready.gpus,
            "policy": settings.policy,
            "round_s": settings.round_s,
        }
    )
