"""Shockwave on 32, 64 and 256 GPUs against the published code, and what its settings are worth."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.results.figures import (
    Figure,
    Results,
    Section,
    Table,
    Unit,
    at_most,
    cpu_seconds,
    percent,
    ratio,
    seconds,
)
from benchmarks.results.scope import number
from benchmarks.shockwave.commands import ASKED, PUBLISHED, T32, T256, TRACES, Trace, simulation

MEASURES: tuple[tuple[str, str, Unit], ...] = (
    ("makespan_s", "makespan", seconds),
    ("avg_jct_s", "average JCT", seconds),
    ("worst_rho_static", "worst rho_static", ratio),
    ("unfair_fraction_static", "rho_static above 1.05", percent),
)
MOST_CPU_S = {T32: 5.0, T256: 20.0}
PUBLISHED_CPU_S = {T32: 72.0, T256: 175.0}
RUNS = {trace: simulation("shockwave", trace) for trace in TRACES}
ABOUT_SIZES = """
The policy as it comes, without an oracle. On 32 GPUs what is asked is better than the published
code reaches with an oracle for remaining times (23,648 s, 9,876 s, 1.49, 4 of 120 jobs); on 64 and
256 GPUs the published figures. What settings were chosen on which traces:
[0015](../design/0015-what-a-makespan-is-worth.md).
"""
FORMS = {
    "as it comes": (),
    "the paper's objective (λ = 10⁻³)": ("lam=1e-3", "finish=0", "tail=1"),
    "makespan first (λ = 3)": ("lam=3",),
    "no makespan term (λ = 0)": ("lam=0",),
    "k = 1": ("k=1",),
    "k = 10": ("k=10",),
    "window of 30 rounds": ("window_rounds=30",),
    "a new plan in each round": ("resolve_rounds=1",),
    "restarts not priced": ("relaunch=false",),
}
ABOUT_FORMS = """
The same on 32 GPUs with one setting changed at a time; nothing is asked.
"""


def sizes(data: Path) -> Section:
    """All four figures in one run, and its cost."""
    return Section(
        key="sizes",
        title="Shockwave on 32, 64 and 256 GPUs",
        about=ABOUT_SIZES,
        commands=tuple(RUNS.values()),
        figures=lambda results: [figure for trace in TRACES for figure in _figures(results, trace)],
    )


def _figures(results: Results, trace: Trace) -> Sequence[Figure]:
    figures = [
        Figure(
            what=f"{trace.gpus} GPUs: {what}",
            unit=unit,
            measured=number(results, RUNS[trace], name),
            published=getattr(PUBLISHED[trace], name),
            reach=at_most(getattr(ASKED[trace], name)),
        )
        for name, what, unit in MEASURES
    ]
    if trace in MOST_CPU_S:
        figures.append(
            Figure(
                what=f"{trace.gpus} GPUs: the whole simulation",
                unit=cpu_seconds,
                measured=number(results, RUNS[trace], "cpu_s"),
                published=PUBLISHED_CPU_S[trace],
                reach=at_most(MOST_CPU_S[trace]),
            )
        )
    return figures


def objective(data: Path) -> Section:
    """What one setting is worth."""
    runs = {
        name: simulation("shockwave", T32, *(f"shockwave.{one}" for one in settings))
        for name, settings in FORMS.items()
    }
    return Section(
        key="objective",
        title="What its settings are worth",
        about=ABOUT_FORMS,
        commands=tuple(runs.values()),
        figures=lambda results: (),
        tables=lambda results: [
            Table(
                title="32 GPUs",
                columns=("form", *(what for _, what, _ in MEASURES)),
                rows=[
                    (name, *(_cell(number(results, run, key), unit) for key, _, unit in MEASURES))
                    for name, run in runs.items()
                ],
            )
        ],
    )


def _cell(value: float | None, unit: Unit) -> str:
    return "" if value is None else unit(value)
