"""How often Pollux decides, and what neighbours on the network cost."""

from collections.abc import Sequence

from benchmarks.results import published
from benchmarks.results.command import Command, simulation
from benchmarks.results.figures import Figure, Results, Section, at_most, mean, seconds
from benchmarks.results.scope import Scope, number

AVOIDING_OFF = "pollux.avoid_interference=false"
SLOWDOWNS = {0.0: "noavoid", 0.25: "inter25", 0.5: "inter50"}  # without avoidance
ABOUT_INTERFERENCE = """
A distributed job that shares a node with another one loses this share of its speed. With
avoidance no node has two, so none is ever slowed; the published run with avoidance holds at every
slow-down.
"""


def intervals(scope: Scope) -> Section:
    """No worse at any interval."""

    def run(round_s: int, workload: int) -> Command:
        return simulation("pollux", workload, round_s=round_s)

    def figures(results: Results) -> Sequence[Figure]:
        return [
            _mean(
                f"every {round_s} s: mean of the average JCT",
                results,
                [run(round_s, each) for each in scope.workloads],
                _published(scope, f"period__pollux-{name}"),
            )
            for round_s, name in published.INTERVALS.items()
        ]

    return Section(
        key="intervals",
        title="The scheduling interval",
        about="The seconds from round to round.",
        commands=tuple(run(s, each) for s in published.INTERVALS for each in scope.workloads),
        figures=figures,
    )


def interference(scope: Scope) -> Section:
    """No worse than published, with and without avoidance."""

    def run(slowdown: float, workload: int, *, avoids: bool) -> Command:
        settings = [f"sim.interference={slowdown:g}"] if slowdown else []
        return simulation("pollux", workload, *settings, *(() if avoids else (AVOIDING_OFF,)))

    cases = [(slowdown, avoids) for avoids in (True, False) for slowdown in SLOWDOWNS]

    def figures(results: Results) -> Sequence[Figure]:
        return [
            _mean(
                f"{100 * slowdown:g} % slower, {'with' if avoids else 'without'} avoidance",
                results,
                [run(slowdown, each, avoids=avoids) for each in scope.workloads],
                _published(scope, f"inter__{'avoid' if avoids else SLOWDOWNS[slowdown]}"),
            )
            for slowdown, avoids in cases
        ]

    return Section(
        key="interference",
        title="Interference",
        about=ABOUT_INTERFERENCE,
        commands=tuple(
            run(slowdown, each, avoids=avoids)
            for slowdown, avoids in cases
            for each in scope.workloads
        ),
        figures=figures,
    )


def _mean(what: str, results: Results, runs: Sequence[Command], there_s: float) -> Figure:
    return Figure(
        what=what,
        unit=seconds,
        measured=mean([number(results, command, "avg_jct_s") for command in runs]),
        published=there_s,
        reach=at_most(there_s),
    )


def _published(scope: Scope, experiment: str) -> float:
    averages = [
        published.outcome(scope.data, experiment, each).avg_jct_s for each in scope.workloads
    ]
    return sum(averages) / len(averages)
