"""How far the policies are from what is possible at all."""

from collections.abc import Sequence

from benchmarks.results.figures import (
    Figure,
    Results,
    Section,
    Table,
    Verdict,
    quotient,
    ratio,
    seconds,
)
from benchmarks.results.sections.versus import MEASURES, bounded, measured, ours_over, shown
from benchmarks.results.settings import OURS, POLLUX, SETTINGS, SHOCKWAVE, Setting

ABOUT = """
A lower bound on the average JCT in each setting: the largest of three (`benchmarks/bound.py`).
Alone: every job on an empty cluster at its best. Queue: the cluster as one machine on which every
job needs the GPU-seconds of its most efficient size and the shortest remaining one goes first.
Priced: every GPU-second has a price, and each job is left to choose the sizes that make its own
completion and what it pays least; less what the whole cluster costs, that bounds every schedule
(weak duality, `benchmarks/priced.py`). What is possible lies above: all three know what is to come,
none knows a second restart or that jobs share a node, and in the last a job may do its epochs in
any order.

The least unfair share is that of jobs which, alone on an empty cluster, are late already: rho is
against a world without rounds and without restarts, and a job of a minute that waits for its round
and starts in 30 s is late in any real one.
"""
GLANCE = ("avg_jct_s", "p99_jct_s", "makespan_s", "unfair_fraction")
BOUNDS = {"alone_s": "alone", "queue_s": "queue", "priced_s": "priced"}


def distance(settings: Sequence[Setting] = SETTINGS) -> Section:
    """Average JCT over its bound."""
    return Section(
        key="distance",
        title="Distance to the possible",
        about=ABOUT,
        commands=tuple(setting.bound() for setting in settings),
        figures=lambda results: [_over(results, setting) for setting in settings],
        tables=lambda results: [_table(results, settings), _ratios(results, settings)],
    )


def _over(results: Results, setting: Setting) -> Figure:
    ours = measured(results, setting, OURS, "avg_jct_s")
    least = bounded(results, setting, "avg_jct_s")
    return shown(f"{setting.title}: average JCT over the bound", ratio, quotient(ours, least))


def _table(results: Results, settings: Sequence[Setting]) -> Table:
    rows = []
    for setting in settings:
        values = [
            *(bounded(results, setting, name) for name in BOUNDS),
            *(
                measured(results, setting, policy, "avg_jct_s")
                for policy in (OURS, POLLUX, SHOCKWAVE)
            ),
        ]
        cells = [Verdict.MISSING.value if each is None else seconds(each) for each in values]
        rows.append((setting.title, *cells))
    return Table(
        title="Average JCT, and what bounds it from below",
        columns=("setting", *BOUNDS.values(), OURS, POLLUX, SHOCKWAVE),
        rows=rows,
    )


def _ratios(results: Results, settings: Sequence[Setting]) -> Table:
    """What the sections below go into, at a glance."""
    pairs = [(name, policy) for name in GLANCE for policy in (POLLUX, SHOCKWAVE)]
    rows = []
    for setting in settings:
        values = [ours_over(results, setting, policy, name) for name, policy in pairs]
        cells = [Verdict.MISSING.value if each is None else ratio(each) for each in values]
        rows.append((setting.title, *cells))
    return Table(
        title="`headway` over the others, at a glance",
        columns=("setting", *(f"{MEASURES[name].what} / {policy}" for name, policy in pairs)),
        rows=rows,
    )
