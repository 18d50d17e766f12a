"""What a job's command is understood to be."""

import subprocess
import sys
from pathlib import Path

import pytest

from headway.agent.program import Program, Start, run


@pytest.mark.parametrize(
    ("command", "start", "script", "module", "arguments"),
    [
        (("python", "train.py", "-u", "x"), Start.FORK, "train.py", None, ("-u", "x")),
        (("python3", "-u", "train.py"), Start.FORK, "train.py", None, ()),
        ((sys.executable, "train.py"), Start.FORK, "train.py", None, ()),
        (("train.py", "--lr", "1"), Start.FORK, "train.py", None, ("--lr", "1")),
        (("python", "-m", "pkg.train", "a"), Start.FORK, None, "pkg.train", ("a",)),
        (("/other/bin/python3.11", "train.py"), Start.EXEC, "train.py", None, ()),
        (("torchrun", "train.py"), Start.ALONE, None, None, ()),
        (("python", "-m", "torch.distributed.run", "train.py"), Start.ALONE, None, None, ()),
        (("python", "-c", "print(1)"), Start.ALONE, None, None, ()),
        (("python",), Start.ALONE, None, None, ()),
        ((), Start.ALONE, None, None, ()),
    ],
)
def test_a_command_is_understood(
    command: tuple[str, ...],
    start: Start,
    script: str | None,
    module: str | None,
    arguments: tuple[str, ...],
) -> None:
    program = Program.of(command)
    assert (program.start, program.script, program.module) == (start, script, module)
    assert program.arguments == arguments


def test_what_cannot_be_started_is_named(tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert "train.py" in (Program.of(("python", "train.py")).problem(folder) or "")
    assert "no-such" in (Program.of(("no-such-program",)).problem(folder) or "")
    assert "empty" in (Program.of(()).problem(folder) or "")
    assert "workdir" in (Program.of(("true",)).problem(folder + "/x") or "")
    assert Program.of(("true",)).problem(folder) is None


def test_a_script_that_names_headway_reports_its_steps(tmp_path: Path) -> None:
    (tmp_path / "yes.py").write_text("import headway.agent\n")
    (tmp_path / "no.py").write_text("pass\n")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__main__.py").write_text("from headway import agent\n")
    commands = ["yes.py"], ["no.py"], ["-m", "pkg"], ["-m", "headway.agent.program"], ["-m", "json"]
    found = [Program.of(("python", *words)).attaches(str(tmp_path)) for words in commands]
    assert found == [True, False, True, True, False]


def test_what_forks_can_share_is_imported_before_them(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import numpy as np, os, wandb\nfrom sklearn.datasets import load_digits\n"
        "from . import sibling\nfrom torch import nn\ndef late():\n    import scipy\n"
    )
    (tmp_path / "bad.py").write_text("def (")
    program = Program.of(("python", "train.py"))
    assert program.preloads(str(tmp_path)) == ("numpy", "sklearn.datasets", "torch")
    assert Program.of(("python", "bad.py")).preloads(str(tmp_path)) == ()
    demo = Program.of(("python", "-m", "headway.agent.program"))
    assert demo.preloads(str(tmp_path)) == ()


def test_a_script_is_run_as_if_it_were_started_itself(tmp_path: Path) -> None:
    """Name, arguments, neighbours to import, what it does at its exit, exit code."""
    (tmp_path / "neighbour.py").write_text("WORD = 'found'\n")
    (tmp_path / "script.py").write_text(
        "import atexit, sys\nfrom neighbour import WORD\natexit.register(print, 'bye')\n"
        "print(__name__, *sys.argv[1:], WORD)\nraise SystemExit(int(sys.argv[1]))\n"
    )
    ended = _run(tmp_path, "script.py", "7")
    assert ended.stdout.split("\n")[:2] == ["__main__ 7 found", "bye"]
    assert ended.returncode == 7


def _run(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    assert run.__module__ == "headway.agent.program"
    line = f"from headway.agent.program import *; run(Program.of({('python', *command)!r}))"
    words = [sys.executable, "-P", "-c", line]
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("import headway.agent\n", Start.FORK),
        ("rank = os.environ['RANK']\n", Start.FORK),
        ("torch.distributed.init_process_group()\n", Start.FORK),
        ("print('train')\n", Start.ALONE),
    ],
)
def test_a_script_that_knows_of_no_other_worker_is_one_process(
    tmp_path: Path, text: str, start: Start
) -> None:
    """On two slots a plain script was started twice: it trained twice and wrote over itself."""
    (tmp_path / "train.py").write_text(text)
    assert Program.of(("python", "train.py")).seated(str(tmp_path)).start is start


def test_a_script_without_an_interpreter_gets_one(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('train')\n")
    program = Program.of(("train.py", "--lr", "1")).seated(str(tmp_path))
    assert program.command == (sys.executable, "train.py", "--lr", "1")
    assert program.problem(str(tmp_path)) is None
