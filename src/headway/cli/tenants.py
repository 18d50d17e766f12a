"""``--tenants FILE``: a table of tenants and their weights, for every command that decides."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import click

from headway.core.errors import InvalidInputError

tenants_option = click.option(
    "--tenants",
    type=click.Path(path_type=Path),
    metavar="FILE.yaml",
    help="Weights of tenants, as in `tenants: {vision: 2, speech: 1}`.",
)


def read_tenants(path: Path) -> str:
    """The table of a file, as policies take it (``vision:2,speech:1``).

    Raises:
        InvalidInputError: a file that cannot be used.
    """
    from headway.core.policy.shares import tenants_text  # with NumPy; --help must be there at once
    from headway.sim.fields import read_yaml

    found = read_yaml(path, f"--tenants {path}")
    table = found.get("tenants") if isinstance(found, dict) and set(found) == {"tenants"} else None
    if not isinstance(table, dict):
        raise InvalidInputError(
            f"--tenants {path}: must hold one field, as in tenants: {{vision: 2, speech: 1}}"
        )
    try:
        return tenants_text(table)
    except InvalidInputError as error:
        raise InvalidInputError(f"--tenants {path}: {error}") from None


def check_tenants(settings: Iterable[Mapping[str, str]], known: Collection[str]) -> None:
    """A weight of a tenant without jobs is a slip of the pen: it would change nothing.

    Raises:
        InvalidInputError: some policy's settings have one.
    """
    from headway.core.policy.shares import parse_tenants

    for own in settings:
        for tenant in parse_tenants(own.get("tenants", "")):
            if tenant not in known:
                raise InvalidInputError(
                    f"tenants: no job of the workload belongs to {tenant!r}; "
                    f"write one of {', '.join(sorted(known))}"
                )
