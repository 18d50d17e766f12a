"""How well the models of throughput fit what was measured, and what they were not shown."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.results.command import DATA, script
from benchmarks.results.figures import Figure, Reach, Results, Section, Table, at_most, percent
from benchmarks.results.scope import Scope

SOURCES = ("src/headway/core", "src/headway/traces")
RUN = script("fit", "--profiles", f"{DATA}/profiles", sources=SOURCES)
PUBLISHED = "≤ 10 % on average"
# of the linear model, Eqn. 8-11, fitted to all of a profile
LINEAR = {
    "bert": 0.075,
    "cifar10": 0.075,
    "deepspeech2": 0.075,
    "imagenet": 0.075,
    "ncf": 0.10,
    "yolov3": 0.10,
}
BEST = {"ncf": 0.085, "yolov3": 0.085}  # held out, the best of the models
ABOUT = """
Mean of |predicted / measured − 1| of the step time over all that was measured of an application.
Linear: the model of Pollux (Eqn. 8–11), fitted to all of it. Held out: each fifth of the placements
foretold by a model that was fitted to the rest.
"""


def model_error(scope: Scope) -> Section:
    """Within the bounds on each of the six applications."""
    return Section(
        key="model-error",
        title="Error of the throughput model",
        about=ABOUT,
        commands=(RUN,),
        figures=_figures,
        tables=lambda results: [_held_out(_rows(results))],
    )


def _rows(results: Results) -> Mapping[str, Mapping[str, Any]]:
    record = results.get(RUN)
    rows = [] if record is None else record.answer["results"]
    return {row["app"]: row for row in rows}


def _figures(results: Results) -> Sequence[Figure]:
    rows = _rows(results)
    linear = [
        Figure(
            what=f"{app}: linear model",
            unit=percent,
            measured=rows.get(app, {}).get("linear_error"),
            published=PUBLISHED,
            reach=at_most(most),
        )
        for app, most in LINEAR.items()
    ]
    best = [
        Figure(
            what=f"{app}: best model, held out",
            unit=percent,
            measured=rows.get(app, {}).get("best_held_out_error"),
            reach=at_most(BEST[app]) if app in BEST else Reach(),
        )
        for app in LINEAR
    ]
    return linear + best


def _held_out(rows: Mapping[str, Mapping[str, Any]]) -> Table:
    kinds = tuple(dict.fromkeys(kind for row in rows.values() for kind in row["held_out"]))
    return Table(
        title="Held-out error of each model",
        columns=("application", *kinds, "best"),
        rows=[
            (
                app,
                *(
                    percent(row["held_out"][kind]) if kind in row["held_out"] else ""
                    for kind in kinds
                ),
                row["best"],
            )
            for app, row in rows.items()
        ],
    )
