"""A knapsack over a few items with any tables of value, exactly: room is shared anew among them."""

import numpy as np

from headway.core.types import Float64, FloatArray, Int64, IntArray


def share_out(
    value: Float64[FloatArray, "items counts"], width: Int64[IntArray, " items"], room: int
) -> Int64[IntArray, " items"]:
    """Counts of the most value whose widths fit into the room (dynamic programming over room).

    A value of minus infinity forbids a count; each item needs one that fits with those of others.
    """
    room = min(room, int(width.sum()) * (value.shape[1] - 1))
    best = np.zeros(room + 1)  # of the items so far, in at most so much room
    choice = np.zeros((len(width), room + 1), dtype=np.int64)
    for item, own in enumerate(width.tolist()):
        after = np.full(room + 1, -np.inf)
        for count in np.flatnonzero(np.isfinite(value[item])).tolist():
            taken = count * own
            if taken > room:
                break
            with_it = best[: room + 1 - taken] + value[item, count]
            better = with_it > after[taken:]
            after[taken:][better] = with_it[better]
            choice[item, taken:][better] = count
        best = after
    counts = np.zeros(len(width), dtype=np.int64)
    for item in reversed(range(len(width))):
        counts[item] = choice[item, room]
        room -= int(counts[item] * width[item])
    return counts
