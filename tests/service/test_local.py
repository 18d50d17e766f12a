"""The whole on this machine: a plain script runs, is seen, survives its service, and ends."""

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from headway.core.errors import UnavailableError
from headway.testing.service import Running, running, until

OPTIONS = ("--slots", "2", "--policy", "fifo", "--round-s", "0.3")
JOBS = "/api/v1/jobs"
SCRIPT = """
import sys, time
from pathlib import Path
print("begun", flush=True)
while not Path("go").exists():
    time.sleep(0.05)
print("done", flush=True)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("begun", flush=True)
while True:
    time.sleep(1)
"""


def processes_in(folder: Path) -> list[int]:
    """Living processes that have this folder as their working directory."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def submit(service: Running, name: str, folder: Path, text: str) -> None:
    (folder / f"{name}.py").write_text(text)
    body = {
        "name": name,
        "script": f"{name}.py",
        "workdir": str(folder),
        "env": {"HEADWAY_WARM": "0"},  # none of these needs torch
    }
    assert service.client.post(JOBS, body)["job_id"] == name


def submit_until_refused(service: Running) -> list[str]:
    """Jobs that need both slots, and fill the log while they wait."""
    kept: list[str] = []
    try:
        while True:
            body = {"run": "sleep 1", "workdir": "/tmp", "gpus": 2}
            kept.append(service.client.post(JOBS, body)["job_id"])
    except UnavailableError:
        return kept


def phase(service: Running, job_id: str) -> str:
    return str(service.client.get(f"{JOBS}/{job_id}")["phase"])


def printed(service: Running, job_id: str) -> str:
    return str(service.client.get(f"{JOBS}/{job_id}/logs")["text"])


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Path]:
    """Where the jobs of a test run; nothing of them is left, even if the test fails."""
    folder = tmp_path / "work"
    folder.mkdir()
    yield folder
    for pid in processes_in(folder):
        psutil.Process(pid).kill()


def test_a_job_outlives_its_service_and_ends_under_the_next(tmp_path: Path, work: Path) -> None:
    state = tmp_path / "state"
    with running(state, *OPTIONS) as service:
        submit(service, "steady", work, SCRIPT)
        submit(service, "bad", work, "raise SystemExit('no data')")
        until(lambda: phase(service, "bad") == "failed")
        assert "no data" in service.client.get(f"{JOBS}/bad")["message"]
        until(lambda: phase(service, "steady") == "running")
        alive = processes_in(work)
        service.kill()
    assert processes_in(work) == alive  # nobody told it
    with running(state, *OPTIONS) as service:
        until(lambda: phase(service, "steady") == "running")
        shown: dict[str, Any] = service.client.get(f"{JOBS}/steady")
        assert shown["restarts"] == 0
        (work / "go").touch()
        until(lambda: phase(service, "steady") == "finished")
        assert printed(service, "steady").split() == ["begun", "done"]  # it was never restarted
        until(lambda: processes_in(work) == [])
        assert service.stop() == (0, "")


def test_a_full_disk_ends_the_service_and_not_the_jobs(tmp_path: Path, work: Path) -> None:
    state = tmp_path / "state"
    small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))  # noqa: E731
    with running(state, *OPTIONS, before=small) as service:
        submit(service, "steady", work, SCRIPT)
        until(lambda: phase(service, "steady") == "running")
        kept = submit_until_refused(service)
        code, said = service.end()
    assert (code, len(said.splitlines())) == (1, 1)
    assert said.startswith("headway: the event log")
    assert "cannot be written" in said
    assert processes_in(work)
    with running(state, *OPTIONS) as service:
        assert set(kept) <= {job["job_id"] for job in service.client.get(JOBS)["jobs"]}
        assert len(kept) >= 5
        for job_id in kept:
            service.client.delete(f"{JOBS}/{job_id}")
        (work / "go").touch()
        until(lambda: phase(service, "steady") == "finished")
        assert printed(service, "steady").split() == ["begun", "done"]
        assert service.stop() == (0, "")


def test_a_service_that_is_told_to_leaves_nothing_running(tmp_path: Path, work: Path) -> None:
    with running(tmp_path / "state", *OPTIONS, "--stop-jobs") as service:
        submit(service, "stubborn", work, STUBBORN)
        until(lambda: "begun" in printed(service, "stubborn"))
        assert processes_in(work)
        assert service.stop() == (0, "")
        assert processes_in(work) == []
