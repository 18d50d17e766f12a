"""The least concave function above a table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headway.core.solve.envelope import concave_steps
from headway.core.types import Float64, FloatArray

TABLES = arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(2, 9)), elements=st.integers(-20, 20)
)


def by_chords(row: FloatArray) -> FloatArray:
    """The envelope at each count: the highest of all chords over it."""
    ends = range(len(row))
    return np.array(
        [
            max(
                row[a] if a == b else row[a] + (row[b] - row[a]) * (at - a) / (b - a)
                for a in ends
                for b in ends
                if a <= at <= b
            )
            for at in ends
        ]
    )


@given(table=TABLES)
def test_it_is_the_highest_chord_everywhere(table: Float64[FloatArray, "rows counts"]) -> None:
    steps = concave_steps(table)
    assert np.all(np.diff(steps, axis=1) <= 1e-9)
    for row, own in zip(table, steps, strict=True):
        envelope = row[0] + np.concatenate([[0.0], np.cumsum(own)])
        assert envelope == pytest.approx(by_chords(row))


def test_what_is_concave_is_left_as_it_is() -> None:
    table = np.log1p(np.arange(6.0))[None, :] * np.array([[1.0], [3.0]])
    assert (concave_steps(table) == np.diff(table, axis=1)).all()
