"""Values out of YAML, each checked where it is read; what is wrong is said with its place."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

from headway.core.errors import InvalidInputError


def mapping(found: object, known: Set[str], where: str) -> Mapping[str, Any]:
    """A mapping with no field but the known ones.

    Raises:
        InvalidInputError: something else, as all functions here.
    """
    if not isinstance(found, dict):
        raise InvalidInputError(f"{where} must be a mapping with {', '.join(sorted(known))}")
    unknown = sorted(str(key) for key in found if key not in known)
    if unknown:
        raise InvalidInputError(
            f"{where}: unknown field {unknown[0]!r}; known are {', '.join(sorted(known))}"
        )
    return found


def named(found: object, where: str, what: str) -> Mapping[str, Any]:
    """A mapping by names that the owner chose; ``what`` says of what."""
    if not isinstance(found, dict):
        raise InvalidInputError(f"{where} must be a mapping by {what}")
    return {str(name): value for name, value in found.items()}


def listed(found: object, where: str) -> Sequence[object]:
    """A list."""
    if not isinstance(found, list):
        raise InvalidInputError(f"{where} must be a list")
    return found


def count(found: object, where: str, most: int) -> int:
    """A whole number from 1."""
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= most:
        raise InvalidInputError(f"{where} must be a whole number from 1 to {most}, not {found!r}")
    return found


def number(found: object, where: str, *, least: float, most: float) -> float:
    """A number between two bounds."""
    if isinstance(found, bool) or not isinstance(found, int | float) or not least <= found <= most:
        raise InvalidInputError(
            f"{where} must be a number from {least:g} to {most:g}, not {found!r}"
        )
    return float(found)
