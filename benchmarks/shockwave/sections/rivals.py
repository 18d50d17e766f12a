"""Shockwave beside its rivals, all with immediate re-allocation."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.results.figures import (
    Figure,
    Results,
    Section,
    Table,
    at_least,
    mean,
    quotient,
    ratio,
)
from benchmarks.results.scope import number
from benchmarks.shockwave.commands import IMMEDIATE, T32, TRACES, Trace, simulation
from benchmarks.shockwave.sections.sizes import MEASURES

FAIR = ("themis", "gavel", "allox")
FEW, ALL = (*FAIR, "ossp"), (*IMMEDIATE, "srtf", "drf", "las", "fifo")
LEAST = 1.25
ABOUT = """
Nobody waits for a division of time here, so no rival is handicapped. The paper states makespans 1.3
times those of Shockwave for Themis, Gavel and AlloX on average. `themis` holds auctions with
f = 0.8, `allox` lets who runs go on: as their papers have them, which the published code does not,
so single figures differ from those of its re-run with immediate re-allocation.
"""
RUNS = {
    trace: {
        policy: simulation(policy, trace)
        for policy in ("shockwave", *(ALL if trace is T32 else FEW))
    }
    for trace in TRACES
}


def rivals(data: Path) -> Section:
    """Makespans against three of them; everything in tables."""
    return Section(
        key="rivals",
        title="Beside its rivals",
        about=ABOUT,
        commands=tuple(run for runs in RUNS.values() for run in runs.values()),
        figures=lambda results: [_ratio(results, trace) for trace in TRACES],
        tables=lambda results: [_table(results, trace) for trace in TRACES],
    )


def _ratio(results: Results, trace: Trace) -> Figure:
    runs = RUNS[trace]
    own = number(results, runs["shockwave"], "makespan_s")
    ratios = [quotient(number(results, runs[name], "makespan_s"), own) for name in FAIR]
    return Figure(
        what=f"{trace.gpus} GPUs: makespan of themis, gavel and allox over that of shockwave, mean",
        unit=ratio,
        measured=mean(ratios),
        published=1.3,
        reach=at_least(LEAST),
    )


def _table(results: Results, trace: Trace) -> Table:
    rows: list[tuple[str, ...]] = []
    for policy, run in RUNS[trace].items():
        cells: list[str] = []
        for name, _, unit in MEASURES:
            value = number(results, run, name)
            there = getattr(IMMEDIATE.get(policy), name, None) if trace is T32 else None
            cells.append("" if value is None else unit(value))
            if value is not None and there is not None:
                cells[-1] += f" ({unit(there)})"
        rows.append((policy, *cells))
    return Table(
        title=f"{trace.gpus} GPUs" + (" (in brackets the published code)" if trace is T32 else ""),
        columns=("policy", *(what for _, what, _ in MEASURES)),
        rows=_known(rows),
    )


def _known(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [row for row in rows if any(row[1:])]
