"""Remaining run time of many jobs, mean and spread, from their outlooks and epoch times."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.core.predict.outlook import Outlook
from headway.core.predict.posterior import mean_s, restated, spread_s
from headway.core.types import Float64, FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """One trajectory a job, in regimes of static speed; columns as in ``posterior``."""

    epochs: Float64[FloatArray, "jobs regimes"]  # that are left of each regime
    epoch_s: Float64[FloatArray, "jobs regimes"]
    remaining_s: Float64[FloatArray, " jobs"]  # of running, on the GPUs that epoch_s is for
    spread_s: Float64[FloatArray, " jobs"]  # its standard deviation


def forecast(
    outlooks: Sequence[Outlook],
    epochs_done: Float64[FloatArray, " jobs"],
    epoch_s: Sequence[Sequence[float]],
) -> Forecast:
    """Jobs after so many epochs each; ``epoch_s`` is the time of an epoch at each size ahead."""
    expected = padded([outlook.expected for outlook in outlooks])
    began = np.array([outlook.began_epoch for outlook in outlooks], dtype=np.float64)
    concentration = np.array([each.concentration for each in outlooks], dtype=np.float64)
    times_s = padded(epoch_s)
    epochs = restated(expected, np.maximum(epochs_done - began, 0.0))
    return Forecast(
        epochs=epochs,
        epoch_s=times_s,
        remaining_s=mean_s(epochs, times_s),
        spread_s=spread_s(epochs, times_s, concentration),
    )


def padded(rows: Sequence[Sequence[float]]) -> Float64[FloatArray, "jobs regimes"]:
    """Rows of different lengths as one array, zeros behind the shorter ones."""
    table = np.zeros((len(rows), max(map(len, rows), default=1)))
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return table
