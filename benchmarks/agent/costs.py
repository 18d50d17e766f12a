"""What the agent costs, what it counts, and how well the law behind it holds."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.agent.commands import (
    ACCOUNTING,
    ELASTIC,
    KILLS,
    LAW,
    RESIZE,
    UNTOUCHED,
    overhead,
)
from benchmarks.results.figures import (
    Figure,
    Reach,
    Results,
    Section,
    Table,
    at_least,
    at_most,
    percent,
)
from benchmarks.results.scope import number

TIMED = ("digits-cnn", "charlm", "mlp-1.3m-sgd", "mlp-1.3m-adam")
MODES = ("fixed", "adaptive")
ADAPTDL = {
    "mlp-1.3m-sgd": "+140 % to +250 % (AdaptDL)",
    "mlp-1.3m-adam": "+140 % to +250 % (AdaptDL)",
}
BENCHMARKS = (
    "bert",
    "deepcam",
    "dlrm",
    "flux1",
    "gpt3",
    "llama31_8b",
    "maskrcnn",
    "resnet",
    "retinanet",
    "rnnt",
)
ODD = "gpt3"  # mixes two starting points
STALLS = {
    "in process": 0.5,
    "warm fork": 1.2,
}  # seconds, of the ways that benchmarks/resize.py knows
ABOUT_OVERHEAD = """
CPU seconds of a step with the agent over those without, less one: short blocks in turns, in one
process, on one network, one optimizer and one data set; the mean of the logarithms over the blocks
without the outermost tenth. Beside it how far it may be off, and the same for two sides that are
both without the agent: what the machine alone makes of it. Most steps are but counted and timed;
what is dear is done once in so many steps that it stays within its share of the time.
"""
ABOUT_LAW = """
Examples to the target are c (φ + M), fitted to MLCommons' reference convergence points: means over
10 to 20 seeds at 3 to 13 batch sizes. A point that the law of all others misses by more than 30 %
is an outlier; that of gpt3, whose points mix two starting points, is known.
"""
ABOUT_COUNTS = """
Epochs of random length through the agent's loader, under random sequences of workers, batch sizes
and passes; and networks trained with the agent and without it, compared bit for bit: without a
scheduler, and under it with a fixed batch while it measures. Real runs: 1, 3 and 2 workers at a
fixed batch against one, and a worker that is killed. And real jobs under the real agent whose
workers are killed at random moments, also while they change their number and while they save.
"""
ABOUT_RESIZE = """
How long training stands still when its size changes: 50 MB of state, gloo, newcomers warm.
"""


def count(value: float) -> str:
    """Things that are counted."""
    return f"{value:,.0f}"


def small_share(value: float) -> str:
    """A share of 1 in hundredths, with its sign."""
    return f"{100 * value:+.2f} %"


def seconds(value: float) -> str:
    """Short times."""
    return f"{value:.2f} s"


def costs() -> Section:
    """Of a step."""
    return Section(
        key="overhead",
        title="What the agent adds to a step",
        about=ABOUT_OVERHEAD,
        commands=tuple(overhead(task) for task in TIMED),
        figures=lambda results: [
            Figure(
                what=f"{task}, {mode}",
                unit=small_share,
                measured=number(results, overhead(task), "tasks", task, mode, "overhead"),
                published=ADAPTDL.get(task),
                reach=at_most(0.02),
            )
            for task in TIMED
            for mode in MODES
        ],
        tables=lambda results: [_blocks(results)],
    )


def _blocks(results: Results) -> Table:
    rows = []
    for task in TIMED:
        record = results.get(overhead(task))
        if record is None:
            continue
        load = f"{record.answer['load_before']:.1f}, {record.answer['load_after']:.1f}"
        for mode, found in record.answer["tasks"][task].items():
            shares = ("overhead", "error", "nothing", "overhead_best", "overhead_first_steps")
            cells = (small_share(found[name]) for name in shares)
            rows.append((task, mode, f"{found['step_ms']:.2f} ms", *cells, load))
    return Table(
        title="In full; the load average is that of a machine of two cores before and after",
        columns=(
            *("task", "mode", "step", "agent", "may be off by", "without twice"),
            *("fastest tenth", "first 128 steps", "load"),
        ),
        rows=rows,
    )


def law() -> Section:
    """On each benchmark."""
    return Section(
        key="law",
        title="The efficiency law on MLPerf's trainings",
        about=ABOUT_LAW,
        commands=(LAW,),
        figures=_law,
        tables=lambda results: [_laws(results)],
    )


def _rows(results: Results) -> Mapping[str, Mapping[str, Any]]:
    record = results.get(LAW)
    return {} if record is None else {one["benchmark"]: one for one in record.answer["results"]}


def _law(results: Results) -> Sequence[Figure]:
    rows = _rows(results)
    figures = [
        Figure(
            what=f"{name}: mean error",
            unit=percent,
            measured=rows.get(name, {}).get("mean_error"),
            reach=at_most(0.07),
        )
        for name in BENCHMARKS
        if name != ODD
    ]
    flagged = {name: float(len(row["outliers"])) for name, row in rows.items()}
    others = sum(found for name, found in flagged.items() if name != ODD) if rows else None
    return [
        *figures,
        Figure(
            what=f"{ODD}: outliers flagged",
            unit=count,
            measured=flagged.get(ODD),
            reach=at_least(1),
        ),
        Figure(what="outliers flagged elsewhere", unit=count, measured=others, reach=at_most(0)),
    ]


def _laws(results: Results) -> Table:
    return Table(
        title="Each benchmark",
        columns=("benchmark", "batch sizes", "mean error", "largest", "φ", "outliers"),
        rows=[
            (
                name,
                count(row["batch_sizes"]),
                percent(row["mean_error"]),
                percent(row["max_error"]),
                count(row["noise_scale"]),
                ", ".join(f"{size:,}" for size in row["outliers"]),
            )
            for name, row in _rows(results).items()
        ],
    )


COUNTED = (
    (
        "sequences of sizes under which each sample was read once an epoch, of 1,000",
        (ACCOUNTING, "once"),
        at_least(1000),
    ),
    (
        "comparisons of weights that are equal bit for bit",
        (UNTOUCHED, "passed"),
        at_least(1),
    ),
    ("comparisons that are not", (UNTOUCHED, "failed"), at_most(0)),
    (
        "real runs that end where one worker does, or repeat nothing after a kill",
        (ELASTIC, "passed"),
        at_least(2),
    ),
    (
        "kills of a worker that repeat no more than the work since a checkpoint",
        (KILLS, "right"),
        at_least(200),
    ),
    (
        "samples of these jobs that were not read once an epoch, all repeats told",
        (KILLS, "wrong"),
        at_most(0),
    ),
)


def counts() -> Section:
    """Samples, and bits."""
    return Section(
        key="counts",
        title="Each sample once, and nothing changed",
        about=ABOUT_COUNTS,
        commands=(ACCOUNTING, UNTOUCHED, ELASTIC, KILLS),
        figures=lambda results: [
            Figure(
                what=what,
                unit=count,
                measured=number(results, *at),
                reach=reach,
            )
            for what, at, reach in COUNTED
        ],
    )


def resize() -> Section:
    """Of each way and each pair of sizes."""
    return Section(
        key="resize",
        title="The stall of a resize",
        about=ABOUT_RESIZE,
        commands=(RESIZE,),
        figures=_resize,
    )


def _resize(results: Results) -> Sequence[Figure]:
    record = results.get(RESIZE)
    if record is None:
        return [
            Figure(what=f"{way}: stall", unit=seconds, measured=None, reach=at_most(most))
            for way, most in STALLS.items()
        ]
    stalls: dict[tuple[str, int, int], list[float]] = {}
    for one in record.answer["resizes"]:
        stalls.setdefault((one["way"], one["old"], one["new"]), []).append(one["stall_s"])
    return [
        Figure(
            what=f"{way}: {old} to {new} workers, median stall",
            unit=seconds,
            measured=statistics.median(found),
            reach=at_most(STALLS[way]) if way in STALLS else Reach(),
        )
        for (way, old, new), found in stalls.items()
    ]
