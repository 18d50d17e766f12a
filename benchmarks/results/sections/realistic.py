"""Jobs configured as users do, not as experts: how much shorter Pollux makes them."""

from collections.abc import Sequence

from benchmarks.results.command import Command, simulation
from benchmarks.results.figures import Figure, Reach, Results, Section, at_least, mean, percent
from benchmarks.results.scope import Scope, number

FOLDER = "workloads-realistic"
SHORTER = {"optimus": 0.72, "tiresias": 0.73}  # published, on the testbed
ABOUT = """
GPU counts as in the trace and a batch of M₀ for each GPU. Shorter by: 1 − average JCT of `pollux`
over that of the baseline. The published figures are of the testbed.
"""


def realistic(scope: Scope) -> Section:
    """At least as much shorter as published, on the mean of the workloads."""
    policies = ("pollux", *SHORTER)
    return Section(
        key="realistic",
        title="Realistic jobs",
        about=ABOUT,
        commands=tuple(run(policy, each) for policy in policies for each in scope.workloads),
        figures=lambda results: [
            figure for policy in SHORTER for figure in _figures(scope, results, policy)
        ],
    )


def run(policy: str, workload: int) -> Command:
    """A policy on realistic jobs."""
    return simulation(policy, workload, folder=FOLDER)


def _figures(scope: Scope, results: Results, policy: str) -> Sequence[Figure]:
    by = {each: _shorter(results, policy, each) for each in scope.workloads}
    rows = [*by.items(), ("mean", mean(list(by.values())))]
    return [
        Figure(
            what=f"than {policy}, " + (name if name == "mean" else f"workload {name}"),
            unit=percent,
            measured=value,
            published=SHORTER[policy] if name == "mean" else None,
            reach=at_least(SHORTER[policy]) if name == "mean" else Reach(),
        )
        for name, value in rows
    ]


def _shorter(results: Results, policy: str, workload: int) -> float | None:
    ours = number(results, run("pollux", workload), "avg_jct_s")
    theirs = number(results, run(policy, workload), "avg_jct_s")
    return None if ours is None or not theirs else 1 - ours / theirs
