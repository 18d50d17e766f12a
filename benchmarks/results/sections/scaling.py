"""Auto-scaling: what a training costs in a cluster that grows and shrinks with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.results.command import DATA, script
from benchmarks.results.figures import (
    Figure,
    Reach,
    Results,
    Section,
    Unit,
    at_least,
    at_most,
    hours,
    percent,
    seconds,
)
from benchmarks.results.scope import Scope, number

RUN = script("autoscale", "--profiles", f"{DATA}/profiles")
OURS, BASELINE = "pollux+goodput", "pollux+throughput"
CHEAPER, LONGER = 0.25, 0.06  # published
BOUND = "clairvoyant, as fast as published"
ABOUT = """
ImageNet alone, from one node of 4 GPUs up to 16 nodes. The baseline scales out while throughput
grows enough (Or et al.), ours keeps the utility of the GPUs between 1/2 and 2/3. Cheaper and longer
are against the baseline. The clairvoyant knows the whole run beforehand and picks the cheapest plan
that is at most 6 % longer; nothing restarts in it, so no scaler can beat it.
"""
MEASURES: Mapping[str, tuple[str, Unit]] = {
    "completion_s": ("completion", seconds),
    "node_hours": ("cost", hours),
}


def autoscaling(scope: Scope) -> Section:
    """A quarter cheaper for a sixteenth more time."""
    return Section(
        key="autoscaling",
        title="Auto-scaling",
        about=ABOUT,
        commands=(RUN,),
        figures=_figures,
    )


def _figures(results: Results) -> Sequence[Figure]:
    record = results.get(RUN)
    answer: Mapping[str, Any] = {} if record is None else record.answer
    bands = [name for name in answer.get("runs", {}) if name.startswith("band")]
    shown = [
        Figure(what=f"{rule}: {what}", unit=unit, measured=number(results, RUN, "runs", rule, name))
        for rule in (BASELINE, OURS)
        for name, (what, unit) in MEASURES.items()
    ]
    return [
        *shown,
        *_shares(results, OURS, ("runs", OURS), asked=True),
        *(figure for name in bands for figure in _shares(results, name, ("runs", name))),
        *_shares(results, "clairvoyant", ("runs", BOUND)),
    ]


def _shares(
    results: Results, rule: str, path: tuple[str, ...], *, asked: bool = False
) -> tuple[Figure, Figure]:
    return (
        Figure(
            what=f"{rule}: cheaper by",
            unit=percent,
            measured=number(results, RUN, *path, "cheaper"),
            published=CHEAPER if asked else None,
            reach=at_least(CHEAPER) if asked else Reach(),
        ),
        Figure(
            what=f"{rule}: longer by",
            unit=percent,
            measured=number(results, RUN, *path, "longer"),
            published=LONGER if asked else None,
            reach=at_most(LONGER) if asked else Reach(),
        ),
    )
