"""A window with several resources, relaxed to one: a mixture of them in the place of width.

With weights that sum to 1 the mixture of an item's shares of each resource never exceeds a round
where every single resource does not, and its mean load never exceeds the greatest of theirs. So
every mixture's bound holds for the window (the surrogate dual of Greenberg and Pierskalla, 1970).
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from headway.core.solve.window import Window
from headway.core.types import Float64, FloatArray

UNITS = 1 << 30  # of a round; shares are rounded down to them, which keeps the bound
MOSTLY = 0.98  # weight of a resource "alone": an item that needs none of it still has a width


def relaxed(window: Window) -> Iterator[Window]:
    """Windows of one resource: GPUs alone, each other one, and all pairs and all of them mixed."""
    yield replace(window, others=np.zeros((0, 0), np.int64), rooms=np.zeros(0, np.int64))
    share = window.needs() / window.room_of_round()
    for weight in _weights(share.shape[1]):
        yield replace(
            window,
            width=np.floor(UNITS * (share @ weight)).astype(np.int64),
            capacity=UNITS,
            others=np.zeros((0, 0), np.int64),
            rooms=np.zeros(0, np.int64),
            finely=False,
        )


def _weights(resources: int) -> Iterator[Float64[FloatArray, " resources"]]:
    """Sums of 1; none of them GPUs alone."""
    for number in range(1, resources + 1):
        for some in combinations(range(resources), number):
            if some != (0,):
                weight = np.zeros(resources)
                weight[list(some)] = MOSTLY / number
                weight[0] += 1.0 - MOSTLY
                yield weight
