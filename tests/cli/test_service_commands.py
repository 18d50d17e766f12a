"""submit, jobs, show, logs, cancel: what they print, on what stream, with which exit code."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.cli.main import main
from headway.testing.service import Running, running, until

BIN = Path(sys.executable).parent
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    options = ("--engine", "memory", "--slots", "4", "--policy", "fifo", "--round-s", "0.2")
    with running(tmp_path_factory.mktemp("state"), *options) as service:
        yield service
        assert service.stop() == (0, "")


@pytest.fixture
def headway(
    service: Running,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Call:
    """Exit code, stdout and stderr of a command that is typed in a folder with a script."""
    (tmp_path / "train.py").write_text("print('step')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADWAY_STATE", str(service.state))
    for name in ("HEADWAY_URL", "HEADWAY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(BIN), prepend=os.pathsep)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["headway", *words])
        code: Any = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_nodes_are_listed_with_type_rack_and_who_holds_them(headway: Call) -> None:
    headway("submit", "--gpus", "3", "--name", "wide", "--", "python", "train.py")
    until(lambda: "wide 3" in headway("nodes")[1])
    code, out, err = headway("nodes")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["node", "type", "rack", "speed", "gpus", "free", "jobs"],
        ["memory", "gpu", "-", "1", "4", "1", "wide", "3"],
    ]
    (node,) = json.loads(headway("nodes", "--json")[1])["nodes"]
    assert (node["gpu_type"], node["rack"], node["speed"]) == ("gpu", None, 1.0)
    headway("cancel", "wide")


def test_from_submission_to_cancellation(headway: Call, tmp_path: Path) -> None:
    code, out, err = headway("submit", "--gpus", "1-2", "--", "python", "train.py", "--lr", "1")
    assert (code, err) == (0, "")
    job_id = out.split()[0]
    assert job_id == "train"
    until(lambda: "running" in headway("jobs")[1])
    listed = headway("jobs")[1].splitlines()
    assert listed[0].split()[:5] == ["job", "phase", "reason", "gpus", "of"]
    assert listed[1].split()[0:2] == ["train", "running"]
    shown = headway("show", job_id)[1]
    assert "phase      running" in shown
    assert f"{BIN / 'python'} train.py --lr 1" in shown  # as the submitter's PATH has it
    assert "JobSubmitted" in shown
    spec = json.loads(headway("show", job_id, "--json")[1])["spec"]
    assert spec["launch"]["workdir"] == str(tmp_path)
    assert headway("cancel", job_id)[:2] == (0, "train is cancelled\n")
    assert "train" not in headway("jobs")[1]
    ended = next(line for line in headway("jobs", "-a")[1].splitlines() if "train" in line)
    assert ended.split()[1:3] == ["cancelled", "Cancelled"]  # not what the last decision said


def test_why_a_job_holds_what_it_holds_and_that_fifo_promises_nothing(headway: Call) -> None:
    headway("submit", "--name", "asked", "--gpus", "2", "--", "python", "train.py")
    until(lambda: "keeps" in headway("explain", "asked")[1])
    code, out, err = headway("explain", "asked")
    assert (code, err) == (0, "")
    none = "policy fifo predicts no finish of this job"
    assert out == f"It keeps the 2 GPUs that it held. It has no promise: {none}.\n"
    assert f"promise    none: {none}\n" in headway("show", "asked")[1]
    told = json.loads(headway("explain", "asked", "--json")[1])
    assert (told["job_id"], told["promise"], told["no_promise"]) == ("asked", None, none)
    assert told["explanation"] == out.strip()
    headway("cancel", "asked")
    assert headway("explain", "asked")[1].startswith("It was cancelled after ")
    assert headway("explain", "nobody")[0] == 2


def test_tenants_and_how_far_they_are_ahead(headway: Call, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("name: owned\nrun: python train.py\ntenant: vision\n")
    headway("submit", "job.yaml")
    code, out, err = headway("tenants")
    assert (code, err) == (0, "")
    assert out.split("\n")[0].split() == [
        *("tenant", "weight", "jobs", "active"),
        *("GPU-h", "held", "GPU-h", "share", "GPU-h", "ahead"),
    ]
    (row,) = [line.split() for line in out.splitlines() if line.startswith("vision")]
    assert row[:4] == ["vision", "-", "1", "1"]
    assert row[-1] == "0.00"  # in hours; it has only just begun
    accounts = json.loads(headway("tenants", "--json")[1])["tenants"]
    for one in accounts:
        ahead = one["gpu_hours"] - one["entitled_gpu_hours"]
        assert one["ahead_gpu_hours"] == pytest.approx(ahead)
    headway("cancel", "owned")


def test_a_job_file_and_options_that_take_the_place_of_its_fields(
    headway: Call, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "fit.py").write_text("")
    (folder / "job.yaml").write_text(
        "name: from-file\nrun: python fit.py\ngpus: {min: 1, max: 4, sizes: pow2}\n"
        "batch: {mode: adaptive, initial: 32, max: 128}\nenv: {EPOCHS: 3}\nwork: 1e6\n"
    )
    words = ("submit", "project/job.yaml", "--name", "named", "--batch", "16-64", "--json")
    code, out, _ = headway(*words)
    assert code == 0
    spec = json.loads(out)["spec"]
    assert spec["name"] == "named"
    assert spec["gpus"] == {"min_gpus": 1, "max_gpus": 4, "sizes": [1, 2, 4]}
    batch = spec["batch"]
    assert (batch["mode"], batch["initial_batch_size"], batch["max_batch_size"]) == (
        "adaptive",
        16,
        64,
    )
    assert spec["launch"]["workdir"] == str(folder)  # where the file is, not where we are
    assert spec["launch"]["env"]["EPOCHS"] == "3"
    assert spec["work_examples"] == 1e6
    headway("cancel", "named")


def test_a_dry_run_says_what_would_happen_and_does_nothing(headway: Call) -> None:
    before = headway("jobs", "-a", "--json")[1]
    code, out, err = headway("submit", "--dry-run", "--gpus", "1-2", "--", "python", "train.py")
    assert (code, err) == (0, "")
    assert "may hold 1 to 2 GPUs" in out
    assert headway("jobs", "-a", "--json")[1] == before


def test_logs_whole_at_the_end_and_as_json(headway: Call, service: Running) -> None:
    headway("submit", "--name", "talker", "--", "python", "train.py")
    folder = service.state / "jobs" / "talker"
    folder.mkdir(parents=True)
    (folder / "log.txt").write_text("one\ntwo\nthree\n")
    assert headway("logs", "talker")[1] == "one\ntwo\nthree\n"
    assert headway("logs", "talker", "-n", "2")[1] == "two\nthree\n"
    assert headway("logs", "talker", "-n", "0")[1] == ""
    assert json.loads(headway("logs", "talker", "--json")[1])["size"] == 14
    headway("cancel", "talker")
    assert headway("logs", "talker", "-f")[1] == "one\ntwo\nthree\n"  # it has ended: so has this


def test_one_that_is_not_there_keeps_no_other_from_being_cancelled(headway: Call) -> None:
    headway("submit", "--name", "there", "--", "python", "train.py")
    code, out, err = headway("cancel", "nobody", "there")
    assert (code, out) == (2, "there is cancelled\n")
    assert err == "headway: job nobody: there is none; `headway jobs -a` lists all\n"


WRONG_FILES = {
    "": "has no fields",
    "- a\n": "has no fields",
    "run: [a\n": "is not YAML",
    "1: x\n": "every field must be a word",
    "run: python train.py\ngpuz: 1\n": "gpuz: unknown field; did you mean gpus?",
    "run: python train.py\nweight: 2024-01-01\n": "weight: ",
    "run: python nosuch.py\n": "run: there is no file nosuch.py",
    "name: x\n": "give one of run and script",
    "run: python train.py\nenv: 3\n": "env: ",
    "run: python train.py\nbatch: {mode: adaptive}\n": "batch: mode adaptive needs initial",
}
WRONG_WORDS = {
    (): "give a job file, or a command after --",
    ("--",): "give a job file, or a command after --",
    ("nosuch.yaml",): "nosuch.yaml: No such file or directory",
    ("--gpus", "0", "--", "python", "train.py"): "gpus.min: input should be greater",
    ("--gpus", "4-2", "--", "python", "train.py"): "gpus: min 4 is above max 2",
    ("--gpus", "9", "--", "python", "train.py"): "the cluster has 4",
    ("--batch", "x", "--", "python", "train.py"): "--batch x: is no range; write 32 or 32-512",
    ("--mode", "wild", "--", "python", "train.py"): "--mode",
    ("--env", "A", "--", "python", "train.py"): "--env A: write KEY=VALUE",
    ("--workdir", "nosuch", "--", "python", "train.py"): "workdir: there is no folder",
    ("--", "python", "nosuch.py"): "run: there is no file nosuch.py",
}


@pytest.mark.parametrize(("text", "told"), WRONG_FILES.items())
def test_a_wrong_file(headway: Call, tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "job.yaml").write_text(text)
    _nothing_is_submitted(headway, ("job.yaml",), told)


@pytest.mark.parametrize(("words", "told"), WRONG_WORDS.items())
def test_wrong_words(headway: Call, words: tuple[str, ...], told: str) -> None:
    _nothing_is_submitted(headway, words, told)


def _nothing_is_submitted(headway: Call, words: tuple[str, ...], told: str) -> None:
    before = headway("jobs", "-a", "--json")[1]
    code, out, err = headway("submit", *words)
    assert (code, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1
    assert headway("jobs", "-a", "--json")[1] == before


@pytest.mark.parametrize(
    "words", [("jobs",), ("submit", "--", "python", "train.py"), ("show", "a")]
)
def test_no_service_is_told_in_one_line(
    headway: Call, tmp_path: Path, words: tuple[str, ...]
) -> None:
    first, *rest = words
    with socket.socket() as closed:  # bound, but nothing listens
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        for option, told in ((("--url", url), url), (("--state", str(tmp_path)), str(tmp_path))):
            code, out, err = headway(first, *option, *rest)
            assert (code, out, err.count("\n")) == (1, "", 1)
            assert told in err
            assert "headway serve" in err


def test_another_program_on_the_port(headway: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        url = f"http://127.0.0.1:{other.getsockname()[1]}"
        answer = "import socket,sys; s=socket.socket(fileno=int(sys.argv[1])); c,_=s.accept(); "
        answer += "c.recv(9999); c.sendall(b'220 mail ready\\r\\n')"
        number = other.fileno()
        with subprocess.Popen([sys.executable, "-c", answer, str(number)], pass_fds=[number]):
            code, out, err = headway("jobs", "--url", url)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert url in err


def test_an_address_that_is_none(headway: Call) -> None:
    code, _, err = headway("jobs", "--url", "localhost:8642")
    assert code == 2
    assert "give an address such as http://127.0.0.1:8642" in err


def test_a_service_elsewhere_takes_its_address_and_its_token(
    headway: Call, service: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--url`` alone could not be let in, and nothing said how."""
    monkeypatch.setenv("HEADWAY_STATE", str(tmp_path))
    code, out, err = headway("jobs", "--url", service.url)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "with --token-file" in err
    token = str(service.state / "token")
    assert headway("jobs", "-a", "--url", service.url, "--token-file", token)[0] == 0
    monkeypatch.setenv("HEADWAY_TOKEN_FILE", token)
    monkeypatch.setenv("HEADWAY_URL", service.url)
    assert headway("nodes")[0] == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "No such file"), (b"", "holds no token"), (b"a\nb", "no token"), (b"\xff", "no text")],
)
def test_a_token_file_that_is_none(
    headway: Call, service: Running, tmp_path: Path, content: bytes | None, told: str
) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    code, out, err = headway("nodes", "--url", service.url, "--token-file", str(path))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"--token-file {path}: " in err
    assert told in err


