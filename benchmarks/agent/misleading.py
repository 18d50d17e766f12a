"""A job whose noise scale allows batches that its metric does not."""

from collections.abc import Sequence

from benchmarks.agent.commands import RATINGS, SEEDS, training
from benchmarks.agent.quality import MUST_FAIL, examples, mean_of
from benchmarks.results.command import Command
from benchmarks.results.figures import Figure, Results, Section, Table, at_least, at_most
from benchmarks.results.scope import number

TOLERANCE = 0.01  # of the owner, on the error
CAP, UNBOUNDED = 4, 64  # of M0
ABOUT = """
Film ratings of MovieLens 100k by biased matrix factorisation: 16 factors, Adam, M0 = 256, 15
epochs; the root of the mean squared error on 20,000 ratings. The noise scale of the training loss
allows batches of tens of thousands, and large ones generalise worse whatever the learning rate. The
guard watches the training loss, so it has nothing to see here: what holds the metric is the owner's
`max_batch_size`. Elastic: a random sequence of 1 to 4 workers, the batch as the goodput model likes
up to the bound. The owner of this job is said to bear an error that is 0.01 higher. The ratings may
not be passed on; the wheel of recbole has them (`pip download recbole --no-deps --dest DATA`), and
without it nothing here is measured.
"""
FIXED = ("fixed", 0)
CAPPED = ("elastic", CAP)
FOLLOWED = ("elastic", UNBOUNDED)
LARGE = ("large", UNBOUNDED)
RUNS = {
    FIXED: "fixed at M0",
    CAPPED: f"elastic, up to {CAP} M0",
    FOLLOWED: f"elastic, up to {UNBOUNDED} M0",
    LARGE: f"{UNBOUNDED} M0 from the start",
}
ASKS = {
    CAPPED: at_most(TOLERANCE),
    FOLLOWED: at_least(TOLERANCE, MUST_FAIL),
    LARGE: at_least(TOLERANCE, MUST_FAIL),
}


def misleading() -> Section:
    """With a cap, and without."""
    return Section(
        key="misleading",
        title="A noise scale that misleads",
        about=ABOUT,
        commands=tuple(command for run in RUNS for command in _commands(run)),
        figures=_figures,
        tables=lambda results: [_table(results)],
    )


def _commands(run: tuple[str, int]) -> Sequence[Command]:
    way, most = run
    return [training(RATINGS, way, seed, most) for seed in SEEDS]


def error(value: float) -> str:
    """Of ratings."""
    return f"{value:.4f}"


def _once(value: float) -> str:
    return f"{value:.1f}"


def _figures(results: Results) -> Sequence[Figure]:
    base, seeds = mean_of(results, _commands(FIXED), "metric")
    figures = [Figure(what=f"{RUNS[FIXED]}: error{seeds}", unit=error, measured=base)]
    for run, reach in ASKS.items():
        metric, seeds = mean_of(results, _commands(run), "metric")
        behind = None if metric is None or base is None else metric - base
        what = f"{RUNS[run]}: error above that{seeds}"
        figures.append(Figure(what=what, unit=error, measured=behind, reach=reach))
    signs = {
        "largest_noise_scale": ("largest φ that is reported", examples),
        "falls": ("falls of the guard in a training", _once),
    }
    for name, (what, unit) in signs.items():
        found, seeds = mean_of(results, _commands(FOLLOWED), name)
        figures.append(Figure(what=f"{RUNS[FOLLOWED]}: {what}{seeds}", unit=unit, measured=found))
    return figures


def _table(results: Results) -> Table:
    rows = []
    for run, what in RUNS.items():
        for seed, command in zip(SEEDS, _commands(run), strict=True):
            metric = number(results, command, "metric")
            if metric is not None:
                sizes = ", ".join(map(str, results[command].answer["batch_sizes"]))
                rows.append((what, str(seed), error(metric), sizes))
    return Table(
        title="Every training",
        columns=("way", "seed", "error", "batch sizes"),
        rows=rows,
    )
