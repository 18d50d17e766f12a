"""The truth of a job: exact progress, whatever pieces time is cut into."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.ids import NodeId
from headway.core.model.split import Choice
from headway.core.types import Allocation, Placement
from headway.sim.hardware import Site
from headway.sim.truth import JobTruth, Speeds
from headway.traces.base import workload


def held(kit: Any, gpus: int, *, restart_s: float = 0.0, **profile: Any) -> JobTruth:
    job = JobTruth(kit.job("a"), kit.toy(**profile), Speeds())
    held = Allocation.of({NodeId("n"): gpus})
    job.hold(held, 1, site=Site((gpus,)), told=Placement(gpus, 1), now_s=0.0, restart_s=restart_s)
    job.tune(Choice(32, 0, 32 * gpus))
    return job


def test_a_job_alone_takes_work_over_speed(kit: Any) -> None:
    """12,000 examples at 100 a second, the batch as it was tuned for."""
    assert held(kit, 1).advance(1e6) == pytest.approx(120.0)


def test_nothing_is_done_during_a_restart(kit: Any) -> None:
    job = held(kit, 1, restart_s=30.0)
    assert job.advance(30.0) is None
    assert (job.progress, job.samples) == (0.0, 0.0)
    assert job.advance(1e6) == pytest.approx(150.0)


@given(cuts=st.lists(st.floats(0, 200), max_size=20))
def test_progress_does_not_depend_on_how_time_is_cut(kit: Any, cuts: list[float]) -> None:
    """Four epochs with a noise scale that changes."""
    whole, cut = (held(kit, 2, noise=10.0, last_noise=1000.0) for _ in range(2))
    finished_s = whole.advance(1e6)
    for at_s in sorted(cuts):
        if (found_s := cut.advance(at_s)) is not None:
            assert found_s == pytest.approx(finished_s)
            return
    assert cut.advance(1e6) == pytest.approx(finished_s)
    assert cut.progress == whole.progress == 12_000
    assert cut.samples == pytest.approx(whole.samples)


def test_a_larger_batch_reads_more_for_the_same_progress(kit: Any) -> None:
    """phi = 32 = M0 at M = 64: efficiency (32 + 32) / (32 + 64) = 2/3 (Pollux, Eqn. 6)."""
    job = held(kit, 2, noise=32.0)
    assert job.advance(1e6) == pytest.approx(12_000 / (200 * 2 / 3))
    assert job.samples == pytest.approx(18_000)


@given(gpus=st.integers(1, 8), noise=st.floats(1, 1e4), last_noise=st.floats(1, 1e4))
def test_at_the_requested_batch_size_a_job_reads_what_its_workload_declared(
    kit: Any, gpus: int, noise: float, last_noise: float
) -> None:
    profile = kit.toy(noise=noise, last_noise=last_noise)
    spec = replace(kit.job("a"), requested_batch_size=32 * gpus)
    declared = workload("one", [(spec, "toy")], {"toy": profile}).jobs[0]
    job = held(kit, gpus, noise=noise, last_noise=last_noise)
    assert job.advance(1e9) is not None
    assert declared.work_samples == pytest.approx(job.samples)


def test_each_epoch_has_its_own_efficiency(kit: Any) -> None:
    """phi 32 in the first half and 96 in the second: efficiency 2/3, then 4/5."""
    job = held(kit, 2, noise=32.0, last_noise=288.0, epochs=2)
    assert job.advance(1e6) == pytest.approx(6_000 / (200 * 2 / 3) + 6_000 / (200 * 4 / 5))


def test_the_end_of_an_epoch_is_foretold(kit: Any) -> None:
    job = held(kit, 1, restart_s=30.0)
    assert job.epoch_ends_s() == pytest.approx(60.0)
    job.advance(70.0)
    assert job.epoch == 1
    assert job.epoch_ends_s() == pytest.approx(90.0)


def test_queries_beyond_what_was_measured_are_remembered(kit: Any) -> None:
    speeds = Speeds()
    profile = kit.toy()
    for shape in [(4,), (4,) * 5, (4,) * 5]:
        speeds.of(profile, 32, Site(shape), Choice(32, 0, 32 * sum(shape)))
    assert speeds.outside == {("toy", (4,) * 5, 32)}


def test_two_profiles_of_one_name_keep_their_own_speeds(kit: Any) -> None:
    speeds, site, at = Speeds(), Site((1,)), Choice(32, 0, 32)
    found = [speeds.of(kit.toy(noise=noise), 16, site, at).noise_scales[0] for noise in (7.0, 9.0)]
    assert found == pytest.approx([7.0, 9.0])


def test_noise_is_that_of_the_epoch(kit: Any) -> None:
    job = held(kit, 1, noise=7.0)
    assert job.speed is not None
    assert job.speed.noise_scales == pytest.approx(np.full(4, 7.0))
