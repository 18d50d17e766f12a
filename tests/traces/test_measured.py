"""Measured profiles: exact where measured, linear between, and frank about the rest."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headway.traces.measured import MAX_NOISE_SCALE, Curve, MeasuredProfile, canonical
from headway.traces.pollux import read_profiles


@pytest.fixture
def toy(profile_folder: Path) -> MeasuredProfile:
    return read_profiles(profile_folder)["toy"]


def times(profile: MeasuredProfile, shape: tuple[int, ...], batch: float) -> tuple[float, float]:
    pass_s, step_s = profile.times_s(shape, np.array([batch]))
    return float(pass_s[0]), float(step_s[0])


def test_between_two_batches_times_are_linear(toy: MeasuredProfile) -> None:
    assert times(toy, (1,), 12) == (1.5, 1.5)
    assert times(toy, (1, 1), 24) == (3.5, 5.5)


def test_workers_talk_in_a_ring_so_a_rotation_is_the_same_shape(toy: MeasuredProfile) -> None:
    assert canonical((2, 1)) == (1, 2)
    assert times(toy, (2, 1), 8) == times(toy, (1, 2), 8) == (1.0, 4.0)


def test_a_size_between_is_linear_in_nodes_and_in_gpus_a_node(toy: MeasuredProfile) -> None:
    """Two nodes with 1, 1.5, 2 GPUs each: 3, 4, 5 s; four with 1 and 2: 11 and 21 s."""
    assert times(toy, (1, 1, 1), 8) == (1.0, (3 + 11) / 2)
    assert times(toy, (2, 2, 2), 8) == (1.0, (5 + 21) / 2)
    four_thirds_s = (3 + 2 / 3) / 2 + (11 + 10 / 3) / 2
    assert times(toy, (1, 1, 2), 8) == pytest.approx((1.0, four_thirds_s))


@pytest.mark.parametrize(
    ("shape", "batch", "inside"),
    [
        ((1,), 8, True),
        ((1,), 32, True),
        ((1,), 33, False),
        ((1,), 7, False),
        ((2, 1), 20, True),
        ((1, 1, 1), 16, True),
        ((1, 1, 1), 32, False),  # the larger sizes were measured up to 16
        ((3,), 8, False),  # more GPUs on a node than ever
        ((1,) * 5, 8, False),  # more nodes than ever
        ((4, 4), 8, False),
    ],
)
def test_it_says_what_was_measured(
    toy: MeasuredProfile, shape: tuple[int, ...], batch: int, inside: bool
) -> None:
    assert toy.measured(shape, batch) is inside


def test_beyond_what_was_measured_the_last_line_goes_on(toy: MeasuredProfile) -> None:
    assert times(toy, (1,), 48) == (8.0, 8.0)
    assert times(toy, (3,), 8) == (1.0, 2.0)
    assert times(toy, (1,) * 6, 8) == (1.0, 19.0)


def test_more_gpus_on_a_node_than_were_measured_take_no_less_time(toy: MeasuredProfile) -> None:
    """On nodes of eight the falling line from three to four GPUs ended at steps of no time."""
    batches = np.array([8.0, 16.0])
    falling = {
        (1, gpus): Curve(batches, step_s * np.ones(2), sync_s * np.ones(2))
        for gpus, step_s, sync_s in ((1, 3.0, 0.0), (2, 1.0, 0.5))
    }
    profile = replace(toy, shapes={}, sizes=falling)
    for gpus in (2, 3, 8):
        assert times(profile, (gpus,), 8) == (0.5, 1.0)
    assert not profile.measured((8,), 8)


@pytest.mark.parametrize("app", ["cifar10", "ncf", "bert", "deepspeech2", "yolov3", "imagenet"])
def test_on_wider_nodes_no_published_profile_is_faster(shared_data: Path, app: str) -> None:
    profile = read_profiles(shared_data / "pollux" / "profiles")[app]
    low, high = profile.contract.min_batch_per_gpu, profile.contract.max_batch_per_gpu
    batches = np.geomspace(max(low, 1), high, 9)
    for nodes in (1, 2, 4):
        widest = profile.times_s((4,) * nodes, batches)
        for per_node in (5, 8):
            wider = profile.times_s((per_node,) * nodes, batches)
            assert all((one >= 0.98 * four).all() for one, four in zip(wider, widest, strict=True))


def test_noise_scale_is_that_of_the_run_and_log_linear_between_runs(toy: MeasuredProfile) -> None:
    """M0 * var / sqr: 64 and 256 in the first epoch; a gradient of zero is beyond measure."""
    noise = toy.noise_scales(np.array([16.0, 32.0, 64.0, 128.0]))
    assert noise[0] == pytest.approx([64, 128, 256, 256])
    assert noise[1, 0] == pytest.approx(1600)
    assert noise[1, 2] == pytest.approx(MAX_NOISE_SCALE)


def test_work_and_epochs_are_those_of_the_run_at_the_initial_batch(toy: MeasuredProfile) -> None:
    assert (toy.contract.initial_batch_size, toy.contract.max_batch_size) == (16, 64)
    assert toy.work_examples == 16 * 40
    assert toy.epoch_ends == (0.25, 1.0)


@pytest.mark.parametrize("app", ["bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"])
def test_every_published_row_is_met_exactly(shared_data: Path, app: str) -> None:
    folder = shared_data / "pollux" / "profiles"
    profile = read_profiles(folder)[app]
    checked = 0
    with (folder / app / "placements.csv").open() as lines:
        for row in csv.DictReader(lines):
            shape = tuple(map(int, row["placement"]))
            step_s, sync_s = float(row["step_time"]), float(row["sync_time"])
            for turned in (shape, shape[1:] + shape[:1]):
                got = times(profile, turned, float(row["local_bsz"]))
                assert got == pytest.approx((step_s - sync_s, step_s), rel=1e-12)
            checked += 1
    with (folder / app / "scalability.csv").open() as lines:
        for row in csv.DictReader(lines):
            nodes, gpus = int(row["num_nodes"]), int(row["num_replicas"])
            shape = tuple(gpus // nodes + (node < gpus % nodes) for node in range(nodes))
            got = times(profile, shape, float(row["local_bsz"]))
            step_s = float(row["step_time"])
            assert got == pytest.approx((step_s - float(row["sync_time"]), step_s), rel=1e-12)
            checked += 1
    assert checked > 600
