"""GPU counts to nodes, one at a time: as few nodes as possible, best fit."""

import numpy as np

from headway.core.types import Int64, IntArray


def pack(free: Int64[IntArray, " nodes"], gpus: int) -> Int64[IntArray, " nodes"] | None:
    """GPUs of each node for one job on as few nodes as possible; None if there are too few.

    Whole nodes, largest first, while the need exceeds them; the last is the fullest that fits.
    """
    if gpus > int(free.sum()):
        return None
    taken = np.zeros_like(free)
    for node in np.argsort(-free, kind="stable"):
        need = gpus - int(taken.sum())
        if need <= free[node]:
            fits = (free >= need) & (taken == 0)
            taken[np.argmin(np.where(fits, free, np.iinfo(np.int64).max))] = need
            break
        taken[node] = free[node]
    return taken
