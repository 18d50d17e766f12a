"""The forecast is at most the best of its yardsticks, and better from half-way on."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.forecast import main


def test_the_bar_on_the_published_traces(shared_data: Path) -> None:
    """On all four published traces the best of the yardsticks were 9.4/10.1/13.4/3.9/1.4/2.1 %."""
    asked = ["--data", str(shared_data / "shockwave"), "--json"]
    answer = json.loads(CliRunner().invoke(main, asked).stdout)
    assert (answer["jobs"], answer["changing"]) == (1_240, 650)
    assert answer["bar"] == pytest.approx([0.086, 0.093, 0.124, 0.041, 0.014, 0.020], abs=0.002)
    for prior in ("ended", "seen"):
        errors = answer["forecast"][prior]["error"]
        assert all(error <= best for error, best in zip(errors, answer["bar"], strict=True))
        assert all(error < best for error, best in zip(errors[3:], answer["bar"][3:], strict=True))
    for bars in answer["forecast"]["seen"]["calibration"]:
        assert bars["within_one"] > 0.68
