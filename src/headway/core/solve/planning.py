"""Plans a window: counts by price, then rounds, and how far from the bound that is."""

import numpy as np

from headway.core.solve.counts import best_counts
from headway.core.solve.mixtures import relaxed
from headway.core.solve.timetable import arranged
from headway.core.solve.window import Plan, Window
from headway.core.types import BoolArray, Float64, FloatArray


def plan(
    window: Window,
    running: BoolArray,
    rank: Float64[FloatArray, " items"],
    *,
    order_may_cost: float = 0.0,
) -> Plan:
    """Who runs in which round: the highest ``rank`` first, and of equals who are ``running``.

    Where counts do not fit in this order, the loss may be such a share of the objective. With
    several resources the best of some relaxations' counts is taken, and the least of their bounds.
    """
    if not len(window.width):
        return Plan(runs=np.zeros((0, window.rounds), np.bool_), objective=0.0, bound=0.0)
    made, bounds = [], []
    for one in relaxed(window) if len(window.rooms) else (window,):
        counts = best_counts(one)
        runs = arranged(window, counts.rounds, running, rank, order_may_cost=order_may_cost)
        made.append((window.objective(runs.sum(axis=1)), runs, counts.evaluations))
        bounds.append(counts.bound)
    objective, runs, _ = max(made, key=lambda one: one[0])
    return Plan(
        runs=runs,
        objective=objective,
        bound=max(min(bounds), objective),
        idle=window.objective(np.zeros(len(runs), dtype=np.int64)),
        evaluations=sum(evaluations for _, _, evaluations in made),
    )
