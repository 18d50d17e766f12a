"""The built-in profiles against the measurements that they stand for."""

from pathlib import Path

import numpy as np
import pytest

from headway.traces.catalogue import CATALOGUE
from headway.traces.pollux import read_profiles


@pytest.mark.parametrize("name", CATALOGUE)
def test_bounds_work_and_speed_are_those_of_the_measured_profile(
    shared_data: Path, name: str
) -> None:
    """The paper claims a mean error of at most 10 % for its throughput model."""
    measured = read_profiles(shared_data / "pollux" / "profiles")[name]
    ours = CATALOGUE[name]
    assert ours.contract == measured.contract
    assert ours.max_gpus == measured.max_gpus
    assert ours.work_examples == pytest.approx(measured.work_examples, rel=1e-4)
    assert ours.epochs == len(measured.epoch_ends)
    off = []
    for shape, curve in measured.shapes.items():
        inside = curve.batches <= ours.contract.max_batch_per_gpu
        step_s = ours.times_s(shape, curve.batches[inside])[1]
        off.append(np.abs(step_s / curve.step_s[inside] - 1))
    error = float(np.concatenate(off).mean())
    assert error < 0.1
    assert error == pytest.approx(ours.fit_error, abs=0.02)


@pytest.mark.parametrize("name", CATALOGUE)
def test_noise_scale_is_the_table_at_its_points(name: str) -> None:
    profile = CATALOGUE[name]
    sizes = [profile.contract.initial_batch_size, profile.contract.max_batch_size]
    noise = profile.noise_scales(np.array(sizes, dtype=np.float64))
    assert noise.shape == (profile.epochs, 2)
    assert noise[0] == pytest.approx([profile.noise_at_initial[0], profile.noise_at_largest[0]])
    half = profile.epochs // 2
    assert noise[half] == pytest.approx([profile.noise_at_initial[5], profile.noise_at_largest[5]])
    assert (noise > 0).all()


def test_what_the_fit_has_not_seen_is_said() -> None:
    assert CATALOGUE["bert"].measured((4, 4), 12)
    assert not CATALOGUE["bert"].measured((4,) * 17, 12)
    assert not CATALOGUE["bert"].measured((4, 4), 13)
