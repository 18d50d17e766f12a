"""Speedup: the fair share, and tables against it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.model.goodput import JobModels, best
from headway.core.model.speedup import FairShare, fair_gpus, fair_share, speedup_table
from headway.core.types import BatchContract, BatchMode, GpuBounds, JobReport, ThroughputParams

LOCAL, MULTI = np.arange(1, 5), np.arange(2, 33)
BERT = ThroughputParams(
    alpha_grad_s=0.18,
    beta_grad_s=0.058,
    alpha_local_s=0.23,
    beta_local_s=0.043,
    alpha_node_s=1.4,
    beta_node_s=0.0086,
    gamma=1.8,
)


def job(noise_scale: float, initial: int = 12) -> tuple[BatchContract, JobReport]:
    contract = BatchContract(
        initial_batch_size=initial,
        max_batch_size=32 * initial,
        max_batch_per_gpu=12,
        mode=BatchMode.ADAPTIVE,
    )
    report = JobReport(
        throughput=BERT,
        noise_scale=noise_scale,
        progress_examples=0.0,
        batch_per_gpu=12,
        accum_steps=0,
        batch_size=12,
    )
    return contract, report


@pytest.mark.parametrize(
    ("bounds", "cluster_gpus", "jobs", "gpus"),
    [
        (GpuBounds(max_gpus=64), 64, 4, 16),
        (GpuBounds(max_gpus=8), 64, 4, 8),
        (GpuBounds(min_gpus=2, max_gpus=8), 4, 10, 2),
        (GpuBounds(max_gpus=64), 16, 100, 1),
        (GpuBounds(max_gpus=16, sizes=(1, 2, 4, 8, 16)), 64, 9, 4),  # a share of 7
        (GpuBounds(min_gpus=4, max_gpus=8, sizes=(4, 8)), 16, 16, 4),
        (GpuBounds(min_gpus=1, max_gpus=8, sizes=(4, 8)), 16, 16, 4),  # no size below: the least
    ],
)
def test_fair_share(bounds: GpuBounds, cluster_gpus: int, jobs: int, gpus: int) -> None:
    """Pollux, Eqn. 15, with bounds: min(max, max(min, floor(GPUs/J))), then an allowed size."""
    assert fair_gpus(bounds, cluster_gpus, jobs) == gpus


def test_a_fair_share_lies_on_as_few_nodes_as_it_needs() -> None:
    bounds = [GpuBounds(max_gpus=64), GpuBounds(max_gpus=8), GpuBounds(max_gpus=3)]
    fair = fair_share(bounds, np.array([4, 8, 8, 8]))
    assert fair.gpus.tolist() == [9, 8, 3]
    assert fair.several_nodes.tolist() == [True, False, False]


@given(
    noise=st.floats(0, 1e6),
    gpus=st.integers(1, 32),
    spread=st.booleans(),
)
def test_the_speedup_of_the_fair_share_is_one(noise: float, gpus: int, spread: bool) -> None:
    several = gpus > 4 or (spread and gpus > 1)
    fair = FairShare(gpus=np.array([gpus]), several_nodes=np.array([several]))
    table = speedup_table(JobModels.of([job(noise)]), fair, LOCAL, MULTI)
    own = table.several[0, gpus - 2] if several else table.one_node[0, gpus - 1]
    assert own == 1


def test_a_table_is_goodput_over_fair_goodput() -> None:
    models = JobModels.of([job(100.0), job(5000.0)])
    fair = fair_share([GpuBounds(max_gpus=32)] * 2, np.full(4, 4))
    table = speedup_table(models, fair, LOCAL, MULTI)
    local = best(models, LOCAL, False).goodput_per_s
    multi = best(models, MULTI, True).goodput_per_s
    at_fair = multi[:, 6]  # 8 GPUs on two nodes
    assert table.fair_goodput_per_s == pytest.approx(at_fair)
    assert table.one_node == pytest.approx(local / at_fair[:, None])
    assert table.several == pytest.approx(multi / at_fair[:, None])
    assert table.several_best.goodput_per_s == pytest.approx(multi)
    assert table.one_node_best.goodput_per_s == pytest.approx(local)


def test_a_cap_empties_the_table_above_it_but_not_the_fair_share() -> None:
    models = JobModels.of([job(100.0)] * 2)
    fair = fair_share([GpuBounds(max_gpus=32)] * 2, np.full(4, 4))
    whole = speedup_table(models, fair, LOCAL, MULTI)
    capped = speedup_table(models, fair, LOCAL, MULTI, at_most=np.array([2, 64]))
    assert capped.fair_goodput_per_s.tolist() == whole.fair_goodput_per_s.tolist()
    assert capped.one_node[0, 2:].tolist() == [0, 0]
    assert not capped.several[0, 1:].any()
    assert capped.one_node[0, :2].tolist() == whole.one_node[0, :2].tolist()
    assert capped.several[1].tolist() == whole.several[1].tolist()


def test_a_job_that_cannot_use_its_fair_share_is_measured_against_what_it_can_do() -> None:
    """A batch of 4 cannot be split over 8 GPUs; four GPUs are the most it can use."""
    fixed = BatchContract(initial_batch_size=4, max_batch_size=4, max_batch_per_gpu=4)
    _, heard = job(100.0)
    fair = FairShare(gpus=np.array([8]), several_nodes=np.array([True]))
    table = speedup_table(JobModels.of([(fixed, heard)]), fair, LOCAL, MULTI)
    assert max(table.one_node.max(), table.several.max()) == 1
    assert np.all(table.several[0, 3:] == 0)


def test_a_job_that_cannot_run_at_all_has_no_speedup() -> None:
    too_small = BatchContract(
        initial_batch_size=400, max_batch_size=400, max_batch_per_gpu=1, max_accum_steps=0
    )
    fair = FairShare(gpus=np.array([2]), several_nodes=np.array([False]))
    table = speedup_table(JobModels.of([(too_small, None)]), fair, LOCAL, MULTI)
    assert not table.one_node.any()
    assert not table.several.any()
