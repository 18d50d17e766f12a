"""Laws of step time and throughput, and the array form of the parameters."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.model.throughput import (
    PARAMETERS,
    grad_time_s,
    narrow,
    overlapped_s,
    stack,
    step_time_s,
    sync_time_s,
    throughput_per_s,
    unstack,
)
from headway.core.types import ThroughputKind, ThroughputParams

seconds = st.floats(0, 1e4, allow_subnormal=False)
gammas = st.floats(1, 10)
CIFAR10 = ThroughputParams(
    alpha_grad_s=0.018,
    beta_grad_s=0.0007,
    alpha_local_s=0.030,
    beta_local_s=0.005,
    alpha_node_s=0.128,
    beta_node_s=0.003,
    gamma=2.0,
)
LOCAL, SEVERAL = np.bool_(False), np.bool_(True)


@st.composite
def thetas(draw: st.DrawFn) -> np.ndarray:
    return np.array([*(draw(st.floats(1e-6, 10)) for _ in range(6)), draw(gammas)])


def test_columns_are_the_fields_in_order_and_come_back() -> None:
    numbers = dict(zip(PARAMETERS, range(1, 12), strict=True))
    params = (CIFAR10, ThroughputParams(**numbers, kind=ThroughputKind.COLLECTIVE))
    theta = stack(params)
    assert theta.shape == (2, 12)
    assert theta[1].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 2]
    assert unstack(theta) == params
    assert stack([]).shape == (0, 12)


def test_only_linear_rows_lose_the_columns_that_they_do_not_use() -> None:
    linear = stack([CIFAR10] * 2)
    assert narrow(linear).shape == (2, 7)
    assert np.array_equal(sync_time_s(narrow(linear), 8, SEVERAL), sync_time_s(linear, 8, SEVERAL))
    mixed = stack([CIFAR10, replace(CIFAR10, kind=ThroughputKind.COLLECTIVE)])
    assert narrow(mixed) is mixed


@pytest.mark.parametrize(("gamma", "both_s"), [(1.0, 7.0), (2.0, 5.0), (10.0, 4.0)])
def test_gamma_one_adds_and_gamma_ten_all_but_takes_the_longer(gamma: float, both_s: float) -> None:
    """Pollux (OSDI'21), after Eqn. 11: 1 is no overlap, infinity is perfect overlap."""
    assert overlapped_s(4.0, 3.0, gamma) == pytest.approx(both_s, rel=0.01)


@given(grad_s=seconds, sync_s=seconds, gamma=gammas)
def test_overlap_lies_between_the_longer_and_the_sum(
    grad_s: float, sync_s: float, gamma: float
) -> None:
    both_s = float(overlapped_s(grad_s, sync_s, gamma))
    assert max(grad_s, sync_s) * (1 - 1e-12) <= both_s <= (grad_s + sync_s) * (1 + 1e-12)
    assert both_s == float(overlapped_s(sync_s, grad_s, gamma))


@pytest.mark.parametrize("scale_s", [1e-300, 1e-30, 1e40, 1e300])
def test_no_power_overflows_or_vanishes(scale_s: float) -> None:
    """(1e40 s)^10 is no number, and (1e-40 s)^10 is none either; the norm of both is."""
    both_s = overlapped_s(scale_s, 2 * scale_s, 10.0)
    assert both_s == pytest.approx(scale_s * (1 + 2.0**10) ** 0.1, rel=1e-12)
    assert overlapped_s(scale_s, 0.0, 10.0) == scale_s
    assert overlapped_s(0.0, 0.0, 1.0) == 0


def test_synchronisation_by_hand() -> None:
    """Pollux, Eqn. 9: none on one GPU; alpha for two; beta for each further one."""
    theta = stack([CIFAR10])
    took_s = sync_time_s(theta, np.array([1, 2, 5, 2, 5]), np.array([False] * 3 + [True] * 2))
    assert took_s == pytest.approx([0, 0.030, 0.030 + 3 * 0.005, 0.128, 0.128 + 3 * 0.003])


def test_a_step_by_hand() -> None:
    """Pollux, Eqn. 8 and 11, with three passes of 100 examples on two GPUs of one node."""
    theta = stack([CIFAR10])[0]
    grad_s = 0.018 + 0.07
    step_s = 2 * grad_s + (grad_s**2 + 0.030**2) ** 0.5
    assert grad_time_s(theta, 100) == pytest.approx(grad_s)
    assert step_time_s(theta, 2, LOCAL, 100, 2) == pytest.approx(step_s)
    assert throughput_per_s(theta, 2, LOCAL, 100, 2) == pytest.approx(600 / step_s)


@given(theta=thetas(), gpus=st.integers(1, 512), batch=st.integers(1, 10_000))
def test_step_time_grows_with_the_batch_and_with_passes(
    theta: np.ndarray, gpus: int, batch: int
) -> None:
    m, s = np.meshgrid([batch, batch + 1, 2 * batch + 1], [0, 1, 15])
    for several in (LOCAL, SEVERAL):
        step_s = step_time_s(theta, gpus, several, m, s)
        assert np.all(np.diff(step_s, axis=0) > 0)
        assert np.all(np.diff(step_s, axis=1) >= 0)  # a pass may hide behind synchronisation
        assert np.all(np.diff(step_s[1:], axis=1) > 0)  # but not one that is accumulated


@given(theta=thetas(), batch=st.integers(1, 10_000))
def test_throughput_of_more_gpus_never_exceeds_perfect_scaling(
    theta: np.ndarray, batch: int
) -> None:
    gpus = np.arange(1, 65)
    rate = throughput_per_s(theta, gpus, gpus > 4, batch, 0)
    assert np.all(rate <= rate[0] * gpus * (1 + 1e-12))


def test_jobs_and_placements_broadcast() -> None:
    theta = stack([CIFAR10, CIFAR10])[:, None, :]
    assert step_time_s(theta, np.arange(1, 6), np.arange(1, 6) > 4, 32, 0).shape == (2, 5)
