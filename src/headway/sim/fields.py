"""Values out of YAML, each checked where it is read; what is wrong is said with its place."""

from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from reprlib import Repr
from typing import Any, final

import yaml

from headway.core.errors import InvalidInputError

MOST_LETTERS = 1000  # of a name
MOST_NUMBER = 10**9  # that stands for a name
MOST_BITS = 100  # of a number that is shown


@final
class _Short(Repr):
    """A few levels and entries of anything; of a number that is endless only that it is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxdict, self.maxlist = 2, 3, 3
        self.maxstring = self.maxother = 60

    def repr_int(self, x: int, level: int) -> str:
        """Python writes no whole number of several thousand digits."""
        return super().repr_int(x, level) if x.bit_length() < MOST_BITS else "a huge number"


@final
class _Loader(yaml.SafeLoader):
    """YAML in which no name is given twice; the last would win without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As YAML has it, once every name is known to be there once."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{shown(key.value)} is named twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def read_yaml(path: Path, where: str) -> object:
    """What a file of YAML holds.

    Raises:
        InvalidInputError: it cannot be read, or is not YAML.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as error:
        raise InvalidInputError(f"{where}: {error.strerror}") from None
    except RecursionError:
        raise InvalidInputError(f"{where}: is nested too deep; list names and numbers") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: not UTF-8, or a 13th month
        why = " ".join(str(error).split())
        raise InvalidInputError(f"{where}: is not YAML: {why}") from None


def shown(found: object) -> str:
    """A wrong value, short however large it is: aliases make a page of YAML hold a universe."""
    return _Short().repr(found)


def mapping(found: object, known: Set[str], where: str) -> Mapping[str, Any]:
    """A mapping with no field but the known ones.

    Raises:
        InvalidInputError: something else, as all functions here.
    """
    if not isinstance(found, dict):
        raise InvalidInputError(f"{where} must be a mapping with {', '.join(sorted(known))}")
    unknown = sorted(shown(key) for key in found if key not in known)
    if unknown:
        raise InvalidInputError(
            f"{where}: unknown field {unknown[0]}; known are {', '.join(sorted(known))}"
        )
    return found


def named(found: object, where: str, what: str) -> Mapping[str, Any]:
    """A mapping by names that the owner chose; ``what`` says of what."""
    if not isinstance(found, dict):
        raise InvalidInputError(f"{where} must be a mapping by {what}")
    return {text(name, f"{where}: a {what}"): value for name, value in found.items()}


def text(found: object, where: str) -> str:
    """A name: letters, or a number that stands for them."""
    plain = isinstance(found, str | float) or (isinstance(found, int) and abs(found) <= MOST_NUMBER)
    name = str(found) if plain and not isinstance(found, bool) else ""
    if not (0 < len(name) <= MOST_LETTERS and name.isprintable()):
        raise InvalidInputError(
            f"{where} must be a name of at most {MOST_LETTERS} letters, not {shown(found)}"
        )
    return name


def listed(found: object, where: str) -> Sequence[object]:
    """A list."""
    if not isinstance(found, list):
        raise InvalidInputError(f"{where} must be a list")
    return found


def count(found: object, where: str, most: int) -> int:
    """A whole number from 1."""
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= most:
        raise InvalidInputError(
            f"{where} must be a whole number from 1 to {most}, not {shown(found)}"
        )
    return found


def number(found: object, where: str, *, least: float, most: float) -> float:
    """A number between two bounds."""
    if isinstance(found, bool) or not isinstance(found, int | float) or not least <= found <= most:
        raise InvalidInputError(
            f"{where} must be a number from {least:g} to {most:g}, not {shown(found)}"
        )
    return float(found)
