"""Throughput tables as profiles: exact where they measured, and for one GPU type at a time."""

import json
from pathlib import Path

import numpy as np
import pytest

from headway.core.errors import InvalidInputError
from headway.traces.sniff import read_profiles as read_any
from headway.traces.speedtable import parse_job_type, read_profiles

TABLE = {
    "v100": {
        "('LM (batch size 10)', 1)": {"null": 10.0, "('A3C', 1)": [5.0, 6.0]},
        "('LM (batch size 20)', 1)": {"null": 5.0},
        "('LM (batch size 40)', 1)": {"null": 0.0},
        "('LM (batch size 10)', 2)": {"null": 8.0},
        "('LM (batch size 20)', 2)": {"null": 4.0},
        "('CycleGAN', 1)": {"null": 2.0},
        "('ResNet-50 (batch size 16)', 2)": {"null": 2.0},
    },
    "p100": {"('LM (batch size 10)', 1)": {"null": 4.0}},
    "k80": {"('LM (batch size 10)', 1)": {"null": 0}},
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "speeds.json"
    path.write_text(json.dumps(TABLE))
    return path


def test_a_measured_speed_is_read_exactly_wherever_the_workers_are(file: Path) -> None:
    profile = read_profiles(file)["LM"]
    for shape, step_s in (((1,), 0.1), ((2,), 0.125), ((1, 1), 0.125)):
        assert profile.times_s(shape, np.array([10.0, 20.0]))[1] == pytest.approx(
            [step_s, 2 * step_s]
        )
        assert profile.measured(shape, 10)
    assert profile.times_s((1, 1), np.array([10.0]))[0] == pytest.approx([0.1])  # without talk
    assert not profile.measured((1,), 40)  # 0 stands for not measured
    assert profile.max_gpus == 2


def test_models_that_ran_on_one_gpu_are_there(file: Path) -> None:
    assert sorted(read_profiles(file)) == ["CycleGAN", "LM"]


def test_a_gpu_type_is_chosen_behind_a_colon(file: Path) -> None:
    slow = read_any(Path(f"{file}:p100"))["LM"]
    assert slow.times_s((1,), np.array([10.0]))[1] == pytest.approx([0.25])
    assert sorted(read_any(file)) == ["CycleGAN", "LM"]


@pytest.mark.parametrize(
    ("suffix", "said"),
    [
        (":a100", r"no GPU type 'a100'; write speeds.json:TYPE with one of k80, p100, v100"),
        (":k80", "no speed of a job alone on k80"),
    ],
)
def test_a_type_that_cannot_be_had(file: Path, suffix: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        read_any(Path(f"{file}{suffix}"))


@pytest.mark.parametrize("text", ["[]", "{", '{"v100": 3}', '{"v100": {"x": {"null": "fast"}}}'])
def test_what_is_no_table(tmp_path: Path, text: str) -> None:
    path = tmp_path / "speeds.json"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match="is no throughput table of Gavel's"):
        read_profiles(path)


def test_a_pickle_is_never_read(tmp_path: Path) -> None:
    """The published traces come with pickles, which run whatever is in them."""
    path = tmp_path / "speeds.pickle"
    path.write_bytes(b"\x80\x04\x95cos\nsystem\n")
    with pytest.raises(InvalidInputError, match="is not text"):
        read_profiles(path)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("LM (batch size 10)", ("LM", 10)),
        ("A3C", ("A3C", 4)),
        ("CycleGAN", ("CycleGAN", 1)),
        ("LM", None),
        ("LM (batch size 0)", None),
        ("", None),
    ],
)
def test_job_types(text: str, kind: tuple[str, int] | None) -> None:
    assert parse_job_type(text) == kind


def test_the_published_tables(shared_data: Path) -> None:
    """DATA: v100 ResNet-18 at 128 on 1/2/4/8 GPUs: 11.8/21.8/43.0/80.2 steps/s (tacc)."""
    profile = read_profiles(shared_data / "shockwave" / "tacc_throughputs.json.gz")["ResNet-18"]
    for gpus, per_s in ((1, 11.8), (2, 21.8), (4, 43.0), (8, 80.2)):
        _, step_s = profile.times_s((1,) * gpus, np.array([128.0]))
        assert 1 / step_s[0] == pytest.approx(per_s, abs=0.05)


@pytest.mark.parametrize(
    ("row", "speed"),
    [("('LM (batch size 10)', " + "9" * 5000 + ")", 1.0), ("('LM (batch size 10)', 10000000)", 1.0)]
    + [("('LM (batch size 20)', 1)", speed) for speed in (-1.0, 5e-324, 1e308)],
)
def test_a_row_that_no_job_can_have_was_not_measured(
    tmp_path: Path, row: str, speed: float
) -> None:
    """Past bugs: a traceback, or memory until there was none left, for a number of workers."""
    path = tmp_path / "speeds.json"
    path.write_text(
        json.dumps({"v100": {"('LM (batch size 10)', 1)": {"null": 2.0}, row: {"null": speed}}})
    )
    profile = read_profiles(path)["LM"]
    assert profile.max_gpus == 1
    assert profile.contract.max_batch_size == 10
