"""The script that states the errors of the throughput models."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks.fit import main


def run(monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.setattr(sys, "argv", ["fit.py", *options])
    return main()


def test_it_prints_one_object_with_the_errors_of_each_application(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    shared_data: Path,
    tmp_path: Path,
) -> None:
    profiles = shared_data / "pollux" / "profiles"
    (tmp_path / "bert").symlink_to(profiles / "bert")
    assert run(monkeypatch, "--profiles", str(tmp_path), "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["results"]
    assert (found["app"], found["observations"], found["placements"]) == ("bert", 720, 70)
    assert found["linear_error"] <= 0.075
    assert set(found["held_out"]) == {"linear", "collective"}
    assert found["best"] == "collective"
    assert found["best_held_out_error"] == found["held_out"]["collective"] < 0.05


def test_a_folder_without_profiles_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(monkeypatch, "--profiles", str(tmp_path)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "holds no Pollux profiles" in shown.err