def test_the_command_line_loads_nothing_slow() -> None:
    """``headway --help`` must be there at once: counted in modules, not in seconds."""
    slow = ["scipy", "sqlalchemy", "fastapi", "uvicorn", "pydantic", "torch", "highspy", "numpy"]
    asked = ", ".join(f"headway.cli.{name}" for name in ("main", "serve", "submit", "jobs"))
    code = f"import sys, {asked}; print([m for m in {slow} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (("submit", "--work", "inf", "--", "python", "train.py"), 2, "work: inf is no finite"),
        (("submit", "--weight", "nan", "--", "python", "train.py"), 2, "weight: nan is no finite"),
        (("show", ""), 2, "is no job"),
        (("show", "../../etc"), 2, "is no job"),
        (("logs", ""), 2, "is no job"),
        (("cancel", ""), 2, "is no job"),
        (("jobs", "--url", "http://[bad"), 2, "--url http://[bad: give an address"),
    ],
)
def test_what_was_a_traceback_or_taken_for_something_else(
    headway: Call, words: tuple[str, ...], code: int, named: str
) -> None:
    """Infinite work was submitted as if it were not given; the rest were tracebacks."""
    got, out, err = headway(*words)
    assert (got, out, err.count("\n")) == (code, "", 1)
    assert named in err
