"""Goodput: laws of the best choice, the fixed mode, and what contracts allow."""

from math import ceil, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.model.efficiency import efficiency
from headway.core.model.goodput import JobModels, allowed, best
from headway.core.model.throughput import PARAMETERS, stack, step_time_s
from headway.core.types import BatchContract, BatchMode, JobReport, ThroughputParams

GPUS = np.arange(1, 33)
SEVERAL = GPUS > 4


def report(theta: np.ndarray, noise_scale: float | None) -> JobReport:
    return JobReport(
        throughput=ThroughputParams(**dict(zip(PARAMETERS, theta.tolist(), strict=False))),
        noise_scale=noise_scale,
        progress_examples=0.0,
        batch_per_gpu=1,
        accum_steps=0,
        batch_size=1,
    )


@st.composite
def jobs(draw: st.DrawFn, mode: BatchMode = BatchMode.ADAPTIVE) -> tuple[BatchContract, JobReport]:
    theta = [draw(st.floats(1e-4, 1)) for _ in range(6)] + [draw(st.floats(1, 10))]
    initial = draw(st.integers(1, 300))
    growth = draw(st.integers(1, 64)) if mode is BatchMode.ADAPTIVE else 1
    contract = BatchContract(
        initial_batch_size=initial,
        max_batch_size=initial * growth,
        max_batch_per_gpu=draw(st.integers(1, 400)),
        mode=mode,
    )
    return contract, report(np.array(theta), draw(st.floats(0, 1e6) | st.none() | st.just(inf)))


@given(job=jobs())
def test_the_best_choice_keeps_the_contract_and_is_worth_what_it_says(
    job: tuple[BatchContract, JobReport],
) -> None:
    contract, _ = job
    models = JobModels.of([job])
    found = best(models, GPUS, SEVERAL)
    chosen = found.goodput_per_s > 0
    m, s = found.batch_per_gpu[chosen], found.accum_steps[chosen]
    step_s = step_time_s(models.theta[0], GPUS[chosen[0]], SEVERAL[chosen[0]], m, s)
    size, initial = found.batch_size[chosen], contract.initial_batch_size
    worth = efficiency(models.noise_scale[0], initial, size)
    assert found.goodput_per_s[chosen] == pytest.approx(size / step_s * worth, rel=1e-12)
    assert np.all((contract.initial_batch_size <= size) & (size <= contract.max_batch_size))
    assert np.all(found.batch_per_gpu[chosen] <= contract.max_batch_per_gpu)
    assert np.all((found.batch_per_gpu * (found.accum_steps + 1) * GPUS)[chosen] == size)
    assert np.all(found.batch_size[~chosen] == 0)


@given(job=jobs(), noise=st.floats(0, 1e6), more=st.floats(1, 100))
def test_more_noise_never_lowers_goodput_or_the_batch(
    job: tuple[BatchContract, JobReport], noise: float, more: float
) -> None:
    contract, heard = job
    theta = heard.throughput
    quiet, noisy = (
        best(JobModels.of([(contract, report(stack([theta])[0, :7], phi))]), GPUS, SEVERAL)
        for phi in (noise, noise * more)
    )
    assert np.all(noisy.goodput_per_s >= quiet.goodput_per_s * (1 - 1e-9))
    assert np.all(noisy.batch_size >= quiet.batch_size)


def test_without_a_noise_scale_the_batch_stays_as_small_as_it_may() -> None:
    contract = BatchContract(
        initial_batch_size=64,
        max_batch_size=4096,
        max_batch_per_gpu=64,
        mode=BatchMode.ADAPTIVE,
    )
    heard = report(np.array([0.1, 0.001, 0.1, 0.0, 0.1, 0.0, 1.0]), None)
    found = best(JobModels.of([(contract, heard)]), [1, 2, 4, 64], [False, False, False, True])
    assert found.batch_size.tolist() == [[64, 64, 64, 64]]


