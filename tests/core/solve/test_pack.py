"""As few nodes as possible, best fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.solve.pack import pack


@pytest.mark.parametrize(
    ("free", "gpus", "taken"),
    [
        ([4, 2, 3], 2, [0, 2, 0]),
        ([4, 2, 3], 3, [0, 0, 3]),
        ([4, 2, 3], 4, [4, 0, 0]),
        ([4, 2, 3], 6, [4, 2, 0]),
        ([4, 2, 3], 7, [4, 0, 3]),
        ([4, 2, 3], 9, [4, 2, 3]),
        ([2, 2], 1, [1, 0]),
    ],
)
def test_the_fullest_node_that_has_room_comes_last(
    free: list[int], gpus: int, taken: list[int]
) -> None:
    placed = pack(np.array(free), gpus)
    assert placed is not None
    assert placed.tolist() == taken


@given(free=st.lists(st.integers(0, 8), min_size=1, max_size=8), gpus=st.integers(1, 40))
def test_all_is_placed_on_the_fewest_nodes_or_nothing(free: list[int], gpus: int) -> None:
    placed = pack(np.array(free), gpus)
    if gpus > sum(free):
        assert placed is None
        return
    assert placed is not None
    assert placed.sum() == gpus
    assert (placed <= np.array(free)).all()
    descending = np.cumsum(sorted(free, reverse=True))
    assert (placed > 0).sum() == np.searchsorted(descending, gpus) + 1
