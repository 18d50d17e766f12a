"""Tiresias and Optimus against their published runs; where jobs differ most."""

from collections.abc import Sequence

from benchmarks.results import published
from benchmarks.results.command import Command, simulation
from benchmarks.results.figures import Figure, Results, Section, Table, near, ratio, seconds
from benchmarks.results.scope import Scope, number, restarts

WORKLOAD = 6
NEAR = 0.03
MOST_ROWS = 8
ABOUT = """
Both baselines with tuned jobs, as published. The published run of Optimus knew the time of every
placement beforehand; ours has agents that must find out. With `sim.models=oracle` agents are given
the fit of their whole profile: then the two runs mean the same, and what is left lies in the jobs
that the tables name, some of which end earlier and some later.
"""
ORACLE = "sim.models=oracle"
RUNS = {
    "tiresias": simulation("tiresias", WORKLOAD),
    "optimus": simulation("optimus", WORKLOAD),
    "optimus, models known": simulation("optimus", WORKLOAD, ORACLE),
}


def baselines(scope: Scope) -> Section:
    """Average JCT within 3 %."""
    return Section(
        key="baselines",
        title="Tiresias and Optimus",
        about=ABOUT,
        commands=tuple(RUNS.values()),
        figures=lambda results: _figures(scope, results),
        tables=lambda results: [
            _differences(scope, results, name, command) for name, command in RUNS.items()
        ],
    )


def _policy(name: str) -> str:
    return name.partition(",")[0]


def _figures(scope: Scope, results: Results) -> Sequence[Figure]:
    figures = []
    for name, command in RUNS.items():
        there = published.jobload(scope.data, _policy(name), WORKLOAD)
        figures += [
            Figure(
                what=f"{name}: average JCT, workload {WORKLOAD}",
                unit=seconds,
                measured=number(results, command, "avg_jct_s"),
                published=there.avg_jct_s,
                reach=near(there.avg_jct_s, NEAR),
            ),
            Figure(
                what=f"{name}: restarts per job",
                unit=ratio,
                measured=restarts(results, command),
                published=published.SIDE_BY_SIDE[_policy(name)]["restarts_per_job"],
            ),
        ]
    return figures


def _differences(scope: Scope, results: Results, name: str, command: Command) -> Table:
    """The jobs that move the average most."""
    record = results.get(command)
    there = published.jobload(scope.data, _policy(name), WORKLOAD).jct_s
    jobs = record.jobs if record is not None else ()
    moved = sorted(jobs, key=lambda job: -abs(job.jct_s - there[job.name]))[:MOST_ROWS]
    rows = [
        (
            job.name,
            seconds(job.jct_s),
            seconds(there[job.name]),
            f"{(job.jct_s - there[job.name]) / len(jobs):+,.0f} s",
        )
        for job in moved
    ]
    return Table(
        title=f"{name}, the jobs that move the average most",
        columns=("job", "JCT", "published", "of the average"),
        rows=rows,
    )