def test_a_job_that_never_reported_scales_perfectly_at_its_initial_batch() -> None:
    contract = BatchContract(
        initial_batch_size=100,
        max_batch_size=6400,
        max_batch_per_gpu=100,
        mode=BatchMode.ADAPTIVE,
    )
    found = best(JobModels.of([(contract, None)]), GPUS, SEVERAL)
    assert found.goodput_per_s[0] == pytest.approx(GPUS * found.goodput_per_s[0, 0], rel=1e-6)
    assert np.all(found.batch_size[0] < 100 + GPUS)


def test_placements_that_no_legal_batch_fits_have_no_goodput() -> None:
    contract = BatchContract(
        initial_batch_size=32,
        max_batch_size=64,
        min_batch_per_gpu=16,
        max_batch_per_gpu=32,
        mode=BatchMode.ADAPTIVE,
    )
    heard = report(np.array([0.1, 0.001, 0.1, 0.0, 0.1, 0.0, 1.0]), 1e4)
    found = best(JobModels.of([(contract, heard)]), [0, 1, 4, 5], False)
    assert (found.goodput_per_s[0] > 0).tolist() == [False, True, True, False]


def test_only_wanted_pairs_are_computed() -> None:
    contract = BatchContract(initial_batch_size=8, max_batch_size=8, max_batch_per_gpu=8)
    models = JobModels.of([(contract, None)] * 2)
    wanted = np.array([[True, False], [False, True]])
    found = best(models, [1, 2], False, wanted=wanted)
    assert (found.goodput_per_s > 0).tolist() == wanted.tolist()


@given(job=jobs(BatchMode.FIXED))
def test_a_fixed_batch_is_split_in_the_fewest_passes_that_fit(
    job: tuple[BatchContract, JobReport],
) -> None:
    contract, _ = job
    found = best(JobModels.of([job]), GPUS, SEVERAL)
    initial, fits = contract.initial_batch_size, contract.max_batch_per_gpu
    for column, gpus in enumerate(GPUS.tolist()):
        splits = [(ceil(initial / (gpus * n)), n) for n in range(1, 17)]
        fitting = [(m, n) for m, n in splits if m <= fits]
        if gpus > initial or not fitting:
            assert found.goodput_per_s[0, column] == 0
            continue
        m, n = fitting[0]
        assert found.batch_per_gpu[0, column] == m
        assert found.accum_steps[0, column] == n - 1
        assert found.batch_size[0, column] == initial
        assert found.goodput_per_s[0, column] > 0


def test_goodput_of_a_fixed_batch_by_hand() -> None:
    """10 examples on 4 GPUs: the longest pass has 3 and sets the pace; efficiency is 1."""
    contract = BatchContract(initial_batch_size=10, max_batch_size=10, max_batch_per_gpu=8)
    heard = report(np.array([0.1, 0.01, 0.05, 0.01, 1.0, 0.0, 1.0]), 3.0)
    found = best(JobModels.of([(contract, heard)]), [4], [False])
    assert found.goodput_per_s[0, 0] == pytest.approx(10 / (0.13 + 0.07))


def test_what_the_contract_forbids_is_not_allowed() -> None:
    contract = BatchContract(
        initial_batch_size=32,
        max_batch_size=128,
        min_batch_per_gpu=4,
        max_batch_per_gpu=64,
        max_accum_steps=2,
        mode=BatchMode.ADAPTIVE,
    )
    heard = report(np.array([0.1, 0.01, 0.05, 0.01, 1.0, 0.0, 1.0]), 100.0)
    models = JobModels.of([(contract, heard)])
    m = np.array([32, 8, 65, 64, 12, 3])
    s = np.array([0, 0, 0, 1, 3, 2])
    legal = allowed(models, np.array([2, 2, 1, 2, 1, 4]), m, s + 1)
    assert legal[0].tolist() == [True, False, False, False, False, False]


def test_each_job_may_have_placements_of_its_own() -> None:
    contract = BatchContract(initial_batch_size=64, max_batch_size=64, max_batch_per_gpu=64)
    heard = report(np.array([0.1, 0.01, 0.05, 0.01, 1.0, 0.0, 1.0]), 100.0)
    models = JobModels.of([(contract, heard)] * 3)
    outer = best(models, [1, 2, 4], False).goodput_per_s
    own = best(models, np.array([[1], [2], [4]]), False).goodput_per_s
    assert own[:, 0].tolist() == np.diagonal(outer).tolist()
