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
from headway.core.words import counted

GZIP = b"\x1f\x8b"
MOST_S = 1e12  # beyond it, a double no longer tells one millisecond from the next
LEAST_WEIGHT, MOST_WEIGHT = 1e-6, 1e6  # of a job
MOST_WHOLE = 2**31 - 1  # sums and products of counts stay far inside 64 bits
SHOWN = 40  # letters of a wrong value that a message repeats


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
    except UnicodeEncodeError:
        raise InvalidInputError(f"{str(path)!r} is no path; write it in UTF-8") from None
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

    def number(
        self,
        name: str,
        default: str | None = None,
        *,
        above: float | None = None,
        most: float | None = None,
    ) -> float:
        """A finite number that is not negative, above ``above``, and at most ``most``."""
        text = self.text(name, default)
        try:
            value = float(text)
        except ValueError:
            raise self.wrong(name, f"must be a number, not {_short(text)!r}") from None
        if not math.isfinite(value) or value < 0:
            raise self.wrong(name, f"must be a number that is not negative, not {_short(text)}")
        if above is not None and value <= above:
            raise self.wrong(name, f"must be more than {above:g}, not {_short(text)}")
        if most is not None and value > most:
            raise self.wrong(name, f"must be at most {most:g}, not {_short(text)}")
        return value

    def whole(
        self,
        name: str,
        default: str | None = None,
        *,
        least: int = 1,
        most: int = MOST_WHOLE,
    ) -> int:
        """A whole number from ``least`` to ``most``."""
        text = self.text(name, default)
        try:
            value = int(text)
        except ValueError:
            raise self.wrong(name, f"must be a whole number, not {_short(text)!r}") from None
        if value < least:
            raise self.wrong(name, f"must be at least {least}, not {_short(text)}")
        if value > most:
            raise self.wrong(name, f"must be at most {most}, not {_short(text)}")
        return value

    def weight(self, name: str) -> float:
        """How much a job counts, 1 where nothing is said; sums and quotients stay finite."""
        value = self.number(name, "1", most=MOST_WEIGHT)
        if value < LEAST_WEIGHT:
            raise self.wrong(name, f"must be at least {LEAST_WEIGHT:g}, not {value:g}")
        return value

    def flag(self, name: str, default: str) -> bool:
        """``true`` or ``false``."""
        text = self.text(name, default).lower()
        if text not in {"true", "false"}:
            raise self.wrong(name, f"must be true or false, not {text!r}")
        return text == "true"


def header(path: Path, text: str) -> tuple[str, ...]:
    """The names in the first line.

    Raises:
        InvalidInputError: it is no line of a table.
    """
    try:
        first = next(csv.reader(_lines(text)), [])
    except csv.Error as error:
        raise InvalidInputError(f"{path.name} line 1: {error}; give a CSV file") from None
    return tuple(name.strip() for name in first)


def _lines(text: str) -> io.StringIO:
    """Lines end as on any system: LF, CR LF, or CR alone."""
    return io.StringIO(text, newline=None)


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def rows(path: Path, text: str, needed: Sequence[str], known: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of a table with a header; blank lines are skipped.

    Raises:
        InvalidInputError: columns missing or unknown, a row with too few or too many fields,
            no row at all.
    """
    names = header(path, text)
    _check_header(path, names, needed, known)
    found = False
    reader = csv.reader(_lines(text))
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


def rows_with_gpus(
    path: Path, text: str, needed: Sequence[str], field: str
) -> tuple[list[tuple[Row, int]], tuple[str, ...]]:
    """The rows of jobs that held GPUs, and how many; and a note on those that held none.

    Raises:
        InvalidInputError: as ``rows``, or no job held any.
    """
    read = [(row, row.whole(field, least=0)) for row in rows(path, text, needed)]
    busy = [(row, gpus) for row, gpus in read if gpus]
    if not busy:
        raise InvalidInputError(f"{path}: {field} of every job is 0; nothing can be run")
    idle = len(read) - len(busy)
    return busy, (f"{counted(idle, 'job')} dropped: {field} is 0",) if idle else ()


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
