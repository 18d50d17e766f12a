"""Planning windows of many jobs: certified gap and cost."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.results.command import script
from benchmarks.results.figures import Figure, Results, Section, at_most, cpu_seconds
from benchmarks.results.scope import number

# jobs: gap and CPU seconds that are asked, and what Gurobi was published to reach in 15 s
ASKED: dict[int, tuple[float, float, str]] = {
    100: (2e-4, 0.01, ""),
    500: (1e-4, 0.03, "0.03 %"),
    2_000: (1e-4, 0.1, "0.44 %"),
    10_000: (1e-4, 0.8, ""),
}
RUNS = {
    jobs: script(
        "window",
        "--jobs",
        str(jobs),
        sources=("src/headway/core/solve", "src/headway/core/types.py"),
        timed=True,
    )
    for jobs in ASKED
}
ABOUT = """
Windows of 20 rounds, three jobs for each GPU; the gap is the worst of five windows against a proven
bound, the time the best of five runs on NumPy. Published is Gurobi's gap after 15 s on 24 threads.
"""


def windows(data: Path) -> Section:
    """Two figures for each size."""
    return Section(
        key="windows",
        title="Planning a window",
        about=ABOUT,
        commands=tuple(RUNS.values()),
        figures=_figures,
    )


def _figures(results: Results) -> Sequence[Figure]:
    figures = []
    for jobs, (gap, cpu_s, gurobi) in ASKED.items():
        figures += [
            Figure(
                what=f"{jobs:,} jobs: certified gap",
                unit=gap_percent,
                measured=number(results, RUNS[jobs], "gap"),
                published=gurobi,
                reach=at_most(gap),
            ),
            Figure(
                what=f"{jobs:,} jobs: a window",
                unit=cpu_seconds,
                measured=number(results, RUNS[jobs], "cpu_s"),
                reach=at_most(cpu_s),
            ),
        ]
    return figures


def gap_percent(value: float) -> str:
    """A share so small that its digits count."""
    return f"{100 * value:.2g} %"
