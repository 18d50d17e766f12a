"""Laws of the restatement posterior: mass is conserved, completed regimes get no more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.predict.posterior import mean_s, restated, spread_s

TABLES = st.integers(1, 5).flatmap(
    lambda columns: st.lists(
        st.lists(st.floats(0.01, 1e4), min_size=columns, max_size=columns), min_size=1, max_size=6
    )
)


@given(expected=TABLES, share=st.floats(0, 1))
def test_what_is_left_sums_to_the_epochs_that_are_left(
    expected: list[list[float]], share: float
) -> None:
    table = np.array(expected)
    done = share * table.sum(axis=1)
    left = restated(table, done)
    assert left.shape == table.shape
    assert np.all(left >= 0)
    assert left.sum(axis=1) == pytest.approx(table.sum(axis=1) - done, rel=1e-9, abs=1e-6)


@given(expected=TABLES, pads=st.integers(0, 3), share=st.floats(0, 1))
def test_zeros_behind_a_row_change_nothing(
    expected: list[list[float]], pads: int, share: float
) -> None:
    table = np.array(expected)
    done = share * table.sum(axis=1)
    wide = np.pad(table, ((0, 0), (0, pads)))
    assert restated(wide, done)[:, : table.shape[1]] == pytest.approx(restated(table, done))
    assert not restated(wide, done)[:, table.shape[1] :].any()


@pytest.mark.parametrize(
    ("done", "left"),
    [
        (0.0, [25.0, 25.0, 25.0, 25.0]),  # the prior Dir(N/K, ..., N/K)
        (10.0, [15.0, 25.0, 25.0, 25.0]),  # r = S - e, the others as they were
        (24.0, [2.5, 24.5, 24.5, 24.5]),  # r is at least S / 10
        (40.0, [2.5, 57.5 / 3, 57.5 / 3, 57.5 / 3]),  # it lasts longer: the others share the rest
        (99.0, [1.0, 0.0, 0.0, 0.0]),  # r is at most R
    ],
)
def test_the_rule_by_hand(done: float, left: list[float]) -> None:
    """Shockwave's restatement rule with the present regime handled: N = 100, K = 4."""
    assert restated(np.full((1, 4), 25.0), np.array([done]))[0] == pytest.approx(left)


def test_a_completed_regime_gets_no_more() -> None:
    """The published predictor adds the epochs run to every size for ever: its error grows from 12 %
    at the start to 39 % at 90 % of a job. Here the epochs of completed regimes are not in a row."""
    assert restated(np.array([[20.0]]), np.array([15.0])).tolist() == [[5.0]]


@given(expected=TABLES, times=st.floats(0.1, 1e3), kappa=st.floats(1, 1e6))
def test_equal_speeds_have_no_spread(
    expected: list[list[float]], times: float, kappa: float
) -> None:
    epochs = np.array(expected)
    spread = spread_s(epochs, np.full_like(epochs, times), np.full(len(epochs), kappa))
    assert spread == pytest.approx(np.zeros(len(epochs)), abs=1e-6 * times * epochs.sum())


def test_mean_and_spread_are_those_of_the_dirichlet_distribution() -> None:
    """Against draws: 50 epochs in shares Dir(2, 1, 1), at 4, 2 and 1 s an epoch."""
    alpha, times = np.array([2.0, 1.0, 1.0]), np.array([4.0, 2.0, 1.0])
    draws = 50 * np.random.default_rng(0).dirichlet(alpha, 200_000) @ times
    epochs, epoch_s = 50 * alpha[None, :] / alpha.sum(), times[None, :]
    assert mean_s(epochs, epoch_s)[0] == pytest.approx(draws.mean(), rel=0.01)
    assert spread_s(epochs, epoch_s, np.array([4.0]))[0] == pytest.approx(draws.std(), rel=0.01)
