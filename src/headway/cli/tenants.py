"""``--tenants FILE``: a table of tenants and their weights, for every command that decides."""

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
    import yaml

    from headway.core.policy.shares import tenants_text  # with NumPy; --help must be there at once

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"--tenants {path}: {error.strerror}") from None
    except RecursionError:
        raise InvalidInputError(f"--tenants {path}: is nested too deep; list names") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: not UTF-8, or a 13th month
        why = " ".join(str(error).split())
        raise InvalidInputError(f"--tenants {path}: is not YAML: {why}") from None
    table = found.get("tenants") if isinstance(found, dict) and set(found) == {"tenants"} else None
    if not isinstance(table, dict):
        raise InvalidInputError(
            f"--tenants {path}: must hold one field, as in tenants: {{vision: 2, speech: 1}}"
        )
    try:
        return tenants_text(table)
    except InvalidInputError as error:
        raise InvalidInputError(f"--tenants {path}: {error}") from None
