"""The REST client of the command line, and the options of every command that needs it."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import click

from headway.service.client import Client

__all__ = ["Client", "Connect", "service_options"]
Connect = Callable[[], Client]


def service_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of every command that talks to a service; ``connect`` finds it."""

    @wraps(command)
    def connected(
        *args: Any, url: str | None, state: str | None, token_file: str | None, **options: Any
    ) -> None:
        connect = partial(Client.find, url=url, state=state, token_file=token_file)
        command(*args, connect=connect, **options)

    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--state", metavar="DIR", help="State directory of the service."),
        click.option(
            "--token-file",
            metavar="FILE",
            help="Holds the service's token.  [HEADWAY_TOKEN_FILE, or by --state]",
        ),
        click.option("--url", help="Address of the service.  [HEADWAY_URL, or by --state]"),
    ):
        connected = option(connected)
    return connected
