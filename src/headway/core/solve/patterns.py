"""Ways to fill one node: multisets of sizes, and which of a node's present users stay."""

from functools import lru_cache

import numpy as np

from headway.core.types import Int64, IntArray


@lru_cache(maxsize=4096)
def fillings(
    room: int, sizes: tuple[int, ...], leave_room: bool
) -> Int64[IntArray, "patterns sizes"]:
    """Multisets of ``sizes`` that fit ``room``, as counts per size; largest sizes first.

    With ``leave_room`` all of them, since what they leave serves others; otherwise only those that
    nothing can be added to.
    """
    if not sizes:
        return np.zeros((1, 0), dtype=np.int64)
    counts = np.zeros((1, len(sizes)), dtype=np.int64)
    left = np.array([room])
    for position, size in reversed(list(enumerate(sizes))):
        most = left // size
        row = np.repeat(np.arange(len(left)), most + 1)
        number = np.arange(len(row)) - np.repeat(np.cumsum(most + 1) - (most + 1), most + 1)
        counts, left = counts[row], left[row] - number * size
        counts[:, position] = number
    keep = slice(None) if leave_room else left < sizes[0]
    return _frozen(counts[keep][::-1])


@lru_cache(maxsize=65536)
def stays(
    room: int, groups: tuple[tuple[int, int], ...], spanning: tuple[int, ...]
) -> tuple[
    Int64[IntArray, "states groups"], Int64[IntArray, " states"], Int64[IntArray, " states"]
]:
    """Which of a node's present users may stay together.

    ``groups`` are (size, how many users hold that size), ``spanning`` the sizes of users that span
    several nodes, of whom one may stay. Returned per state: how many stay of each group, which
    spanning user stays (-1: none), and the room that is left.
    """
    ranges = [np.arange(number + 1) for _, number in groups]
    ranges.append(np.arange(-1, len(spanning)))
    grid = np.stack([axis.ravel() for axis in np.meshgrid(*ranges, indexing="ij")], axis=1)
    counts, stayer = grid[:, :-1], grid[:, -1]
    group_sizes = np.array([size for size, _ in groups], dtype=np.int64)
    span_sizes = np.array([*spanning, 0], dtype=np.int64)  # index -1 is the 0
    left = room - counts @ group_sizes - span_sizes[stayer]
    fits = left >= 0
    return _frozen(counts[fits]), _frozen(stayer[fits]), _frozen(left[fits])


def _frozen(array: IntArray) -> IntArray:
    """A copy that no caller of a remembered answer can spoil."""
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array
