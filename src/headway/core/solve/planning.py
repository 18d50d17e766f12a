"""Plans a window: counts by price, then rounds, and how far from the bound that is."""

import numpy as np

from headway.core.solve.counts import best_counts
from headway.core.solve.timetable import arranged
from headway.core.solve.window import Plan, Window
from headway.core.types import BoolArray, Float64, FloatArray


def plan(window: Window, running: BoolArray, rank: Float64[FloatArray, " items"]) -> Plan:
    """Who runs in which round. Who ``running`` goes on first, then the others by ``rank``."""
    if not len(window.width):
        return Plan(runs=np.zeros((0, window.rounds), np.bool_), objective=0.0, bound=0.0)
    counts = best_counts(window)
    runs = arranged(window, counts.rounds, running, rank)
    objective = window.objective(runs.sum(axis=1))
    return Plan(
        runs=runs,
        objective=objective,
        bound=max(counts.bound, objective),
        evaluations=counts.evaluations,
    )
