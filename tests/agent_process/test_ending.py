"""A worker ends at once, and yet as a process ends: nothing lost, the code that it would have."""

import subprocess
import sys
from pathlib import Path

import pytest

AROUND = (
    "import sys\nfrom headway.agent.ending import run_out\ndef script():\n{}\nrun_out(script)\n"
)


def ended(folder: Path, *lines: str) -> "subprocess.CompletedProcess[str]":
    """A process whose script is these lines."""
    path = folder / "script.py"
    path.write_text(AROUND.format("\n".join(f"    {line}" for line in lines)))
    words = [sys.executable, str(path)]
    return subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.parametrize(
    ("last", "code", "said"),
    [
        ("pass", 0, ""),
        ("sys.exit()", 0, ""),
        ("sys.exit(75)", 75, ""),
        ("sys.exit(-1)", 255, ""),
        ("sys.exit('no data')", 1, "no data\n"),
        ("raise ValueError('odd')", 1, "ValueError: odd\n"),
    ],
)
def test_the_code_is_that_of_an_ordinary_end(
    tmp_path: Path, last: str, code: int, said: str
) -> None:
    found = ended(tmp_path, last)
    assert found.returncode == code
    assert found.stderr.endswith(said)
    assert ("Traceback" in found.stderr) == (last.startswith("raise"))


def test_nothing_that_was_begun_is_lost(tmp_path: Path) -> None:
    """What waits to be written, also in a file around a file; threads; what comes at the end."""
    found = ended(
        tmp_path,
        "import atexit, gzip, threading, time",
        "global left, packed, late",
        "left, packed = open('left', 'w'), gzip.open('packed', 'wt')",
        "left.write('one line')",
        "packed.write('another')",
        "late = lambda: (time.sleep(0.2), open('late', 'w').write('x'))",
        "threading.Thread(target=late).start()",
        "atexit.register(print, 'bye')",
        "sys.stdout.write('hello ')",
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "hello bye\n", "")
    assert (tmp_path / "left").read_text() == "one line"
    assert (tmp_path / "late").read_text() == "x"
    read = "import gzip; print(gzip.open('packed', 'rt').read())"
    words = [sys.executable, "-c", read]
    told = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert told.stdout == "another\n"


def test_a_thread_that_is_inside_torch_does_not_turn_an_end_into_a_crash(tmp_path: Path) -> None:
    """It came back for the interpreter, which was being taken apart: "terminate called without an
    active exception", and a training that was complete had failed with signal 6."""
    found = ended(
        tmp_path,
        "import threading, torch",
        "begun = threading.Event()",
        "def work():",
        "    x = torch.randn(64, 64, requires_grad=True)",
        "    while True:",
        "        (x @ x).sum().backward()",
        "        begun.set()",
        "threading.Thread(target=work, daemon=True).start()",
        "begun.wait()",
    )
    assert (found.returncode, found.stderr) == (0, "")
