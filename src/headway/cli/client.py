"""The REST client of the command line, and the options of every command that needs it."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from headway.service.client import Client

__all__ = ["Client", "service_options"]
F = TypeVar("F", bound=Callable[..., Any])


def service_options(command: F) -> F:
    """The options of every command that talks to a service."""
    command = click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)
    command = click.option("--state", metavar="DIR", help="State directory of the service.")(
        command
    )
    return click.option("--url", help="Address of the service.  [HEADWAY_URL, or by --state]")(
        command
    )
