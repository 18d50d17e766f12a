"""The command line as a user meets it: help at once, one clear line for every mistake."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from headway.cli import main as cli
from headway.core.errors import InvalidInputError, UnavailableError

SLOW = ("scipy", "highspy", "torch", "sqlalchemy", "fastapi", "pydantic", "rich.table")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from headway.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_help_lists_every_command_and_loads_nothing_slow() -> None:
    """``--help`` must be instant: it counts modules, because a clock would count the machine."""
    code = f"""
import sys
from headway.cli.main import headway
try:
    headway(["--help"])
except SystemExit:
    pass
print("loaded:", [name for name in {SLOW!r} if name in sys.modules])
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "loaded: []" in told.stdout
    assert all(f"\n  {name} " in told.stdout for name in cli.COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["simulat"], "simulat"),
        (["--colour"], "--colour"),
        (["dance", "--help"], "dance"),
    ],
)
def test_a_mistake_is_one_line_that_names_it(arguments: list[str], named: str) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert named in result.stderr
    assert result.stderr.startswith("headway: ")
    assert result.stderr.count("\n") == 1


def test_help_in_both_spellings_and_version_succeed() -> None:
    for option in ("-h", "--help", "--version"):
        result = CliRunner().invoke(cli.headway, [option])
        assert (result.exit_code, bool(result.output)) == (0, True)


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InvalidInputError("line 3: time is\nnegative"), 2, "line 3: time is negative"),
        (UnavailableError("port 8080 is in use"), 1, "port 8080 is in use"),
        (click.BadParameter("no such file"), 2, "no such file"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(
    error: BaseException,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(cli.headway, "main", fail)
    with pytest.raises(SystemExit) as exited:
        cli.main()
    assert exited.value.code == code
    assert line in capsys.readouterr().err


def test_no_command_is_one_line() -> None:
    """It was the whole help, squeezed into one line."""
    result = run()
    assert (result.returncode, result.stderr) == (2, "headway: Missing command.\n")


def test_a_full_disk_behind_stdout_is_one_line() -> None:
    """It was a traceback, and another error when the interpreter ended."""
    code = "import sys; from headway.cli.main import main; sys.exit(main())"
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-c", code, "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert (result.returncode, result.stderr) == (1, "headway: No space left on device\n")
