"""Copies of states, and how they travel."""

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from headway.agent.tree import at_paths, packed, snapshot, unpacked

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
TENSORS = st.lists(st.integers(-9, 9), max_size=4).map(torch.tensor)
STATES = st.recursive(
    PLAIN | TENSORS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers(0, 9) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def spelled(state: Any) -> str:
    return repr(state)


@given(STATES)
def test_a_copy_and_what_has_travelled_are_the_same(state: Any) -> None:
    assert spelled(snapshot(state)) == spelled(state)
    assert spelled(unpacked(packed(state))) == spelled(state)


@given(STATES)
def test_a_copy_does_not_change_with_the_training(state: Any) -> None:
    before, copy = spelled(state), snapshot(state)
    for tensor in at_paths(state).values():
        tensor.add_(1)
    assert spelled(copy) == before


def test_a_model_s_copy_is_loaded_like_its_state() -> None:
    """Torch keeps the version of each module beside the numbers, and converts old ones by it."""
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    copy = unpacked(packed(snapshot(model.state_dict())))
    assert copy._metadata == model.state_dict()._metadata
    model.load_state_dict(copy)


def test_paths_come_in_one_order() -> None:
    one, other = torch.zeros(1), torch.ones(1)
    assert list(at_paths({"b": [one], "a": {1: other}})) == [("a", 1), ("b", 0)]
    assert list(at_paths({"a": {1: other}, "b": [one]})) == [("a", 1), ("b", 0)]
