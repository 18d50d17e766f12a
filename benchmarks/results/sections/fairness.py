"""Finish-time fairness for p = -1 and p = 1, in the reading of Pollux's paper."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.results.command import Command, simulation
from benchmarks.results.figures import (
    Figure,
    Results,
    Section,
    Unit,
    at_most,
    percent,
    quotient,
    ratio,
)
from benchmarks.results.scope import Scope
from benchmarks.results.scope import fairness as summary
from benchmarks.results.sections.loads import run

ABOUT = """
`rho_pollux` is JCT over 30 s and the best run with a fixed batch size, alone on ⌊GPUs / mean
number of active jobs during the job's life⌋ GPUs; the jobs of all workloads together. Published:
the same, reckoned from the published completion times. Pollux's paper has 99 % of jobs under 2 at
p = −1 and a long tail above 4 at p = 1. Other readings of finish-time fairness are in the
command's JSON and are never mixed with this one.
"""
POWERS = ("−1", "1")
MEASURES: dict[str, tuple[str, Unit]] = {
    "rho_pollux_above_2": ("jobs above 2", percent),
    "rho_pollux_above_4": ("jobs above 4", percent),
    "worst_rho_pollux": ("worst", ratio),
    "mean_rho_pollux": ("mean", ratio),
}


def fairness(scope: Scope) -> Section:
    """p = -1 fairer than p = 1."""
    runs = {
        "−1": tuple(run("1.0", each) for each in scope.workloads),  # the default
        "1": tuple(simulation("pollux", each, "pollux.p=1") for each in scope.workloads),
    }
    return Section(
        key="fairness",
        title="Finish-time fairness",
        about=ABOUT,
        commands=(*runs["−1"], *runs["1"]),
        figures=lambda results: _figures(
            {power: _measures(scope, results, commands) for power, commands in runs.items()},
            summary(np.concatenate([scope.published_rho("pollux", w) for w in scope.workloads])),
        ),
    )


def _measures(
    scope: Scope, results: Results, runs: Sequence[Command]
) -> Mapping[str, float | None]:
    found = [scope.rho_pollux(results, command) for command in runs]
    known = [values for values in found if values is not None]
    return summary(np.concatenate(known)) if len(known) == len(found) else {}


def _figures(
    found: Mapping[str, Mapping[str, float | None]], there: Mapping[str, float]
) -> list[Figure]:
    shown = [
        Figure(
            what=f"p = {power}: {what}",
            unit=unit,
            measured=found[power].get(name),
            published=there[name] if power == "−1" else None,
        )
        for name, (what, unit) in MEASURES.items()
        for power in POWERS
    ]
    return shown + [
        Figure(
            what=f"{MEASURES[name][0]}, p = −1 over p = 1",
            unit=ratio,
            measured=quotient(*(found[power].get(name) for power in POWERS)),
            reach=at_most(1.0),
        )
        for name in ("rho_pollux_above_2", "worst_rho_pollux")
    ]
