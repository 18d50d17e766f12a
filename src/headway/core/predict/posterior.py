"""What is left of each regime: the restatement posterior of Shockwave, over many jobs at once.

Rows are jobs. Column 0 is the regime that a job is in, the next columns are those that may follow,
in order; a job with fewer of them has zeros behind. ``expected`` holds the epochs that each was
expected to take when the present one began, so a row sums to what was left then: N - sum(m).
"""

import numpy as np

from headway.core.types import Float64, FloatArray

LEAST_SHARE = 0.1  # of its expected length that a regime keeps once it has lasted longer


def restated(
    expected: Float64[FloatArray, "jobs regimes"], done: Float64[FloatArray, " jobs"]
) -> Float64[FloatArray, "jobs regimes"]:
    """Epochs that each regime still takes, ``done`` epochs into the present one.

    The present regime keeps r = min(R, max(S - e, 0.1 S)); those after it share R - r as they were
    expected to, equally under the uniform prior. With none after it, r = R. A row sums to R.
    """
    left = np.maximum(expected.sum(axis=1) - done, 0.0)
    present, later = expected[:, 0], expected[:, 1:].sum(axis=1)
    keeps = np.minimum(left, np.maximum(present - done, LEAST_SHARE * present))
    keeps = np.where(later > 0, keeps, left)
    share = np.divide(left - keeps, later, out=np.zeros_like(left), where=later > 0)
    return np.concatenate([keeps[:, None], expected[:, 1:] * share[:, None]], axis=1)


def mean_s(
    epochs: Float64[FloatArray, "jobs regimes"], epoch_s: Float64[FloatArray, "jobs regimes"]
) -> Float64[FloatArray, " jobs"]:
    """Remaining run time of the mean trajectory: epochs times the time of an epoch."""
    total: FloatArray = (epochs * epoch_s).sum(axis=1)
    return total


def spread_s(
    epochs: Float64[FloatArray, "jobs regimes"],
    epoch_s: Float64[FloatArray, "jobs regimes"],
    concentration: Float64[FloatArray, " jobs"],
) -> Float64[FloatArray, " jobs"]:
    """Standard deviation of the remaining run time.

    The shares of the epochs that are left are Dirichlet with these means p and the sum of
    parameters ``concentration``: var(sum p d) = (sum p d^2 - (sum p d)^2) / (concentration + 1).
    """
    left = epochs.sum(axis=1)
    shares = np.divide(epochs, left[:, None], out=np.zeros_like(epochs), where=left[:, None] > 0)
    mean = (shares * epoch_s).sum(axis=1)
    # as sum p (d - mean)^2, which rounding cannot make negative
    inner = (shares * (epoch_s - mean[:, None]) ** 2).sum(axis=1)
    spread: FloatArray = left * np.sqrt(inner / (concentration + 1.0))
    return spread
