"""The built-in mix: the paper's numbers, the published workloads, and every bad option."""

import csv
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInputError
from headway.sim.generate import CLASSES, RATES, TUNED, Mix, generate, is_generator, parse
from headway.traces.base import Workload
from headway.traces.catalogue import CATALOGUE

MANY = "pollux-mix:jobs=20000"


def models(workload: Workload) -> Counter[str]:
    return Counter(workload.profile_names.values())


@pytest.fixture(scope="module")
def many() -> Workload:
    return generate(MANY, CATALOGUE, seed=1)


def test_the_default_is_the_paper_s_160_jobs_in_8_hours() -> None:
    workload = generate("pollux-mix", CATALOGUE, seed=0)
    times_s = [job.submitted_s for job in workload.jobs]
    assert len(workload.jobs) == len({job.job_id for job in workload.jobs}) == 160
    assert times_s == sorted(times_s)
    assert 0 <= times_s[0] < times_s[-1] < 8 * 3600
    assert workload.name == "pollux-mix"


@pytest.mark.parametrize(
    ("names", "share"),
    [
        ({"cifar10", "ncf"}, 0.72),
        ({"deepspeech2", "bert"}, 0.20),
        ({"yolov3"}, 0.06),
        ({"imagenet"}, 0.02),
    ],
)
def test_classes_have_the_shares_of_the_paper(
    many: Workload, names: set[str], share: float
) -> None:
    """Pollux (OSDI'21), table 1. Four standard errors of a share of 20,000."""
    found = sum(models(many)[name] for name in names) / len(many.jobs)
    assert found == pytest.approx(share, abs=4 * (share * (1 - share) / 20_000) ** 0.5)
    for name in names:
        assert models(many)[name] == pytest.approx(found * 20_000 / len(names), rel=0.15)


def test_the_fourth_hour_has_three_times_the_arrivals_of_the_first(many: Workload) -> None:
    """Pollux (OSDI'21), section 5.1."""
    hours = Counter(int(job.submitted_s // 3600) for job in many.jobs)
    assert hours[3] / hours[0] == pytest.approx(3, rel=0.1)
    assert max(hours, key=lambda hour: hours[hour]) == 3
    shares = np.array([hours[hour] for hour in range(8)]) / len(many.jobs)
    assert shares == pytest.approx(np.array(RATES) / sum(RATES), abs=0.01)


def test_every_tuned_choice_is_drawn_and_no_other(many: Workload) -> None:
    drawn = {
        (many.profile_names[job.job_id], job.requested_gpus, job.requested_batch_size)
        for job in many.jobs
    }
    assert drawn == {(name, *choice) for name, choices in TUNED.items() for choice in choices}


def test_tuned_choices_are_those_of_the_published_workloads(shared_data: Path) -> None:
    published = set()
    for path in (shared_data / "pollux" / "workloads").glob("*.csv"):
        for row in csv.DictReader(path.read_text().splitlines()):
            size = int(row["num_replicas"]), int(row["batch_size"])
            published.add((row["application"], *size))
    assert published == {(name, *choice) for name, choices in TUNED.items() for choice in choices}


def test_every_job_fits_its_profile() -> None:
    workload = generate("pollux-mix", CATALOGUE, seed=3)
    for job in workload.jobs:
        profile = workload.profile_of(job.job_id)
        assert job.requested_gpus in job.gpus.allowed(profile.max_gpus)
        assert profile.contract.initial_batch_size <= job.requested_batch_size
        assert job.requested_batch_size <= profile.contract.max_batch_size
        assert job.work_examples == profile.work_examples
        assert job.batch.adapts


@given(st.integers(0, 2**64))
def test_a_seed_is_a_workload(seed: int) -> None:
    first = generate("pollux-mix:jobs=20", CATALOGUE, seed=seed)
    assert first == generate("pollux-mix:jobs=20", CATALOGUE, seed=seed)
    assert first.jobs != generate("pollux-mix:jobs=20", CATALOGUE, seed=seed + 1).jobs


@pytest.mark.parametrize(
    ("text", "mix"),
    [
        ("pollux-mix", Mix(jobs=160, hours=8)),
        ("pollux-mix:jobs=320", Mix(jobs=320, hours=8)),
        ("pollux-mix:load=2,hours=8", Mix(jobs=320, hours=8)),
        ("pollux-mix:load=0.5", Mix(jobs=80, hours=8)),
        ("pollux-mix:hours=2", Mix(jobs=40, hours=2)),
        ("pollux-mix:hours=0.5,jobs=7", Mix(jobs=7, hours=0.5)),
    ],
)
def test_options(text: str, mix: Mix) -> None:
    assert parse(text) == mix
    workload = generate(text, CATALOGUE, seed=0)
    assert len(workload.jobs) == mix.jobs
    assert workload.jobs[-1].submitted_s < mix.hours * 3600


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pollux-mix:size=3", "no option 'size'; it has jobs, hours, load"),
        ("pollux-mix:jobs", "jobs needs a value"),
        ("pollux-mix:jobs=many", "jobs must be a number above 0, not 'many'"),
        ("pollux-mix:jobs=", "jobs must be a number above 0, not ''"),
        ("pollux-mix:jobs=0", "jobs must be a number above 0, not '0'"),
        ("pollux-mix:jobs=2.5", "jobs must make a whole number of jobs from 1"),
        ("pollux-mix:jobs=2000000", "jobs must make a whole number of jobs from 1"),
        ("pollux-mix:hours=-1", "hours must be a number above 0, not '-1'"),
        ("pollux-mix:hours=nan", "hours must be a number above 0, not 'nan'"),
        ("pollux-mix:load=inf", "load must be a number above 0, not 'inf'"),
        ("pollux-mix:load=0.001", "hours x load must make a whole number of jobs from 1"),
        ("pollux-mix:load=1,load=2", "load is given twice"),
        ("pollux-mix:load=2,jobs=3", "jobs and load both set the number of jobs"),
        ("pollux-mix:,", "no option ''"),
        ("polux-mix", "no generator is called 'polux-mix'; there is pollux-mix"),
    ],
)
def test_a_bad_option_is_named_with_its_fix(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as error:
        generate(text, CATALOGUE, seed=0)
    assert "\n" not in str(error.value)


def test_profiles_that_are_missing_are_named() -> None:
    some = {name: CATALOGUE[name] for name in ("cifar10", "ncf")}
    with pytest.raises(InvalidInputError, match="bert, deepspeech2, imagenet, yolov3"):
        generate("pollux-mix", some, seed=0)


def test_wishes_are_cut_to_what_a_profile_can_say() -> None:
    small = {name: replace(profile, max_gpus=4) for name, profile in CATALOGUE.items()}
    assert max(job.requested_gpus for job in generate("pollux-mix", small, seed=0).jobs) == 4


def test_names_of_generators_are_told_from_files() -> None:
    assert is_generator("pollux-mix")
    assert is_generator("pollux-mix:jobs=3")
    assert not is_generator("pollux-mix.csv")
    assert sum(share for share, _ in CLASSES) == pytest.approx(1)
