"""What an example of a large batch is worth: noise scale -> efficiency and gain (Pollux, Eqn. 6).

The noise scale phi is in examples and may be any number from 0 to infinity:

- 0: the gradient has no noise, so a larger batch teaches nothing more; efficiency is M0 / M.
- infinity: every example counts in full at any batch size; efficiency is 1.
- None ("no estimate yet") counts as 0: nothing is gained by leaving M0 until phi was measured.
"""

import numpy as np
from numpy.typing import ArrayLike

from headway.core.types import FloatArray

DOUBLED_STEPS = 10  # in which the gain may double: a momentum of 0.9 forgets what was before


def assumed_noise_scale(noise_scale: float | None) -> float:
    """The noise scale to reckon with: what was measured, else 0."""
    return 0.0 if noise_scale is None else max(noise_scale, 0.0)


def efficiency(
    noise_scale: ArrayLike, initial_batch_size: ArrayLike, batch_size: ArrayLike
) -> FloatArray:
    """(phi + M0) / (phi + M), in (0, 1] for M >= M0 (Pollux, Eqn. 6).

    Written with phi in the denominator alone, so that an infinite phi gives 1.
    """
    initial = np.asarray(initial_batch_size, dtype=np.float64)
    excess = np.asarray(batch_size, dtype=np.float64) - initial
    return np.asarray(1.0 / (1.0 + excess / (np.asarray(noise_scale, np.float64) + initial)))


def followable(
    noise_scale: float | None,
    held: float | None,
    initial_batch_size: float,
    batch_size: float,
    steps: float,
) -> float | None:
    """The noise scale, where after so many steps with the one that is ``held`` the gain rises no
    faster than a training can follow; else the largest one of which this is true.

    A first estimate at 32 M0 made the rate ten times as high from one step to the next: the loss
    went from 0.5 to 17, and one training in three never came back.
    """
    if noise_scale is None or batch_size <= initial_batch_size:
        return noise_scale
    doublings = min(steps / DOUBLED_STEPS, 1.0)
    before = gain(assumed_noise_scale(held), initial_batch_size, batch_size)
    most = float(2.0**doublings * before)
    if float(gain(noise_scale, initial_batch_size, batch_size)) <= most:
        return noise_scale
    room = 1 / initial_batch_size - most / batch_size  # none: rounding made it the largest gain
    return min(max(most - 1.0, 0.0) / room, noise_scale) if room > 0 else noise_scale


def efficiency_error(
    noise_scale: float, error: float, initial_batch_size: float, batch_size: float
) -> float:
    """Relative standard error of ``efficiency``, from that of phi, to first order.

    d ln(efficiency) / d phi = 1 / (phi + M0) - 1 / (phi + M) = (M - M0) / ((phi + M0) (phi + M)):
    nothing where nothing was added to M0, which is worth 1 whatever phi is.
    """
    excess, known = batch_size - initial_batch_size, noise_scale + initial_batch_size
    if excess == 0.0 or np.isinf(noise_scale):
        return 0.0
    return error / known * abs(excess) / (noise_scale + batch_size)


def gain(
    noise_scale: ArrayLike, initial_batch_size: ArrayLike, batch_size: ArrayLike
) -> FloatArray:
    """AdaScale's r = (phi/M0 + 1) / (phi/M + 1): steps at M0 that one step at M is worth.

    Equals M / M0 times the efficiency, hence lies between 1 (phi = 0) and M / M0 (phi infinite).
    """
    growth = np.asarray(batch_size, np.float64) / np.asarray(initial_batch_size, np.float64)
    return np.asarray(growth * efficiency(noise_scale, initial_batch_size, batch_size))
