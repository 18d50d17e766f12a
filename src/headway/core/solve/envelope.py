"""The least concave function above each row of a table, by pooling adjacent steps."""

import numpy as np

from headway.core.types import Float64, FloatArray

ROUNDING = 1e-12  # relative: a step that rises by less is flat


def concave_steps(table: Float64[FloatArray, "rows counts"]) -> Float64[FloatArray, "rows steps"]:
    """Steps of the upper concave envelope from 0, 1, 2, ... on; none is larger than that before it.

    Where a row is not concave, steps are pooled to their mean until it is (isotonic regression of
    the steps), so the envelope touches the row at both ends of every pool.
    """
    steps = np.diff(table, axis=1)
    rise = np.diff(steps, axis=1)
    size = np.abs(table).max(axis=1, initial=0.0, keepdims=True)
    bent = np.flatnonzero((rise > ROUNDING * size).any(axis=1))
    if len(bent):
        steps[bent] = _pooled(steps[bent])
    return steps


def _pooled(steps: Float64[FloatArray, "rows steps"]) -> Float64[FloatArray, "rows steps"]:
    """All rows at once: each keeps a stack of pools (mean and length), and top the highest one."""
    count, width = steps.shape
    mean, length = np.zeros((count, width)), np.zeros((count, width), dtype=np.int64)
    top = np.full(count, -1)
    for column in range(width):
        top += 1
        row = np.arange(count)
        mean[row, top], length[row, top] = steps[:, column], 1
        while len(row):
            row = row[top[row] > 0]
            upper, lower = top[row], top[row] - 1
            rises = mean[row, upper] > mean[row, lower]
            row, upper, lower = row[rises], upper[rises], lower[rises]
            one, two = length[row, lower], length[row, upper]
            total = one + two
            mean[row, lower] = (mean[row, lower] * one + mean[row, upper] * two) / total
            length[row, lower], length[row, upper] = total, 0
            top[row] = lower
    return np.repeat(mean.ravel(), length.ravel()).reshape(count, width)
