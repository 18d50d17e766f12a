"""Forecasts of many jobs at once are those of each alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.predict.forecast import forecast, padded
from headway.core.predict.outlook import Outlook

ROWS = st.integers(1, 4).flatmap(
    lambda regimes: st.tuples(
        st.lists(st.floats(0.1, 100), min_size=regimes, max_size=regimes),
        st.lists(st.floats(0.1, 100), min_size=regimes, max_size=regimes),
        st.floats(0, 120),
    )
)


def look(expected: list[float], began: float = 3.0) -> Outlook:
    return Outlook(
        batch_sizes=tuple(range(1, len(expected) + 1)),
        expected=tuple(expected),
        began_epoch=began,
        concentration=2.0,
    )


@given(rows=st.lists(ROWS, min_size=1, max_size=5))
def test_a_job_is_foreseen_alike_alone_and_among_others(
    rows: list[tuple[list[float], list[float], float]],
) -> None:
    outlooks = [look(expected) for expected, _, _ in rows]
    done = np.array([each for _, _, each in rows])
    times = [each for _, each, _ in rows]
    together = forecast(outlooks, done, times)
    for index, outlook in enumerate(outlooks):
        alone = forecast([outlook], done[index : index + 1], [times[index]])
        assert together.remaining_s[index] == pytest.approx(alone.remaining_s[0])
        assert together.spread_s[index] == pytest.approx(alone.spread_s[0])


def test_remaining_time_by_hand() -> None:
    """10 + 20 epochs were left at epoch 3; at epoch 7: 6 of 2 s and 20 of 1 s."""
    found = forecast([look([10.0, 20.0])], np.array([7.0]), [(2.0, 1.0)])
    assert found.epochs[0].tolist() == [6.0, 20.0]
    assert found.remaining_s[0] == pytest.approx(32.0)
    assert found.spread_s[0] > 0


def test_a_job_at_its_end_takes_no_time() -> None:
    found = forecast([look([10.0, 20.0])], np.array([33.0]), [(2.0, 1.0)])
    assert found.remaining_s[0] == found.spread_s[0] == 0.0


def test_no_jobs() -> None:
    assert forecast([], np.zeros(0), []).remaining_s.shape == (0,)
    assert padded([(1.0,), (2.0, 3.0)]).tolist() == [[1.0, 0.0], [2.0, 3.0]]
