"""The error of a mean step time: from blocks of steps, whatever the machine does beside them."""

from math import exp, sqrt

import numpy as np
import pytest

from headway.core.model.spread import PRIOR_ERROR, Blocks, error_of_a_second

STEP_S = 0.05


def run(rng: np.random.Generator, seconds: float, each: float, load: float) -> Blocks:
    """Steps that differ by themselves, and by a load that changes every two seconds or so."""
    blocks, at_s, until_s, slower = Blocks(), 0.0, 0.0, 1.0
    while at_s < seconds:
        if at_s >= until_s:
            slower, until_s = exp(load * rng.standard_normal()), at_s + rng.exponential(2.0)
        step_s = STEP_S * slower * exp(each * rng.standard_normal())
        blocks.add(step_s)
        at_s += step_s
    return blocks


@pytest.mark.parametrize(("each", "load"), [(0.3, 0.0), (0.1, 0.2)])
def test_it_is_about_what_means_of_the_same_seconds_differ_by(each: float, load: float) -> None:
    """With loads that last, the spread of single steps would tell a ninth of the truth."""
    seconds, rng = 60.0, np.random.default_rng(1)
    runs = [run(rng, seconds, each, load) for _ in range(60)]
    differ = float(np.std([one.mean for one in runs]))
    told = float(np.mean([error_of_a_second([one]) for one in runs])) / sqrt(seconds)
    assert 0.4 * differ < told < 2 * differ


def test_before_anything_was_measured_it_is_more_than_the_prior() -> None:
    assert error_of_a_second([]) > PRIOR_ERROR
    assert error_of_a_second([Blocks()]) == error_of_a_second([])


def test_equal_steps_leave_less_and_less_of_it() -> None:
    blocks, errors = Blocks(), []
    for _ in range(5):
        for _ in range(400):
            blocks.add(STEP_S)
        errors.append(error_of_a_second([blocks]))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < PRIOR_ERROR


def test_what_is_forgotten_counts_no_more() -> None:
    blocks = run(np.random.default_rng(2), 60.0, 0.1, 0.2)
    before_s, first = blocks.amount_s, error_of_a_second([blocks])
    blocks.age(0.5)
    assert blocks.amount_s < before_s
    blocks.age(0.0)
    assert error_of_a_second([blocks]) == error_of_a_second([]) != first


def test_a_shape_that_is_run_again_under_another_load_shows_it() -> None:
    """Two phases, calm within and twice as long between: each alone would look exact."""
    blocks = Blocks()
    for _ in range(400):
        blocks.add(STEP_S)
    calm = error_of_a_second([blocks])
    for _ in range(400):
        blocks.add(2 * STEP_S)
    assert error_of_a_second([blocks]) > 3 * calm
