"""What it costs that jobs declare their remaining work wrongly."""

from collections.abc import Sequence

from benchmarks.results.command import Command
from benchmarks.results.figures import (
    Figure,
    Results,
    Section,
    at_most,
    percent,
    quotient,
    ratio,
)
from benchmarks.results.scope import number
from benchmarks.results.sections.versus import measured
from benchmarks.results.settings import MISDECLARED, OURS, POLLUX, Setting

MOST_LONGER = {0.3: 1.05, 0.7: 1.10}  # average JCT, by the standard deviation of the logarithm
ABOUT = """
What each job declares as its work is off by a factor, lognormal with standard deviation σ, drawn
once a job. The average JCT is over that of the run in which all declare what is true; the unfair
share is to stay below that of `pollux`, which reads no declared work.
"""


def declared() -> Section:
    """At most 5 % and 10 % longer."""
    cases = [(setting, spread) for setting in MISDECLARED for spread in MOST_LONGER]
    return Section(
        key="declared",
        title="Declared work off by a factor",
        about=ABOUT,
        commands=tuple(_run(setting, spread) for setting, spread in cases),
        figures=lambda results: [
            figure for setting, spread in cases for figure in _figures(results, setting, spread)
        ],
    )


def _run(setting: Setting, spread: float) -> Command:
    return setting.run(OURS, f"sim.declared_error={spread}")


def _figures(results: Results, setting: Setting, spread: float) -> Sequence[Figure]:
    run = _run(setting, spread)
    what = f"{setting.title}, σ = {spread}"
    theirs = measured(results, setting, POLLUX, "unfair_fraction")
    return (
        Figure(
            what=f"{what}: average JCT over the run without errors",
            unit=ratio,
            measured=quotient(
                number(results, run, "avg_jct_s"), measured(results, setting, OURS, "avg_jct_s")
            ),
            reach=at_most(MOST_LONGER[spread]),
        ),
        Figure(
            what=f"{what}: unfair jobs",
            unit=percent,
            measured=None if theirs is None else number(results, run, "unfair_fraction"),
            reach=at_most(1.0 if theirs is None else theirs, "pollux"),
        ),
    )
