"""Re-tuning: nothing for less than five percent, bounded strides, gains as the model says."""

from dataclasses import replace

import pytest

from headway.core.model.efficiency import efficiency
from headway.core.model.refine import Measured
from headway.core.model.retune import models_of, retune
from headway.core.model.split import Choice
from headway.core.types import BatchContract, BatchMode, Placement, ThroughputParams

CONTRACT = BatchContract(
    initial_batch_size=32, max_batch_size=512, max_batch_per_gpu=128, mode=BatchMode.ADAPTIVE
)
SPEED = ThroughputParams(
    alpha_grad_s=1e-3,
    beta_grad_s=1e-5,
    alpha_local_s=0.0,
    beta_local_s=0.0,
    alpha_node_s=0.0,
    beta_node_s=0.0,
    gamma=1.0,
)
PHI = 1e5
ALONE = Placement(1, 1)
NOTHING = Measured.of(None, ALONE)
NOW = Choice(32, 0, 32)


def test_a_better_choice_comes_with_the_gain_that_the_model_gives() -> None:
    models = models_of(CONTRACT, SPEED, PHI)
    found = retune(models, ALONE, NOTHING, NOW)
    assert found is not None
    assert found.choice == Choice(128, 0, 128)  # memory holds no more
    before, after = (m / (1e-3 + 1e-5 * m) * float(efficiency(PHI, 32, m)) for m in (32, 128))
    assert found.gain == pytest.approx(after / before)
    assert found.goodput_per_s == pytest.approx(after)


def test_one_change_goes_no_further_than_it_may_but_never_below_m0() -> None:
    found = retune(models_of(CONTRACT, SPEED, PHI, most_batch_size=64), ALONE, NOTHING, NOW)
    assert found is not None
    assert found.choice.batch_size == 64
    assert retune(models_of(CONTRACT, SPEED, PHI, most_batch_size=8), ALONE, NOTHING, NOW) is None


def test_who_may_change_the_batch_sees_no_freeze() -> None:
    """Every change was once refused after the freeze: the model was asked as of no samples."""
    frozen = replace(CONTRACT, freeze_before_samples=1000, freeze_after_samples=2000)
    assert retune(models_of(frozen, SPEED, PHI), ALONE, NOTHING, NOW) is not None


def test_what_is_best_already_stays() -> None:
    models = models_of(CONTRACT, SPEED, PHI)
    assert retune(models, ALONE, NOTHING, Choice(128, 0, 128)) is None
    silent = models_of(CONTRACT, SPEED, 0.0)
    assert retune(silent, ALONE, NOTHING, NOW) is None


def test_a_present_choice_that_is_not_legal_has_no_gain_to_compare_with() -> None:
    found = retune(models_of(CONTRACT, SPEED, PHI), ALONE, NOTHING, Choice(200, 0, 200))
    assert found is not None
    assert found.gain == 1.0


def test_a_noise_scale_that_is_hardly_known_moves_nothing() -> None:
    """A demo job went 57, 115, 57 as its noise scale was taken for 85, 255 and 60."""
    models, now = models_of(CONTRACT, SPEED, 300.0), Choice(96, 0, 96)
    assert retune(models, ALONE, NOTHING, now) is not None
    assert retune(models, ALONE, NOTHING, now, noise_scale_error=1.5) is None


def test_where_nothing_is_feasible_there_is_no_choice() -> None:
    narrow = replace(CONTRACT, max_batch_size=32, min_batch_per_gpu=16)
    assert retune(models_of(narrow, SPEED, PHI), Placement(4, 1), NOTHING, None) is None
