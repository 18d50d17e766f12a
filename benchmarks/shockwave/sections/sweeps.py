"""Other shares of dynamic jobs, other contention, wrong forecasts: the paper's sweeps."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.results.command import Command
from benchmarks.results.figures import (
    Figure,
    Results,
    Section,
    Table,
    Unit,
    at_least,
    at_most,
    mean,
    percent,
    quotient,
    ratio,
)
from benchmarks.results.scope import number
from benchmarks.shockwave.commands import T32, drawn, simulation
from benchmarks.shockwave.sections.rivals import FAIR
from benchmarks.shockwave.sections.sizes import MEASURES

POLICIES = ("shockwave", *FAIR)
AS_IT_IS = ("--trace", T32.name, "--table", T32.table, "--as-it-is")
DYNAMIC = {
    share: drawn(*POLICIES, options=(*AS_IT_IS, "--dynamic", share, "--seeds", seeds))
    for share, seeds in (("0", "1"), ("0.4", "5"), ("1.0", "1"))
}
STATED_GAIN: Mapping[str, float] = {"0": 1.18, "1.0": 1.3}
STATED_UNFAIR: Mapping[str, float] = {"0": 0.05, "1.0": 0.09}
ABOUT_DYNAMIC = """
The 120 jobs on 32 GPUs, of which only a share changes its batch size; which jobs is drawn (mean of
five draws). The paper states how much longer others' makespans are.
"""
GPUS = {"3": 40, "1.5": 80}  # by jobs of the trace over GPUs
CONTENTION = {
    factor: {policy: simulation(policy, T32, gpus=gpus) for policy in POLICIES}
    for factor, gpus in GPUS.items()
}
STATED_AT: Mapping[str, float] = {"3": 1.35, "1.5": 1.08}
ABOUT_CONTENTION = """
The 120 jobs on more GPUs. With one GPU for two jobs and less load, the longest job decides the
makespan under any policy.
"""
RIGHT = simulation("shockwave", T32)
NOISE = drawn("shockwave", options=(*AS_IT_IS, "--forecast-noise", "1.0"))
STATED_NOISE = (
    ("worst_rho_static", "worst rho_static", 1.51),
    ("avg_jct_s", "average JCT", 1.06),
    ("makespan_s", "makespan", 1.36),
)
ABOUT_NOISE = """
Each forecast of remaining time is multiplied by a factor between 0 and 2 (at least 0.05), the same
for all of the job's life, so that it never averages out. Figures are over those of the right
forecast; mean of five draws.
"""


def dynamic(data: Path) -> Section:
    """Makespans of others over ours, and who is unfairly treated."""
    return Section(
        key="dynamic",
        title="Share of dynamic jobs",
        about=ABOUT_DYNAMIC,
        commands=tuple(DYNAMIC.values()),
        figures=_dynamic,
        tables=lambda results: [
            _table(results, f"{share} of the jobs dynamic", run) for share, run in DYNAMIC.items()
        ],
    )


def _dynamic(results: Results) -> Sequence[Figure]:
    figures = []
    for share, run in DYNAMIC.items():
        own = figure(results, run, "shockwave", "makespan_s")
        gains = [quotient(figure(results, run, name, "makespan_s"), own) for name in FAIR]
        stated, unfair = STATED_GAIN.get(share), STATED_UNFAIR.get(share)
        figures += [
            Figure(
                what=f"{share} dynamic: makespan of the other three over that of shockwave",
                unit=ratio,
                measured=mean(gains),
                published=stated,
                reach=at_least(stated or 1.0),
            ),
            Figure(
                what=f"{share} dynamic: rho_static above 1.05",
                unit=percent,
                measured=figure(results, run, "shockwave", "unfair_fraction_static"),
                published=unfair,
                reach=at_most(unfair or max(STATED_UNFAIR.values())),
            ),
        ]
    return figures


def contention(data: Path) -> Section:
    """The same by ordinary simulations."""
    return Section(
        key="contention",
        title="Contention",
        about=ABOUT_CONTENTION,
        commands=tuple(run for runs in CONTENTION.values() for run in runs.values()),
        figures=_contention,
    )


def _contention(results: Results) -> Sequence[Figure]:
    figures = []
    for factor, runs in CONTENTION.items():
        own = number(results, runs["shockwave"], "makespan_s")
        gains = [quotient(number(results, runs[name], "makespan_s"), own) for name in FAIR]
        figures.append(
            Figure(
                what=f"contention {factor}: makespan of the other three over that of shockwave",
                unit=ratio,
                measured=mean(gains),
                published=STATED_AT[factor],
                reach=at_least(STATED_AT[factor]),
            )
        )
        figures += [
            Figure(
                what=f"contention {factor}: {what} of shockwave",
                unit=unit,
                measured=number(results, runs["shockwave"], name),
            )
            for name, what, unit in MEASURES
        ]
    return figures


def noise(data: Path) -> Section:
    """Wrong forecasts over right ones."""
    return Section(
        key="noise",
        title="Wrong forecasts",
        about=ABOUT_NOISE,
        commands=(RIGHT, NOISE),
        figures=lambda results: [
            Figure(
                what=f"{what}, wrong over right",
                unit=ratio,
                measured=quotient(
                    figure(results, NOISE, "shockwave", name), number(results, RIGHT, name)
                ),
                published=stated,
                reach=at_most(stated),
            )
            for name, what, stated in STATED_NOISE
        ],
        tables=lambda results: [_table(results, "Wrong forecasts", NOISE)],
    )


def values(results: Results, run: Command, policy: str, name: str) -> list[float]:
    """Of each seed."""
    record = results.get(run)
    return [] if record is None else list(record.answer[policy][name])


def figure(results: Results, run: Command, policy: str, name: str) -> float | None:
    """The mean over the seeds."""
    return mean(values(results, run, policy, name))


def _table(results: Results, title: str, run: Command) -> Table:
    return spread_table(results, title, {policy: (run, policy) for policy in POLICIES})


def spread_table(results: Results, title: str, runs: Mapping[str, tuple[Command, str]]) -> Table:
    """Mean and standard deviation over seeds."""
    rows = []
    for name, (run, policy) in runs.items():
        record = results.get(run)
        if record is not None and policy in record.answer:
            cells = [_spread(values(results, run, policy, key), unit) for key, _, unit in MEASURES]
            rows.append((name, *cells))
    return Table(title=title, columns=("policy", *(what for _, what, _ in MEASURES)), rows=rows)


def _spread(found: Sequence[float], unit: Unit) -> str:
    middle = sum(found) / len(found)
    if len(found) == 1:
        return unit(middle)
    off = (sum((value - middle) ** 2 for value in found) / (len(found) - 1)) ** 0.5
    return f"{unit(middle)} ± {unit(off)}"
