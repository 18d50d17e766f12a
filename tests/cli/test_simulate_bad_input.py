"""``simulate`` refuses what would never come to an end, and says so in one line."""

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
    """``pollux.p=nan`` was taken, and no job ever ran."""
    arguments = ["simulate", "pollux-mix:jobs=1", "--set", f"pollux.p={value}"]
    result = CliRunner().invoke(headway, arguments)
    assert isinstance(result.exception, InvalidInputError)
    assert "pollux.p must be a finite number" in str(result.exception)
