"""T_grad by type of GPU: fitted, or from another type and a ratio."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.model.goodput import JobModels, best
from headway.core.types import BatchContract, BatchMode, GradTime
from headway.testing.snapshots import report

T4 = GradTime(gpu_type="t4", alpha_grad_s=0.4, beta_grad_s=0.04)
V100 = GradTime(gpu_type="v100", alpha_grad_s=0.1, beta_grad_s=0.01)
SPEED = {"t4": 1.0, "v100": 3.0, "a100": 6.0}
BATCH = BatchContract(
    initial_batch_size=8, max_batch_size=64, max_batch_per_gpu=64, mode=BatchMode.ADAPTIVE
)


def grad(known: tuple[GradTime, ...], gpu_type: str | None) -> tuple[float, float]:
    heard = replace(report(), grad_by_type=known)
    models = JobModels.of([(BATCH, heard)], gpu_type, speed=SPEED)
    return models.theta[0, 0], models.theta[0, 1]


def test_a_pair_that_was_fitted_on_the_type_stands() -> None:
    assert grad((T4, V100), "t4") == (0.4, 0.04)
    assert grad((T4, V100), "v100") == (0.1, 0.01)  # not a third of the t4's


def test_an_untried_type_is_the_nearest_known_one_times_the_ratio_of_speeds() -> None:
    assert grad((T4,), "v100") == pytest.approx((0.4 / 3, 0.04 / 3))
    assert grad((T4, V100), "a100") == pytest.approx((0.05, 0.005))
    assert grad((T4,), "unheard of") == (0.4, 0.04)


def test_who_told_no_types_is_taken_as_reported() -> None:
    said = report().throughput
    for gpu_type in (None, "v100"):
        assert grad((), gpu_type) == (said.alpha_grad_s, said.beta_grad_s)
    assert grad((T4,), None) == (said.alpha_grad_s, said.beta_grad_s)


def test_a_job_that_never_reported_prefers_the_faster_type() -> None:
    slow, fast = (
        best(JobModels.of([(BATCH, None)], name, speed=SPEED), [1, 2], False).goodput_per_s
        for name in ("t4", "v100")
    )
    assert fast == pytest.approx(3 * slow)


def test_synchronisation_does_not_depend_on_the_type() -> None:
    heard = replace(report(), grad_by_type=(T4, V100))
    both = [JobModels.of([(BATCH, heard)], name).theta for name in ("t4", "v100")]
    assert np.array_equal(both[0][:, 2:], both[1][:, 2:])
