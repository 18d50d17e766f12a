"""Pollux and Sia side by side on one workload, under the same physics."""

from collections.abc import Sequence

from benchmarks.results import published
from benchmarks.results.command import simulation
from benchmarks.results.figures import (
    Figure,
    Reach,
    Results,
    Section,
    Unit,
    at_most,
    percent,
    quotient,
    ratio,
    seconds,
)
from benchmarks.results.scope import Scope, fairness

WORKLOAD = 6
MOST_RESTARTS = 4.3
RUNS = {name: simulation(name, WORKLOAD) for name in ("pollux", "sia")}
MEASURES: dict[str, tuple[str, Unit]] = {
    "avg_jct_s": ("average JCT", seconds),
    "restarts_per_job": ("restarts per job", ratio),
    "mean_rho": ("mean rho", ratio),
    "worst_rho": ("worst rho", ratio),
    "mean_rho_pollux": ("mean rho_pollux", ratio),
    "worst_rho_pollux": ("worst rho_pollux", ratio),
    "rho_pollux_above_2": ("jobs with rho_pollux above 2", percent),
}
AHEAD = ("avg_jct_s", "mean_rho", "worst_rho", "mean_rho_pollux", "worst_rho_pollux")
ABOUT = """
One type of GPU, so that nothing but the decisions differ. Published: a re-run of both published
codes on this workload. `rho` is against the fluid egalitarian cluster, `rho_pollux` as Pollux's
paper has it: JCT over 30 s and the best run with a fixed batch size, alone on an even share of the
GPUs. That of Pollux is reckoned from the published completion times; that of Sia is another
reader's, whose runs alone are up to a quarter longer and whose figures are so much lower.
"""


def sia(scope: Scope) -> Section:
    """Pollux ahead on JCT and fairness, with no more restarts than published."""
    return Section(
        key="sia",
        title="Pollux and Sia",
        about=ABOUT,
        commands=tuple(RUNS.values()),
        figures=lambda results: _figures(scope, results),
    )


def _figures(scope: Scope, results: Results) -> Sequence[Figure]:
    there = {
        "pollux": {
            **published.SIDE_BY_SIDE["pollux"],
            **fairness(scope.published_rho("pollux", WORKLOAD)),
        },
        "sia": published.SIDE_BY_SIDE["sia"],
    }
    found = {name: scope.measures(results, command) for name, command in RUNS.items()}
    each = [
        Figure(
            what=f"{policy}: {what}",
            unit=unit,
            measured=found[policy].get(name),
            published=there[policy].get(name),
            reach=at_most(MOST_RESTARTS)
            if (policy, name) == ("pollux", "restarts_per_job")
            else Reach(),
        )
        for name, (what, unit) in MEASURES.items()
        for policy in RUNS
    ]
    ahead = [
        Figure(
            what=f"pollux / sia: {MEASURES[name][0]}",
            unit=ratio,
            measured=quotient(found["pollux"].get(name), found["sia"].get(name)),
            reach=at_most(1.0),
        )
        for name in AHEAD
    ]
    return each + ahead
