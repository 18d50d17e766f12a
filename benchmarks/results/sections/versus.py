"""The policies side by side in one setting, against each other and against the bound."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.results.command import Command
from benchmarks.results.figures import (
    Figure,
    Reach,
    Results,
    Section,
    Table,
    Unit,
    Verdict,
    at_most,
    mean,
    percent,
    quotient,
    ratio,
    seconds,
)
from benchmarks.results.scope import number, restarts
from benchmarks.results.settings import (
    OTHERS,
    OURS,
    POLICIES,
    POLLUX,
    SEEDS,
    SHOCKWAVE,
    Setting,
)

LOWER = math.nextafter(1.0, 0.0)
HALF = 0.5
CROWDED = 0.8  # of Pollux's average JCT, where jobs stand in line


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A figure of a run, and what is asked of ours over that of another policy."""

    what: str
    unit: Unit
    over_pollux: float | None = None
    over_shockwave: float | None = None
    over_others: float | None = LOWER


def times(value: float) -> str:
    """A ratio so near to what is asked that its third digit counts."""
    return f"{value:.3f}"


def hours(value: float) -> str:
    """GPU-hours without digits behind the point."""
    return f"{value:,.0f}"


MEASURES: Mapping[str, Measure] = {
    "avg_jct_s": Measure(what="average JCT", unit=seconds, over_pollux=1.0, over_shockwave=HALF),
    "p99_jct_s": Measure(what="p99 JCT", unit=seconds, over_pollux=1.05, over_shockwave=LOWER),
    "makespan_s": Measure(what="makespan", unit=seconds, over_pollux=1.02, over_shockwave=1.02),
    "worst_rho": Measure(what="worst rho", unit=ratio, over_pollux=LOWER, over_shockwave=LOWER),
    "p95_rho": Measure(what="p95 rho", unit=ratio, over_shockwave=LOWER),
    "unfair_fraction": Measure(
        what="unfair jobs", unit=percent, over_pollux=HALF, over_shockwave=HALF
    ),
    "worst_rho_own": Measure(
        what="worst rho_own", unit=ratio, over_shockwave=1.0, over_others=None
    ),
    "unfair_fraction_own": Measure(
        what="unfair jobs by rho_own", unit=percent, over_shockwave=HALF, over_others=None
    ),
    "restarts": Measure(what="restarts per job", unit=ratio, over_others=None),
    "gpu_hours": Measure(what="GPU-hours", unit=hours, over_others=None),
}
P95_RHO = 1.1
MOST_MORE_RESTARTS = 1.0  # a job, than Pollux's
# whose bound may lie near or above what is asked
FLOORED = ("avg_jct_s", "worst_rho", "p95_rho", "unfair_fraction")
BOUNDED = (*FLOORED, "p99_jct_s", "makespan_s")


def measured(results: Results, setting: Setting, policy: str, name: str) -> float | None:
    """The mean over the seeds; None unless all were run, and every job of them finished."""
    runs = [setting.run(policy, seed=seed) for seed in SEEDS]
    if any(number(results, run, "finished") != number(results, run, "jobs") for run in runs):
        return None
    if name == "restarts":
        return mean([restarts(results, run) for run in runs])
    return mean([number(results, run, name) for run in runs])


def bounded(results: Results, setting: Setting, name: str) -> float | None:
    """What no policy can be below."""
    return mean([number(results, setting.bound(seed), name) for seed in SEEDS])


def versus(setting: Setting) -> Section:
    """Ours over each of the others, and all figures of all."""

    def commands() -> Sequence[Command]:
        runs = [setting.run(policy, seed=seed) for policy in POLICIES for seed in SEEDS]
        return [*runs, *(setting.bound(seed) for seed in SEEDS)]

    return Section(
        key=setting.key,
        title=setting.title,
        about=setting.about,
        commands=tuple(commands()),
        figures=lambda results: figures(results, setting),
        tables=lambda results: [_table(results, setting)],
    )


