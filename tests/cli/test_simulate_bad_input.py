"""``simulate`` refuses what would never come to an end, and says so in one line."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from headway.cli.main import headway
from headway.core.errors import InvalidInputError


@pytest.mark.parametrize(
    "option",
    ["--round-s=0", "--round-s=nan", "--round-s=1e308", "--restart-s=-1", "--restart-s=1e12"],
)
def test_seconds_out_of_range_are_refused(option: str) -> None:
    """A restart of 1e12 s was simulated round by round."""
    result = CliRunner().invoke(headway, ["simulate", "pollux-mix:jobs=1", option])
    assert isinstance(result.exception, InvalidInputError)
    assert option.partition("=")[0] in str(result.exception)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_setting_that_is_no_number_is_refused(value: str) -> None:
    """``pollux.p=nan`` was once taken, and no job ever ran."""
    arguments = ["simulate", "pollux-mix:jobs=1", "--set", f"headway.q={value}"]
    result = CliRunner().invoke(headway, arguments)
    assert isinstance(result.exception, InvalidInputError)
    assert "headway.q must be a finite number" in str(result.exception)


@pytest.mark.parametrize(
    "setting",
    [
        *("gavel.reset_s=-1", "mst.reset_s=-1", "ossp.reset_s=1e308", "themis.lease_s=-1"),
        *("las.quantum_gpu_s=-1", "gandiva-fair.quantum_gpu_s=1e-320"),
        *("tiresias.threshold_gpu_s=-1", "tiresias.starvation=-1"),
    ],
)
def test_a_setting_below_sense_is_refused(setting: str) -> None:
    """Negative times were taken, and did what 0 does or left jobs waiting."""
    policy, key = setting.partition("=")[0].split(".")
    arguments = ["simulate", "pollux-mix:jobs=1", "--policy", policy, "--set", setting]
    result = CliRunner().invoke(headway, arguments)
    assert isinstance(result.exception, InvalidInputError)
    assert f"{policy}.{key} must be" in str(result.exception)


def test_a_setting_that_is_not_utf_8_is_refused() -> None:
    """It was a traceback once the event log was written."""
    arguments = ["simulate", "pollux-mix:jobs=1", "--set", "pollux.tenants=\udcff:1"]
    result = CliRunner().invoke(headway, arguments)
    assert isinstance(result.exception, InvalidInputError)
    assert "must be text in UTF-8" in str(result.exception)


def test_work_that_would_take_for_ever_is_refused_at_once(tmp_path: Path) -> None:
    """1e20 examples were simulated round by round."""
    table = tmp_path / "jobs.csv"
    table.write_text(
        "name,submitted_s,profile,requested_gpus,requested_batch_size,work_examples\n"
        "endless,0,cifar10,1,128,1e20\n"
    )
    result = CliRunner().invoke(headway, ["simulate", str(table)])
    assert isinstance(result.exception, InvalidInputError)
    assert "job endless alone takes about" in str(result.exception)
    assert "--round-s" in str(result.exception)
