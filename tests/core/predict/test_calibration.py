"""Calibration tells honest error bars from others."""

import numpy as np
import pytest

from headway.core.predict.calibration import calibration


def test_honest_bars_cover_what_they_promise() -> None:
    rng = np.random.default_rng(0)
    truth = np.full(20_000, 100.0)
    spread = rng.uniform(1, 9, truth.size)
    found = calibration(truth + spread * rng.standard_normal(truth.size), spread, truth)
    assert found is not None
    assert found.within_one == pytest.approx(0.683, abs=0.02)
    assert found.within_two == pytest.approx(0.954, abs=0.02)
    assert found.bias == pytest.approx(0.0, abs=0.002)


def test_bars_that_are_too_sure_are_found_out() -> None:
    truth, forecast = np.array([100.0, 100.0]), np.array([120.0, 90.0])
    found = calibration(forecast, np.array([1.0, 1.0]), truth)
    assert found is not None
    assert (found.within_one, found.within_two) == (0.0, 0.0)
    assert found.mean_error == pytest.approx(0.15)
    assert found.bias == pytest.approx(0.05)
    assert found.mean_spread == pytest.approx(0.01)


def test_a_certain_forecast_that_is_right_counts_as_met() -> None:
    found = calibration(np.array([99.5]), np.zeros(1), np.array([100.0]), tolerance=0.01)
    assert found is not None
    assert found.within_one == 1.0


def test_nothing_to_compare() -> None:
    assert calibration(np.zeros(0), np.zeros(0), np.zeros(0)) is None
