"""``headway compare``: the contract that scripts rely on, and one clear line for every mistake."""

import json
import sys
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from headway.cli.main import main
from headway.core.metrics import Summary

MIX = "pollux-mix:jobs=12"
TWO = ("--policy", "las", "--policy", "fifo")
HEADER = "name,submitted_s,profile,requested_gpus,requested_batch_size"
FIGURES = {field.name for field in fields(Summary)}
MEASURED = {"cpu_s", "wall_s", "decide_s_mean", "decide_s_max"}  # differ from run to run


class Headway:
    """The command line: exit code, stdout and stderr."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "argv", ["headway", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        return (code, *self._capsys.readouterr())

    def json(self, *arguments: object) -> dict[str, Any]:
        """What it answers with --json."""
        code, out, err = self(*arguments, "--json")
        assert code == 0, err
        answer: dict[str, Any] = json.loads(out)
        return answer


@pytest.fixture
def headway(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Headway:
    return Headway(monkeypatch, capsys)


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "two.csv"
    path.write_text(f"{HEADER}\na,0,ncf,1,32768\nb,70,ncf,1,32768\n")
    return path


def test_json_has_every_run_and_their_mean_and_standard_error(headway: Headway) -> None:
    answer = headway.json("compare", MIX, *TWO, "--seed", 4, "--seed", 2)
    assert set(answer) == {"workload", "cluster", "seeds", "results"}
    assert (answer["workload"], answer["cluster"], answer["seeds"]) == (MIX, "16x4", [4, 2])
    assert [result["policy"] for result in answer["results"]] == ["las", "fifo"]
    for result in answer["results"]:
        assert set(result) == {"policy", "runs", "mean", "standard_error"}
        assert set(result["mean"]) == set(result["standard_error"]) == FIGURES
        assert [run["seed"] for run in result["runs"]] == [4, 2]
        for name in ("avg_jct_s", "mean_rho_own", "gpu_hours", "restarts"):
            values = [run[name] for run in result["runs"]]
            assert result["mean"][name] == pytest.approx(mean(values))
            assert result["standard_error"][name] == pytest.approx(stdev(values) / 2**0.5)
        assert result["runs"][0]["avg_jct_s"] != result["runs"][1]["avg_jct_s"]
    assert answer["results"][1]["mean"]["gap_max"] is None


def test_each_run_is_the_one_that_simulate_makes(headway: Headway) -> None:
    options = (MIX, *TWO, "--cluster", "4x4", "--set", "sim.noise=0.1")
    alone = headway.json("simulate", *options, "--seed", 1)["results"]
    compared = headway.json("compare", *options, "--seeds", 2)["results"]
    for one, result in zip(alone, compared, strict=True):
        run = result["runs"][1]
        assert run.pop("seed") == 1
        assert {k: v for k, v in run.items() if k not in MEASURED} == {
            k: v for k, v in one.items() if k not in MEASURED
        }


def test_people_get_a_table_with_error_bars_and_its_reading(headway: Headway) -> None:
    code, out, _ = headway("compare", MIX, *TWO, "--cluster", "4x4")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split() == ["policy", "las", "fifo"]
    average = next(line for line in lines if line.startswith("avg JCT s"))
    assert average.count("±") == 2
    assert average.count("*") == 1
    assert "Mean ± standard error over 3 seeds." in out
    assert "fluid egalitarian cluster" in out
    assert max(map(len, lines)) <= 80


def test_a_file_is_the_same_for_every_seed_and_that_is_said(headway: Headway, jobs: Path) -> None:
    code, out, err = headway("compare", jobs, *TWO, "--seeds", 2)
    assert code == 0
    assert "two.csv has the same jobs for every seed" in err
    assert "las, fifo: the same run for every seed, so no spread" in err
    assert "–" not in out.partition("Least")[0]


def test_noise_spreads_the_runs_of_a_file(headway: Headway, jobs: Path) -> None:
    jobs.write_text(f"{HEADER}\na,0,cifar10,4,512\nb,70,cifar10,4,512\n")
    noisy = ("--policy", "pollux", "--set", "sim.noise=0.3", "--seeds", 2)
    code, _, err = headway("compare", jobs, "--cluster", "2x2", *noisy)
    assert code == 0
    assert "has the same jobs for every seed" in err
    assert "so no spread" not in err


def test_the_report_is_one_page_about_these_runs(headway: Headway, tmp_path: Path) -> None:
    report = tmp_path / "page.html"
    options = (MIX, "--policy", "pollux", "--policy", "fifo", "--seeds", 2, "--report", report)
    answer = headway.json("compare", *options)
    text = report.read_text(encoding="utf-8")
    parser = HTMLParser()
    parser.feed(text)
    parser.close()
    assert text.startswith("<!DOCTYPE html>")
    assert "http" not in text
    for what in (MIX, "12 jobs", "0, 1 (charts over time: 0)", "GPUs held under pollux"):
        assert what in text
    for result in answer["results"]:
        least, most = sorted(run["avg_jct_s"] for run in result["runs"])
        assert f">{least:,.0f}–{most:,.0f}</td>" in text
    headway.json("compare", *options)
    assert report.read_text(encoding="utf-8") == text, "equal runs make equal pages"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seeds", "0"], "--seeds must be at least 1, not 0"),
        (["--seeds", "two"], "--seeds"),
        (["--seeds", "2", "--seed", "1"], "--seeds and --seed both say which seeds to use"),
        (["--seed", "1", "--seed", "1"], "--seed names one seed twice"),
        (["--seed", "-1"], "--seed must not be negative"),
        (["--policy", "polux"], "unknown policy 'polux'"),
        (["--set", "sim.noise=2"], "sim.noise must be a number from 0 to 1"),
        (["--cluster", "16by4"], "--cluster '16by4' is neither"),
        (["--format", "pollux"], "--format is for files"),
    ],
)
def test_a_bad_option_is_one_line_and_exit_code_2(
    headway: Headway, options: list[str], said: str
) -> None:
    code, out, err = headway("compare", MIX, *options, "--json")
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_workload_that_is_not_there_is_bad_input(headway: Headway, tmp_path: Path) -> None:
    code, out, err = headway("compare", tmp_path / "none.csv")
    assert (code, out) == (2, "")
    assert "cannot be read: No such file" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("where", [".", "nowhere/page.html", "two.csv/page.html"])
def test_a_report_that_cannot_be_written_is_a_failure(
    headway: Headway, jobs: Path, where: str
) -> None:
    code, out, err = headway("compare", jobs, *TWO, "--report", jobs.parent / where)
    assert (code, out) == (1, "")
    assert "cannot be written" in err
    assert err.count("\n") == 1


def test_a_full_disk_is_a_failure(headway: Headway) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    code, out, err = headway(
        "compare", "pollux-mix:jobs=2", "--policy", "fifo", "--seeds", 1, "--report", full
    )
    assert (code, out) == (1, "")
    assert "/dev/full cannot be written: No space left on device" in err
    assert err.count("\n") == 1
