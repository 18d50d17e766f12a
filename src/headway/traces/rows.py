"""Tables of text from outside, parsed row by row; every mistake names file, line, field and fix."""

import csv
import gzip
import io
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.core.errors import InvalidInputError

GZIP = b"\x1f\x8b"


def read_text(path: Path) -> str:
    """The text of a file that may be gzip-compressed.

    Raises:
        InvalidInputError: it cannot be read, is cut off, is not text, or is empty.
    """
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw.startswith(GZIP) else raw).decode("utf-8-sig")
    except IsADirectoryError:
        raise InvalidInputError(f"{path} is a folder; name a file in it") from None
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InvalidInputError(f"{path} is a damaged gzip file; copy it again") from None
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInputError(f"{path} is not text in UTF-8; give a CSV file") from None
    if not text.strip():
        raise InvalidInputError(f"{path} is empty; it needs a header line and a row for each job")
    return text


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it is, and its fields as text."""

    where: str
    fields: Mapping[str, str]

    def wrong(self, name: str, why: str) -> InvalidInputError:
        """An error about one field of this row."""
        return InvalidInputError(f"{self.where}: {name} {why}")

    def text(self, name: str, default: str | None = None) -> str:
        """A field that must not be empty, unless there is a default."""
        value = self.fields.get(name, "").strip()
        if value:
            return value
        if default is None:
            raise self.wrong(name, "is empty; fill it in or drop the row")
        return default

    def number(self, name: str, default: str | None = None, *, above: float | None = None) -> float:
        """A finite number that is not negative, and above ``above`` if that is given."""
        text = self.text(name, default)
        try:
            value = float(text)
        except ValueError:
            raise self.wrong(name, f"must be a number, not {text!r}") from None
        if not math.isfinite(value) or value < 0:
            raise self.wrong(name, f"must be a number that is not negative, not {text}")
        if above is not None and value <= above:
            raise self.wrong(name, f"must be more than {above:g}, not {text}")
        return value

    def whole(self, name: str, default: str | None = None, *, least: int = 1) -> int:
        """A whole number of at least ``least``."""
        text = self.text(name, default)
        try:
            value = int(text)
        except ValueError:
            raise self.wrong(name, f"must be a whole number, not {text!r}") from None
        if value < least:
            raise self.wrong(name, f"must be at least {least}, not {text}")
        return value

    def flag(self, name: str, default: str) -> bool:
        """``true`` or ``false``."""
        text = self.text(name, default).lower()
        if text not in {"true", "false"}:
            raise self.wrong(name, f"must be true or false, not {text!r}")
        return text == "true"


def header(text: str) -> tuple[str, ...]:
    """The names in the first line."""
    first = next(csv.reader(io.StringIO(text)), [])
    return tuple(name.strip() for name in first)


def rows(path: Path, text: str, needed: Sequence[str], known: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of a table with a header; blank lines are skipped.

    Raises:
        InvalidInputError: columns missing or unknown, a row with too few or too many fields,
            no row at all.
    """
    names = header(text)
    _check_header(path, names, needed, known)
    found = False
    reader = csv.reader(io.StringIO(text))
    next(reader)
    try:
        for values in reader:
            if not values:
                continue
            found = True
            where = f"{path.name} line {reader.line_num}"
            if len(values) != len(names):
                raise InvalidInputError(_miscounted(where, values, names))
            yield Row(where, dict(zip(names, values, strict=True)))
    except csv.Error as error:
        raise InvalidInputError(f"{path.name} line {reader.line_num}: {error}") from None
    if not found:
        raise InvalidInputError(f"{path} has a header but no rows; add a row for each job")


def _check_header(
    path: Path, names: Sequence[str], needed: Sequence[str], known: Sequence[str]
) -> None:
    missing = [name for name in needed if name not in names]
    if missing:
        raise InvalidInputError(
            f"{path.name} line 1: column {missing[0]} is missing; the header must name "
            f"{', '.join(needed)}"
        )
    unknown = [name for name in names if known and name not in known]
    if unknown:
        raise InvalidInputError(
            f"{path.name} line 1: unknown column {unknown[0]!r}; known are {', '.join(known)}"
        )
    if len(set(names)) < len(names):
        raise InvalidInputError(f"{path.name} line 1: a column is named twice; drop one")


def _miscounted(where: str, values: Sequence[str], names: Sequence[str]) -> str:
    if len(values) < len(names):
        return (
            f"{where}: {names[len(values)]} is missing ({len(values)} fields of {len(names)}); "
            "the file may be cut off, copy it again"
        )
    return f"{where}: {len(values)} fields, but the header names {len(names)}; drop the rest"
