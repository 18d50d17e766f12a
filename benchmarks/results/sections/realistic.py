"""Jobs configured as users do, not as experts: how much shorter Pollux makes them."""

from collections.abc import Sequence
from statistics import fmean

from benchmarks.results.command import Command, simulation
from benchmarks.results.figures import Figure, Reach, Results, Section, at_least, mean, percent
from benchmarks.results.published import REALISTIC_S
from benchmarks.results.scope import Scope, number

FOLDER = "workloads-realistic"
SHORTER = {"optimus": 0.72, "tiresias": 0.73}  # published, on the testbed
ABOUT = """
GPU counts as in the trace and a batch of M₀ for each GPU. Shorter by: 1 − average JCT of `pollux`
over that of the baseline. The published figure of the last row of each baseline is of the testbed,
which nobody else can repeat; all others are what the authors' own simulator gives on the same jobs.
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
    ours = {each: _shorter(results, policy, each) for each in scope.workloads}
    theirs = {each: _simulated(policy, each) for each in scope.workloads}
    rows = [(f"workload {each}", ours[each], theirs[each], Reach()) for each in scope.workloads]
    our_mean, simulated = mean(list(ours.values())), fmean(theirs.values())
    rows += [
        ("mean, against the authors' simulator", our_mean, simulated, at_least(simulated)),
        ("mean", our_mean, SHORTER[policy], at_least(SHORTER[policy])),
    ]
    return [
        Figure(
            what=f"than {policy}, {name}",
            unit=percent,
            measured=value,
            published=published,
            reach=reach,
        )
        for name, value, published, reach in rows
    ]


def _simulated(policy: str, workload: int) -> float:
    """In the authors' simulator."""
    return 1 - REALISTIC_S["pollux"][workload] / REALISTIC_S[policy][workload]


def _shorter(results: Results, policy: str, workload: int) -> float | None:
    ours = number(results, run("pollux", workload), "avg_jct_s")
    theirs = number(results, run(policy, workload), "avg_jct_s")
    return None if ours is None or not theirs else 1 - ours / theirs
