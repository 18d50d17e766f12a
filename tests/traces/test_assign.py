"""Models by GPU time: the classes, what is dropped, and how much work a job has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInputError
from headway.traces.assign import alone_s, assigned, elastic_job
from headway.traces.base import widest
from headway.traces.catalogue import CATALOGUE
from headway.traces.recorded import HOUR_S, Recorded, Recording


def job(name: str, hours: float, gpus: int = 1) -> Recorded:
    return Recorded(name=name, submitted_s=0.0, duration_s=hours * HOUR_S, gpus=gpus)


def recording(*jobs: Recorded) -> Recording:
    return Recording(name="some", jobs=jobs)


@pytest.mark.parametrize(
    ("hours", "gpus", "models"),
    [
        (0.99, 1, {"cifar10", "ncf"}),
        (0.2, 2, {"cifar10"}),  # ncf is held on one GPU
        (1.0, 1, {"deepspeech2", "bert"}),
        (1.2, 8, {"deepspeech2", "bert"}),
        (10.0, 1, {"yolov3"}),
        (2.0, 50, {"imagenet"}),
        (999.0, 1, {"imagenet"}),
    ],
)
def test_the_class_is_that_of_the_gpu_time(hours: float, gpus: int, models: set[str]) -> None:
    """Pollux (OSDI'21), section 5.1: 0-1, 1-10, 10-100 and 100-1000 GPU-hours."""
    many = recording(*(job(f"j{index}", hours, gpus) for index in range(40)))
    found = assigned(many, CATALOGUE, seed=1)
    assert set(found.profile_names.values()) == models


def test_what_is_dropped_is_said() -> None:
    found = assigned(
        recording(job("short", 0.016), job("long", 1000.0), job("wide", 0.1, 65), job("kept", 0.5)),
        CATALOGUE,
        seed=0,
    )
    assert [each.name for each in found.jobs] == ["kept"]
    *dropped, given_models = found.notes
    assert dropped == [
        "1 job dropped: 1000 GPU-hours or more",
        "1 job dropped: more GPUs than a model of its class may hold",
        "1 job dropped: shorter than 60 s",
    ]
    assert given_models.startswith("models by GPU time, drawn with seed 0: 1 ")
    with pytest.raises(InvalidInputError, match="no job is left, 1 job dropped: shorter"):
        assigned(recording(job("short", 0.001)), CATALOGUE, seed=0)


def test_profiles_that_lack_a_model() -> None:
    with pytest.raises(InvalidInputError, match=r"bert, cifar10, .* has no profile"):
        assigned(recording(job("a", 1.0)), {"toy": CATALOGUE["ncf"]}, seed=0)


def test_the_same_seed_draws_the_same_and_a_job_dropped_moves_no_other() -> None:
    jobs = [job(f"j{index}", 0.5) for index in range(30)]
    whole = assigned(recording(*jobs), CATALOGUE, seed=3)
    assert assigned(recording(*jobs), CATALOGUE, seed=3) == whole
    assert assigned(recording(*jobs), CATALOGUE, seed=4).profile_names != whole.profile_names
    gone = assigned(recording(job("gone", 0.001), *jobs[1:]), CATALOGUE, seed=3)
    assert gone.profile_names.items() <= whole.profile_names.items()


@given(
    model=st.sampled_from(sorted(CATALOGUE)),
    gpus=st.integers(1, 64),
    duration_s=st.floats(60.0, 1e6),
)
def test_alone_as_recorded_it_takes_as_long_as_recorded(
    model: str, gpus: int, duration_s: float
) -> None:
    """Work is what the profile does on the requested GPUs in the recorded time."""
    profile = CATALOGUE[model]
    gpus = min(gpus, widest(profile))
    made = elastic_job(
        Recorded(name="a", submitted_s=0.0, duration_s=duration_s, gpus=gpus), profile
    )
    assert alone_s(made, profile) == pytest.approx(duration_s, rel=1e-9)
    assert made.gpus.elastic is (widest(profile) > 1)
    batch = made.batch
    assert batch.initial_batch_size <= made.requested_batch_size <= batch.max_batch_size
