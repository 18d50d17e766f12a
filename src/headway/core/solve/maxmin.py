"""Shares of one capacity, lexicographically max-min fair: linear programs, level by level."""

import numpy as np

from headway.core.solve.assembly import Assembly
from headway.core.solve.milp import solve_linear
from headway.core.solve.outcome import Status
from headway.core.types import BoolArray, Float64, FloatArray

ROUNDING = 1e-7


def max_min_shares(
    gain: Float64[FloatArray, " items"], width: Float64[FloatArray, " items"], capacity: float
) -> Float64[FloatArray, " items"]:
    """Shares x in [0, 1] with sum width x <= capacity; the least gain x is as large as it can be.

    Then the next least, and so on (water-filling): whoever has all of its share, or cannot rise
    because the capacity is spent, is settled at each level.
    """
    shares = np.zeros(len(gain))
    open_ = np.ones(len(gain), dtype=np.bool_)
    while open_.any():
        level, found = _level(gain, width, capacity - float(width[~open_] @ shares[~open_]), open_)
        if found is None:
            return shares
        rising = np.minimum(level / gain[open_], 1.0)
        shares[open_] = rising
        full = open_ & (shares >= 1.0 - ROUNDING)
        if not full.any():
            return shares
        open_ &= ~full
    return shares


def _level(
    gain: FloatArray, width: FloatArray, capacity: float, open_: BoolArray
) -> tuple[float, FloatArray | None]:
    """The greatest level that all who are open can reach, and shares that do."""
    rows = np.flatnonzero(open_)
    assembly = Assembly()
    x = assembly.add_columns(np.zeros(len(rows)), upper=1.0, integer=False)
    level = assembly.add_columns(np.array([-1.0]), integer=False)
    above = assembly.add_rows(len(rows), lower=0.0)
    assembly.add_entries(above, x, gain[rows])
    assembly.add_entries(above, np.repeat(level, len(rows)), -1.0)
    spent = assembly.add_rows(1, upper=max(capacity, 0.0))
    assembly.add_entries(np.repeat(spent, len(rows)), x, width[rows])
    outcome = solve_linear(assembly.program())
    if outcome.status is not Status.OPTIMAL or outcome.x is None:
        return 0.0, None
    return float(outcome.x[-1]), outcome.x[:-1]
