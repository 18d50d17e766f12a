"""What `headway submit` sends for the words it was given."""

from pathlib import Path
from typing import Any

import pytest

from headway.cli.submit import job
from headway.core.errors import InvalidInputError


def batch(**options: Any) -> dict[str, Any]:
    body = job(None, ["python", "train.py"], options)
    asked: dict[str, Any] = body["batch"]
    return asked


def test_a_schedule_brings_its_mode() -> None:
    assert batch(batch="32", schedule="0:32 2M:64") == {
        "initial": 32,
        "max": 32,
        "mode": "schedule",
        "schedule": "0:32 2M:64",
    }
    assert batch(batch="32-256", rule="gns")["mode"] == "schedule"


def test_records_are_sent_as_they_are_but_for_a_line_that_a_crash_cut(tmp_path: Path) -> None:
    log = tmp_path / "decisions.jsonl"
    log.write_text('{"samples": 0}\n{"samples": 9\n{"samples": 5}\n')
    asked = batch(batch="32-256", mode="adaptive", replay_decisions=str(log))
    assert asked["replay"] == [{"samples": 0}, {"samples": 5}]


@pytest.mark.parametrize("content", [None, "", "no records\n"])
def test_a_log_that_is_none(tmp_path: Path, content: str | None) -> None:
    log = tmp_path / "decisions.jsonl"
    if content is not None:
        log.write_text(content)
    said = "No such file" if content is None else "has no records; give the decisions.jsonl"
    with pytest.raises(InvalidInputError, match=said):
        batch(batch="32", replay_decisions=str(log))


def test_what_goes_with_each_gpu_is_sent_if_it_is_asked_for() -> None:
    body = job(None, ["python", "train.py"], {"cpus_per_gpu": 4.0, "memory_gb_per_gpu": None})
    assert body["cpus_per_gpu"] == 4.0
    assert "memory_gb_per_gpu" not in body
