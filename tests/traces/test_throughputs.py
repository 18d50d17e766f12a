"""Throughput tables of Gavel: what is read from them, and what is no such table."""

import json
from pathlib import Path

import pytest

from headway.core.errors import InvalidInputError
from headway.traces.throughputs import read_throughputs


def test_speeds_of_one_worker_alone_are_read_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    rows = {
        "('LM (batch size 5)', 1)": {"null": 3.5, "('A3C', 1)": [1, 2]},
        "('LM (batch size 5)', 4)": {"null": 9.0},
        "('A3C', 1)": {"null": 0.0},
        "('CycleGAN', 1)": {"('A3C', 1)": [1, 2]},
    }
    path.write_text(json.dumps({"v100": rows, "k80": {}}))
    assert read_throughputs(path) == {"v100": {"LM (batch size 5)": 3.5}, "k80": {}}


@pytest.mark.parametrize("text", ["{", "[]", '{"v100": 3}', '{"v100": {"a": {"null": "x"}}}'])
def test_anything_else_is_bad_input(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match="no throughput table"):
        read_throughputs(path)
