"""Figures over several seeds: mean and standard error, and which policy is the best at each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from headway.core.metrics import Summary
from headway.report.comparison import READINGS, Column
from headway.report.table import UNKNOWN, number

FEW = 3  # runs; of fewer, the least and the most say more than a standard error


def _per_job(summary: Summary) -> float | None:
    return summary.restarts / summary.jobs if summary.jobs else None


FIGURES = (
    Column(title="finished", of=lambda summary: summary.finished, better=max),
    Column(title="avg JCT s", of=lambda summary: summary.avg_jct_s),
    Column(title="p99 s", of=lambda summary: summary.p99_jct_s),
    Column(title="makespan s", of=lambda summary: summary.makespan_s),
    Column(title="restarts/job", of=_per_job, digits=2),
    Column(title="worst rho", of=lambda summary: summary.worst_rho, digits=2),
    Column(title="mean rho", of=lambda summary: summary.mean_rho, digits=2),
    Column(title="unfair", of=lambda summary: summary.unfair_fraction, digits=2),
    Column(title="GPU-h", of=lambda summary: summary.gpu_hours),
    Column(title="node-h", of=lambda summary: summary.node_hours),
    Column(title="GPUs used", of=lambda summary: summary.utilisation, digits=2, better=max),
)
READING = READINGS[0][1]  # that of the rho above


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """One figure over several runs; ``error`` is the standard error of the mean."""

    runs: int
    mean: float
    error: float | None  # None of a single run
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Self | None:
        """None if a run lacks the figure: a mean of the others would be of another workload."""
        known = [float(value) for value in values if value is not None]
        if not known or len(known) < len(values):
            return None
        least, most, runs = min(known), max(known), len(known)
        mean = least if least == most else math.fsum(known) / runs
        squares = math.fsum((value - mean) ** 2 for value in known)
        error = math.sqrt(squares / (runs - 1) / runs) if runs > 1 else None
        return cls(runs=runs, mean=mean, error=error, least=least, most=most)

    def shown(self, digits: int) -> str:
        """For people: mean ± standard error; the ends, of few runs; the value, if all agree."""
        if self.error is None or self.least == self.most:
            return number(self.mean, digits)
        if self.runs < FEW:
            return f"{number(self.least, digits)}–{number(self.most, digits)}"
        return f"{number(self.mean, digits)} ± {number(self.error, digits)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one policy has of a figure."""

    text: str
    best: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure of all policies."""

    title: str
    cells: tuple[Cell, ...]


def over_seeds(summaries: Mapping[str, Sequence[Summary]]) -> tuple[Row, ...]:
    """One row for each figure."""
    return tuple(_row(figure, list(summaries.values())) for figure in FIGURES)


def fairness_over_seeds(summaries: Mapping[str, Sequence[Summary]]) -> tuple[Row, ...]:
    """Worst and mean rho and the unfair fraction in each of the four readings."""
    return tuple(
        _row(_reading(f"{title}, {against}", f"{name}{suffix}"), list(summaries.values()))
        for suffix, against in READINGS
        for title, name in (
            ("worst rho", "worst_rho"),
            ("mean rho", "mean_rho"),
            ("unfair", "unfair_fraction"),
        )
    )


def _reading(title: str, name: str) -> Column:
    def value(summary: Summary) -> float | None:
        found: float | None = getattr(summary, name)
        return found

    return Column(title=title, of=value, digits=2)


def _row(figure: Column, policies: Sequence[Sequence[Summary]]) -> Row:
    """The best means are marked, compared as they are shown; none is where all are equal."""
    spreads = [Spread.of([figure.of(summary) for summary in runs]) for runs in policies]
    means = [spread.mean for spread in spreads if spread is not None]
    differ = len({number(mean, figure.digits) for mean in means}) > 1
    best = number(figure.better(means), figure.digits) if differ else None
    return Row(
        title=figure.title,
        cells=tuple(_cell(spread, figure.digits, best) for spread in spreads),
    )


def _cell(spread: Spread | None, digits: int, best: str | None) -> Cell:
    if spread is None:
        return Cell(text=UNKNOWN, best=False)
    return Cell(text=spread.shown(digits), best=number(spread.mean, digits) == best)
