"""Pollux at four loads: average and tail of the JCT and makespan against the published runs."""

from collections.abc import Sequence

from benchmarks.results import published
from benchmarks.results.command import Command, simulation
from benchmarks.results.figures import (
    Figure,
    Reach,
    Results,
    Section,
    Table,
    at_most,
    mean,
    seconds,
)
from benchmarks.results.scope import Scope, number

SHORTER = 0.95  # of the published average JCT
ASKED = {
    "avg_jct_s": ("average JCT", SHORTER),
    "p99_jct_s": ("p99 JCT", 1.0),
    "makespan_s": ("makespan", 1.0),
}
ABOUT = """
`pollux` as it stands by default: p = −1, exact placement, jobs of a kind lend each other what they
have shown (docs/design/0016, and 0009 for what that brings), and where not all can run they take
turns (0022); `pollux.kinds=false` and `pollux.turn_gpu_s=0` are without, as in the paper. At load 1
(160 jobs in 8 hours) each workload is asked for itself; at the other loads the mean of the
workloads is, and a table below has each.
"""


def loads(scope: Scope) -> Section:
    """At most 0.95 of the published average JCT; tail and makespan no worse."""
    return Section(
        key="loads",
        title="Pollux at load 0.5 to 2",
        about=ABOUT,
        commands=tuple(run(load, number) for load in published.LOADS for number in scope.workloads),
        figures=lambda results: [
            figure
            for load in published.LOADS
            for figure in (*_each(scope, results, load), *_means(scope, results, load))
        ],
        tables=lambda results: [
            _detail(scope, results, load) for load in published.LOADS if load != "1.0"
        ],
    )


def run(load: str, workload: int) -> Command:
    """Pollux on a workload of a load."""
    return simulation("pollux", workload, folder=published.LOADS[load])


def _each(scope: Scope, results: Results, load: str) -> Sequence[Figure]:
    if load != "1.0":
        return ()
    return [
        _figure(
            f"load 1, workload {workload}: {what}",
            number(results, run(load, workload), name),
            getattr(published.jobload(scope.data, "pollux", workload, load), name),
            share,
            asked=True,
        )
        for name, (what, share) in ASKED.items()
        for workload in scope.workloads
    ]


def _means(scope: Scope, results: Results, load: str) -> Sequence[Figure]:
    there = [published.jobload(scope.data, "pollux", each, load) for each in scope.workloads]
    return [
        _figure(
            f"load {float(load):g}, mean: {what}",
            mean([number(results, run(load, each), name) for each in scope.workloads]),
            mean([getattr(each, name) for each in there]) or 0.0,
            share,
            asked=load != "1.0",
        )
        for name, (what, share) in ASKED.items()
    ]


def _figure(
    what: str, measured: float | None, there: float, share: float, *, asked: bool
) -> Figure:
    why = f"{share:g} × published" if share != 1.0 else ""
    reach = at_most(share * there, why) if asked else Reach()
    return Figure(what=what, unit=seconds, measured=measured, published=there, reach=reach)


def _detail(scope: Scope, results: Results, load: str) -> Table:
    rows = []
    for workload in scope.workloads:
        there = published.jobload(scope.data, "pollux", workload, load)
        cells = []
        for name in ASKED:
            here = number(results, run(load, workload), name)
            cells.append(
                f"{'' if here is None else seconds(here)} ({seconds(getattr(there, name))})"
            )
        rows.append((str(workload), *cells))
    return Table(
        title=f"Load {float(load):g}, measured (published)",
        columns=("workload", *(what for what, _ in ASKED.values())),
        rows=rows,
    )
