"""What a results page is made of: figures with their verdicts, tables and sections."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from benchmarks.results.command import Command
from benchmarks.results.store import Record

Unit = Callable[[float], str]
Results = Mapping[Command, Record]  # without those that could not be had


def seconds(value: float) -> str:
    """Whole seconds."""
    return f"{value:,.0f} s"


def hours(value: float) -> str:
    """Hours of a whole node."""
    return f"{value:,.1f} node-h"


def cpu_seconds(value: float) -> str:
    """Seconds of a processor, to three digits."""
    return f"{value:,.3g} CPU s"


def milliseconds(value: float) -> str:
    """Seconds so short that their thousandths are told."""
    return f"{1000 * value:,.3g} ms"


def gigabytes(value: float) -> str:
    """Bytes by the thousand million."""
    return f"{value / 1e9:,.2f} GB"


def percent(value: float) -> str:
    """A share of 1 in hundredths."""
    return f"{100 * value:.1f} %"


def ratio(value: float) -> str:
    """A plain number around 1."""
    return f"{value:.2f}"


def share_of_bound(value: float) -> str:
    """A number so near to 1 that its digits count."""
    return f"{value:.5f}"


class Verdict(StrEnum):
    """What came of a figure."""

    MET = "met"
    NOT_MET = "**not met**"
    SHOWN = "shown"  # nothing is asked of it
    MISSING = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The interval that a figure is asked to lie in, ends included; by default nothing is asked."""

    low: float = -math.inf
    high: float = math.inf
    why: str = ""

    def verdict(self, measured: float | None) -> Verdict:
        """By computation alone."""
        if measured is None or math.isnan(measured):
            return Verdict.MISSING
        if math.isinf(self.low) and math.isinf(self.high):
            return Verdict.SHOWN
        return Verdict.MET if self.low <= measured <= self.high else Verdict.NOT_MET

    def text(self, unit: Unit) -> str:
        """For a cell of a table."""
        parts = []
        if not math.isinf(self.low):
            parts.append(f"≥ {unit(self.low)}")
        if not math.isinf(self.high):
            parts.append(f"≤ {unit(self.high)}")
        bounds = " and ".join(parts)
        return f"{bounds} ({self.why})" if self.why else bounds


def at_most(high: float, why: str = "") -> Reach:
    """This or less."""
    return Reach(high=high, why=why)


def at_least(low: float, why: str = "") -> Reach:
    """This or more."""
    return Reach(low=low, why=why)


def near(published: float, share: float) -> Reach:
    """Within a share of the published figure, above or below."""
    return Reach(
        low=published * (1 - share), high=published * (1 + share), why=f"within {100 * share:g} %"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line: what was measured against what was published and what is asked."""

    what: str
    unit: Unit
    measured: float | None
    published: float | str | None = None
    reach: Reach = field(default_factory=Reach)

    @property
    def verdict(self) -> Verdict:
        return self.reach.verdict(self.measured)

    @property
    def cells(self) -> tuple[str, ...]:
        """In the order of ``page.COLUMNS``."""
        published = self.published
        if isinstance(published, float):
            published = self.unit(published)
        measured = None if self.verdict is Verdict.MISSING else self.measured
        return (
            self.what,
            "" if measured is None else self.unit(measured),
            published or "",
            self.reach.text(self.unit),
            self.verdict,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """More detail, without a verdict."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of the page: the commands that it needs, and what it says once they have run."""

    key: str  # for --only
    title: str
    about: str
    commands: tuple[Command, ...]
    figures: Callable[[Results], Sequence[Figure]]
    tables: Callable[[Results], Sequence[Table]] = lambda results: ()


def mean(values: Sequence[float | None]) -> float | None:
    """None where one is missing: a mean over fewer would be another figure."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def quotient(over: float | None, under: float | None) -> float | None:
    """None where one of the two is missing."""
    return None if over is None or not under else over / under
