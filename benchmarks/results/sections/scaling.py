"""Auto-scaling: what a training costs in a cluster that grows and shrinks with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.results.command import DATA, Command, script
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
BUILT_IN = script("autoscale")
BASELINE, PAPERS, OURS = "pollux+throughput", "pollux+goodput", "pollux+cost"
ASKED: Mapping[Command, tuple[str, ...]] = {RUN: (PAPERS, OURS), BUILT_IN: (OURS,)}
CHEAPER, LONGER = 0.25, 0.06  # published
AS_FAST, AS_CHEAP = "clairvoyant, as fast as published", "clairvoyant, as cheap as published"
ABOUT = """
ImageNet alone, from one node of 4 GPUs up to 16 nodes, on the published profiles and on the
built-in catalogue. The baseline scales out while throughput grows enough (Or et al.). The paper's
rule, goodput, keeps the utility of the GPUs between 1/2 and 2/3; ours, cost, weighs nodes against
time. Cheaper and longer are against the baseline; each figure is the mean over restarts of 20, 25,
30, 35 and 40 s, as one training is one draw. The clairvoyant knows the whole run beforehand and
never restarts, so no scaler can beat it: the cheapest plan that is at most 6 % longer, and the
quickest that is at least 25 % cheaper. Where no such plan reaches both, nobody can.
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
        commands=(RUN, BUILT_IN),
        figures=_figures,
    )


def _figures(results: Results) -> Sequence[Figure]:
    return [*_of(results, RUN, ""), *_of(results, BUILT_IN, "catalogue, ")]


def _of(results: Results, run: Command, where: str) -> Sequence[Figure]:
    record = results.get(run)
    answer: Mapping[str, Any] = {} if record is None else record.answer
    named = (BASELINE, PAPERS, OURS)
    others = [name for name in answer.get("runs", {}) if name not in (*named, AS_FAST, AS_CHEAP)]
    shown = [
        Figure(
            what=f"{where}{rule}: {what}",
            unit=unit,
            measured=number(results, run, "runs", rule, name),
        )
        for rule in named
        for name, (what, unit) in MEASURES.items()
    ]
    shares = [
        figure for rule in (PAPERS, OURS, *others) for figure in _shares(results, run, where, rule)
    ]
    return [*shown, *shares]


def _shares(results: Results, run: Command, where: str, rule: str) -> tuple[Figure, Figure]:
    """What is asked has beside it what the clairvoyant reaches."""
    asked, published = rule in ASKED[run], rule in (PAPERS, OURS)
    cheapest = _bound(results, run, AS_FAST, "cheaper")
    quickest = _bound(results, run, AS_CHEAP, "longer")
    return (
        Figure(
            what=f"{where}{rule}: cheaper by",
            unit=percent,
            measured=number(results, run, "runs", rule, "cheaper"),
            published=CHEAPER if published else None,
            reach=at_least(CHEAPER, cheapest) if asked else Reach(),
        ),
        Figure(
            what=f"{where}{rule}: longer by",
            unit=percent,
            measured=number(results, run, "runs", rule, "longer"),
            published=LONGER if published else None,
            reach=at_most(LONGER, quickest) if asked else Reach(),
        ),
    )


def _bound(results: Results, run: Command, plan: str, share: str) -> str:
    reached = number(results, run, "runs", plan, share)
    return "" if reached is None else f"clairvoyant: {percent(reached)}"
