"""The objective of the fit: exact gradients, and priors that hold by construction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from headway.core.model.objective import prepare
from headway.core.model.observations import Observations
from headway.core.model.parameters import parametrise
from headway.core.model.throughput import PARAMETERS, grad_time_s, stack, step_time_s
from headway.core.types import ThroughputParams

TRUE = np.array([0.018, 0.0007, 0.030, 0.005, 0.128, 0.003, 2.2])
PARAMS = ThroughputParams(**dict(zip(PARAMETERS, TRUE.tolist(), strict=False)))


def observed(
    gpus: list[int], nodes: list[int], batch: list[int], accum: list[int] | None = None
) -> Observations:
    k, n, m = np.array(gpus), np.array(nodes), np.array(batch, dtype=np.float64)
    s = np.zeros(m.size) if accum is None else np.array(accum, dtype=np.float64)
    return Observations(
        gpus=k,
        nodes=n,
        batch_per_gpu=m,
        accum_steps=s,
        grad_s=grad_time_s(TRUE, m),
        step_s=step_time_s(TRUE, k, n > 1, m, s),
        weight=np.linspace(1, 2, m.size),
    )


MANY = observed(
    gpus=[1, 1, 2, 2, 4, 3, 8, 16, 8],
    nodes=[1, 1, 1, 2, 1, 1, 2, 4, 4],
    batch=[32, 64, 100, 128, 32, 512, 64, 32, 256],
    accum=[0, 3, 0, 1, 2, 0, 0, 4, 0],
)


@given(
    x=st.lists(st.floats(0.05, 5), min_size=6, max_size=6),
    gamma=st.floats(1.01, 9.9),
    loss=st.sampled_from(["rmsle", "relative"]),
)
def test_gradients_equal_finite_differences(x: list[float], gamma: float, loss: str) -> None:
    objective = prepare(MANY, parametrise(MANY))

    def value(point: np.ndarray) -> tuple[float, np.ndarray]:
        if loss == "rmsle":
            return objective.rmsle(point)
        return objective.relative(point, smooth=0.01, grad_share=0.3)

    point = np.array([*x, gamma])
    _, slope = value(point)
    numeric = approx_fprime(point, lambda at: value(at)[0], 1e-7)
    assert slope == pytest.approx(numeric, rel=1e-3, abs=1e-4)


def test_gradients_hold_for_a_job_that_never_synchronised() -> None:
    alone = observed(gpus=[1, 1, 1], nodes=[1, 1, 1], batch=[32, 64, 100], accum=[0, 1, 2])
    objective = prepare(alone, parametrise(alone))
    point = np.array([0.7, 1.3])
    numeric = approx_fprime(point, lambda at: objective.rmsle(at)[0], 1e-7)
    assert objective.rmsle(point)[1] == pytest.approx(numeric, rel=1e-3, abs=1e-4)


def test_the_truth_has_next_to_no_loss() -> None:
    by = parametrise(MANY)
    objective = prepare(MANY, by)
    x = by.x(PARAMS, ())
    assert stack([by.params(x)[0]])[0, :7] == pytest.approx(TRUE)
    assert objective.relative(x, smooth=1e-9, grad_share=1.0)[0] < 1e-8
    assert objective.rmsle(x)[0] < 1e-3


def test_no_power_overflows_however_far_apart_the_times_are() -> None:
    objective = prepare(MANY, parametrise(MANY))
    for sync in (0.0, 1e-30, 1e30):
        value, slope = objective.rmsle(np.array([1, 1, sync, sync, sync, sync, 10.0]))
        assert np.isfinite(value)
        assert np.isfinite(slope).all()
