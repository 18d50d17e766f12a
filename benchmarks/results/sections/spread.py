"""Ours over the others on drawn jobs, seed by seed: how much of a ratio is chance."""

import statistics
from collections.abc import Sequence

from benchmarks.results.figures import Figure, Results, Section, Table, Verdict, at_most, quotient
from benchmarks.results.scope import number
from benchmarks.results.sections.distance import GLANCE
from benchmarks.results.sections.versus import CROWDED, MEASURES, times
from benchmarks.results.settings import DRAWN, OURS, POLLUX, SHOCKWAVE, Setting

SEEDS = range(5)
ABOUT = """
The published workloads are one draw each. Here jobs and their arrivals are drawn anew with each of
five seeds, and a ratio is taken within a seed: means, and in the table the standard deviation of
one seed.
"""


def spread() -> Section:
    """Of each drawn setting, what is asked of the mean."""
    return Section(
        key="spread",
        title="Five seeds",
        about=ABOUT,
        commands=tuple(
            setting.run(policy, seed=seed)
            for setting in DRAWN
            for policy in (OURS, POLLUX, SHOCKWAVE)
            for seed in SEEDS
        ),
        figures=lambda results: [
            figure for setting in DRAWN for figure in _figures(results, setting)
        ],
        tables=lambda results: [_table(results)],
    )


def ratios(results: Results, setting: Setting, policy: str, name: str) -> list[float]:
    """Ours over another policy's, of each seed; none unless all were run."""
    each = [
        quotient(
            number(results, setting.run(OURS, seed=seed), name),
            number(results, setting.run(policy, seed=seed), name),
        )
        for seed in SEEDS
    ]
    known = [value for value in each if value is not None]
    return known if len(known) == len(each) else []


def _figures(results: Results, setting: Setting) -> Sequence[Figure]:
    made = []
    for name in GLANCE:
        measure = MEASURES[name]
        crowded = name == "avg_jct_s" and setting.contended
        for policy, most in ((POLLUX, measure.over_pollux), (SHOCKWAVE, measure.over_shockwave)):
            assert most is not None
            values = ratios(results, setting, policy, name)
            made.append(
                Figure(
                    what=f"{setting.title}: {measure.what}, over {policy}",
                    unit=times,
                    measured=statistics.fmean(values) if values else None,
                    reach=at_most(CROWDED if crowded and policy == POLLUX else most),
                )
            )
    return made


def _table(results: Results) -> Table:
    pairs = [(name, policy) for name in GLANCE for policy in (POLLUX, SHOCKWAVE)]
    rows = []
    for setting in DRAWN:
        cells = [_cell(ratios(results, setting, policy, name)) for name, policy in pairs]
        rows.append((setting.title, *cells))
    return Table(
        title="`headway` over the others, mean and standard deviation",
        columns=("setting", *(f"{MEASURES[name].what} / {policy}" for name, policy in pairs)),
        rows=rows,
    )


def _cell(values: Sequence[float]) -> str:
    if not values:
        return Verdict.MISSING.value
    return f"{statistics.fmean(values):.3f} ± {statistics.stdev(values):.3f}"
