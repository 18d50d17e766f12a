"""What decisions cost: the allocation against its bound, goodput tables, a simulated run."""

from collections.abc import Sequence

from benchmarks.results import published
from benchmarks.results.command import Command, script, simulation
from benchmarks.results.figures import (
    Figure,
    Reach,
    Results,
    Section,
    at_least,
    at_most,
    cpu_seconds,
    gigabytes,
    milliseconds,
    ratio,
    share_of_bound,
)
from benchmarks.results.scope import Scope, number

# GPUs: published share of the bound, what is asked of ours, and CPU seconds of one decision
ASKED = {
    64: ("GA 0.93", 0.999, 0.03),
    256: ("GA 0.90", 0.999, 0.2),
    1_024: ("GA 0.02", 0.999, 0.7),
    4_096: ("–", 0.9995, 0.8),
    16_384: ("–", 0.9995, 4.0),
}
MOST_BYTES = 2e9
ABOUT_ALLOCATION = """
One decision about sizes and places of all jobs, p = −1: the fitness of what was found over the
proven bound of the best possible, and its CPU seconds, the mean of 4 seeds. GA: the population
search of the published code.
"""
TABLES = script("goodput", sources=("src/headway/core",), timed=True)
MOST_TABLE_S = 1e-4  # a job
RUN = simulation("pollux", 6)
SIZES = {  # of what is simulated: the options that ask for it
    "160 jobs on 64 GPUs": ("--jobs", "160", "--cluster", "16x4"),
    "5,000 jobs on 4,096 GPUs": (
        *("--jobs", "5000", "--hours", "4", "--cluster", "1024x4"),
        *("--rounds", "60"),
    ),
}
BY_SIZE = {name: script("simulate", *options, timed=True) for name, options in SIZES.items()}
MOST_RUN_S = 10.0
MOST_GROWTH = 1.2
ABOUT_SIMULATOR = """
Of one workload the whole command, from the start of Python to its end. Of the sizes the CPU seconds
of a run over its rounds and the jobs active in them.
"""


def allocation(scope: Scope) -> Section:
    """Within a thousandth of the bound, in less than a second up to 4,096 GPUs."""
    cases = [(gpus, per_node) for per_node in (4, 8) for gpus in ASKED if gpus <= scope.most_gpus]

    def run(gpus: int, per_node: int) -> Command:
        options = ("--gpus", str(gpus), "--per-node", str(per_node), "--p", "-1")
        return script("allocate", *options, sources=("src/headway/core",), timed=True)

    def figures(results: Results) -> Sequence[Figure]:
        return [
            figure
            for gpus, per_node in cases
            for figure in _allocated(results, run(gpus, per_node), gpus, per_node)
        ]

    return Section(
        key="allocation",
        title="Allocation against the bound",
        about=ABOUT_ALLOCATION,
        commands=tuple(run(*case) for case in cases),
        figures=figures,
    )


def _allocated(results: Results, command: Command, gpus: int, per_node: int) -> list[Figure]:
    said, share, most_s = ASKED[gpus]
    asked, record = per_node == 4, results.get(command)
    what = f"{gpus:,} GPUs, {per_node} a node"
    figures = [
        Figure(
            what=f"{what}: fitness over bound",
            unit=share_of_bound,
            measured=number(results, command, "fitness_over_bound"),
            published=said if asked else None,
            reach=at_least(share) if asked else Reach(),
        ),
        Figure(
            what=f"{what}: a decision",
            unit=cpu_seconds,
            measured=number(results, command, "cpu_s"),
            reach=at_most(most_s) if asked else Reach(),
        ),
    ]
    if gpus == max(ASKED):
        peak = Figure(
            what=f"{what}: peak memory",
            unit=gigabytes,
            measured=None if record is None else float(record.peak_bytes),
            reach=at_most(MOST_BYTES),
        )
        figures.append(peak)
    return figures


def tables(scope: Scope) -> Section:
    """A tenth of a millisecond for all placements of a job."""
    return Section(
        key="goodput-tables",
        title="Goodput tables",
        about="The best split of the batch on 67 placements, for 5,000 jobs at once.",
        commands=(TABLES,),
        figures=lambda results: [
            Figure(
                what="CPU time a job, all placements",
                unit=milliseconds,
                measured=number(results, TABLES, "cpu_s_per_job"),
                published="0.4 ms for one placement",
                reach=at_most(MOST_TABLE_S),
            )
        ],
    )


def simulator(scope: Scope) -> Section:
    """Under 10 CPU seconds for a workload, and flat up to 5,000 jobs."""
    return Section(
        key="simulator",
        title="Cost of the simulator",
        about=ABOUT_SIMULATOR,
        commands=(RUN, *BY_SIZE.values()),
        figures=_simulated,
    )


def _simulated(results: Results) -> Sequence[Figure]:
    cpu_s = {name: published.SIDE_BY_SIDE[name]["cpu_s"] for name in ("pollux", "sia")}
    cost_s = [_job_round_s(results, command) for command in BY_SIZE.values()]
    shown = [
        Figure(what=f"{name}, a job and round", unit=milliseconds, measured=seconds)
        for name, seconds in zip(BY_SIZE, cost_s, strict=True)
    ]
    least, most = cost_s[0], cost_s[-1]
    return [
        Figure(
            what="160 jobs, 8 hours, 64 GPUs under pollux",
            unit=cpu_seconds,
            measured=results[RUN].cpu_s if RUN in results else None,
            published=", ".join(f"{name} {value:,.0f}" for name, value in cpu_s.items()),
            reach=at_most(MOST_RUN_S),
        ),
        *shown,
        Figure(
            what="a job and round, largest size over smallest",
            unit=ratio,
            measured=most / least if least and most is not None else None,
            reach=at_most(MOST_GROWTH, "flat"),
        ),
    ]


def _job_round_s(results: Results, command: Command) -> float | None:
    """CPU seconds of a job and round."""
    found = number(results, command, "cpu_ms_per_job_round")
    return None if found is None else found / 1e3