def ours_over(results: Results, setting: Setting, policy: str, name: str) -> float | None:
    """A figure of ours over that of another policy; 1 where both are none."""
    ours = measured(results, setting, OURS, name)
    theirs = measured(results, setting, policy, name)
    return 1.0 if ours == theirs == 0 else quotient(ours, theirs)


def figures(results: Results, setting: Setting) -> list[Figure]:
    """With what is asked of each."""

    def over(policy: str, name: str) -> float | None:
        return ours_over(results, setting, policy, name)

    def figure(policy: str, name: str, most: float, why: str = "") -> Figure:
        least = bounded(results, setting, name) if name in FLOORED else None
        floor = quotient(least, measured(results, setting, policy, name))
        return Figure(
            what=f"{MEASURES[name].what}, over {policy}",
            unit=times,
            measured=over(policy, name),
            reach=at_most(most, _why(why or ("lower" if most == LOWER else ""), floor)),
        )

    found = []
    for name, measure in MEASURES.items():
        if measure.over_pollux is not None:
            crowded = name == "avg_jct_s" and setting.contended
            most = CROWDED if crowded else measure.over_pollux
            found.append(figure(POLLUX, name, most, "under contention" if crowded else ""))
        if name == "p95_rho":
            found.append(_p95_rho(results, setting))
        if measure.over_shockwave is not None:
            found.append(figure(SHOCKWAVE, name, measure.over_shockwave))
    return [
        *found,
        _restarts(results, setting),
        *_others(over),
    ]


def _p95_rho(results: Results, setting: Setting) -> Figure:
    return Figure(
        what=MEASURES["p95_rho"].what,
        unit=ratio,
        measured=measured(results, setting, OURS, "p95_rho"),
        reach=at_most(P95_RHO, _why("", bounded(results, setting, "p95_rho"))),
    )


def _why(why: str, floor: float | None) -> str:
    """With what no policy can be below."""
    said = "" if floor is None else f"no policy below {times(floor)}"
    return "; ".join(part for part in (why, said) if part)


def _restarts(results: Results, setting: Setting) -> Figure:
    ours, theirs = (measured(results, setting, each, "restarts") for each in (OURS, POLLUX))
    return Figure(
        what="restarts per job, more than pollux",
        unit=ratio,
        measured=None if ours is None or theirs is None else ours - theirs,
        reach=at_most(MOST_MORE_RESTARTS),
    )


def _others(over: Callable[[str, str], float | None]) -> list[Figure]:
    """The largest ratio to any of the other policies that was measured."""
    found = []
    for name, measure in MEASURES.items():
        if measure.over_others is None:
            continue
        known = {policy: value for policy in OTHERS if (value := over(policy, name)) is not None}
        nearest = max(known, key=lambda policy: known[policy], default="any other")
        found.append(
            Figure(
                what=f"{measure.what}, over {nearest}, the nearest of {len(known)} others",
                unit=times,
                measured=known.get(nearest),
                reach=at_most(measure.over_others, "lower"),
            )
        )
    return found


def _table(results: Results, setting: Setting) -> Table:
    """A row for each policy; the last one is what no policy can be below."""
    rows = []
    for policy in POLICIES:
        values = [measured(results, setting, policy, name) for name in MEASURES]
        rows.append((policy, *_cells(values)))
    floor = [bounded(results, setting, name) if name in BOUNDED else None for name in MEASURES]
    rows.append(("no policy below", *_cells(floor, missing="")))
    columns = ("policy", *(measure.what for measure in MEASURES.values()))
    return Table(title="All figures", columns=columns, rows=rows)


def _cells(values: Sequence[float | None], missing: str = Verdict.MISSING.value) -> tuple[str, ...]:
    units = [measure.unit for measure in MEASURES.values()]
    return tuple(
        missing if value is None else unit(value) for unit, value in zip(units, values, strict=True)
    )


def shown(what: str, unit: Unit, value: float | None) -> Figure:
    """A figure of which nothing is asked."""
    return Figure(what=what, unit=unit, measured=value, reach=Reach())
