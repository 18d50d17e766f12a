"""A service as a process: killed, started twice, without a port, without a disk."""

import contextlib
import json
import os
import resource
import socket
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.cli.main import main
from headway.core.errors import UnavailableError
from headway.service.client import Client
from headway.service.store.sql import SqlStore
from headway.testing.service import Running, running, until

MEMORY = ("--engine", "memory", "--slots", "4", "--policy", "fifo", "--round-s", "0.2")


def body(name: str = "job", **fields: Any) -> dict[str, Any]:
    return {"name": name, "run": "sleep 600", "workdir": "/tmp", "gpus": 1, **fields}


def jobs(client: Client) -> dict[str, str]:
    listed = client.get("/api/v1/jobs", ended="true")["jobs"]
    return {job["job_id"]: job["phase"] for job in listed}


Refused = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Refused:
    """The exit code and the lines of a command that should not work; it needs no process."""

    def call(*words: str) -> tuple[int, list[str]]:
        monkeypatch.setattr("sys.argv", ["headway", *words])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert said.out == ""
        return int(end.value.code or 0), said.err.splitlines()

    return call


def test_a_killed_service_loses_nothing(tmp_path: Path) -> None:
    with running(tmp_path, *MEMORY) as service:
        for number in range(6):
            service.client.post("/api/v1/jobs", body(f"job-{number}"))
        service.client.delete("/api/v1/jobs/job-1")
        until(lambda: list(jobs(service.client).values()).count("running") == 4)
        before = service.client.get("/api/v1/events", limit=10_000)["events"]
        service.kill()
    with running(tmp_path, *MEMORY) as service:
        after = service.client.get("/api/v1/events", limit=10_000)["events"]
        assert after[: len(before)] == before
        until(lambda: list(jobs(service.client).values()).count("running") == 4)
        phases = jobs(service.client)
        assert set(phases) == {f"job-{number}" for number in range(6)}
        assert phases["job-1"] == "cancelled"
        code, said = service.stop()
    assert (code, said) == (0, "")


def test_a_service_that_is_killed_at_any_moment_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    """Killed while it is busy with submissions, two times over."""
    known: list[str] = []
    for life in range(2):
        with running(tmp_path, *MEMORY) as service:
            before = len(known)
            killer = threading.Timer(0.003 * life, service.process.kill)
            with contextlib.suppress(UnavailableError):
                while True:
                    known.append(service.client.post("/api/v1/jobs", body())["job_id"])
                    if len(known) == before + 3:  # some are in; the next one may be half in
                        killer.start()
            killer.join()
            service.process.wait()
    with running(tmp_path, *MEMORY) as service:
        assert set(known) <= set(jobs(service.client))
        assert len(known) == len(set(known)) >= 6


def test_a_second_service_on_the_same_state_is_refused(tmp_path: Path, refused: Refused) -> None:
    with running(tmp_path, *MEMORY) as service:
        code, lines = refused("serve", "--state", str(tmp_path), "--port", "0", *MEMORY)
        assert code == 1
        assert lines == [
            f"headway: another service (process {service.process.pid}) runs on {tmp_path}; "
            "stop it, or name another directory with --state"
        ]
        assert jobs(service.client) == {}  # the first one is as it was
        assert service.stop()[0] == 0


def test_a_port_in_use(tmp_path: Path, refused: Refused) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, lines = refused("serve", "--state", str(tmp_path), "--port", str(port), *MEMORY)
    assert code == 1
    assert len(lines) == 1
    assert f"port {port} of 127.0.0.1: Address already in use; choose another" in lines[0]
    assert not (tmp_path / "service.json").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--policy", "polux"), "unknown policy 'polux'; choose one of pollux"),
        (("--policy", "fifo", "--set", "fifo.x=1"), "policy fifo has no setting 'x'"),
        (("--policy", "fifo", "--set", "pollux.p=1"), "the policy is fifo; set fifo.SETTING"),
        (("--set", "p"), "give POLICY.SETTING=VALUE"),
        (("--engine", "slurmm"), "unknown engine 'slurmm'; choose one of local, memory"),
        (("--policy", "las+goodput"), "the engine local can neither add nor remove nodes; choose"),
        (("--slots", "0"), "slots is 0; give 1 to 4096"),
        (("--round-s", "0"), "round_s is 0; give 0.1 seconds or more"),
        (("--port", "70000"), "port is 70000"),
        (("--config", "/nowhere.toml"), "config /nowhere.toml: No such file"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    tmp_path: Path, words: tuple[str, ...], told: str, refused: Refused
) -> None:
    code, lines = refused("serve", "--state", str(tmp_path), "--port", "0", *words)
    assert code == 2
    assert len(lines) == 1
    assert told in lines[0]


def test_a_state_directory_that_cannot_be_made(tmp_path: Path, refused: Refused) -> None:
    (tmp_path / "file").write_text("")
    code, lines = refused("serve", "--state", str(tmp_path / "file" / "x"), *MEMORY)
    assert code == 1
    assert len(lines) == 1
    assert "name another with --state" in lines[0]


def _small_disk(limit_bytes: int) -> Callable[[], None]:
    """No file may grow beyond this: a write fails as on a full disk."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))


def _submit_until_refused(service: Running) -> list[str]:
    kept: list[str] = []
    try:
        while len(kept) < 10_000:
            kept.append(service.client.post("/api/v1/jobs", body())["job_id"])
    except UnavailableError:  # anything else is a failure of this test
        return kept
    return kept


def test_a_full_disk_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="cannot be opened") as told:  # noqa: SIM117
        with running(tmp_path, *MEMORY, before=_small_disk(10_000)):
            pass
    assert str(told.value).count("\n") == 1


@pytest.fixture
def small_tmpfs(tmp_path: Path) -> Iterator[Path]:
    """A disk of a megabyte, where the machine lets us have one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a disk of a megabyte")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_is_really_full(small_tmpfs: Path) -> None:
    with running(small_tmpfs, *MEMORY) as service:
        kept = _submit_until_refused(service)
        code, said = service.end()
    assert code == 1
    assert len(said.splitlines()) == 1
    assert "full" in said
    store = SqlStore.at(small_tmpfs / "headway.db")
    known = {logged.event.job.job_id for logged in store.load() if hasattr(logged.event, "job")}
    store.close()
    assert set(kept) <= known


def test_a_service_leaves_word_of_where_it_is_and_takes_it_back(tmp_path: Path) -> None:
    with running(tmp_path, *MEMORY) as service:
        told = json.loads((tmp_path / "service.json").read_text())
        assert told == {"url": service.url, "pid": service.process.pid}
        assert (tmp_path / "url").read_text() == service.url
        assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
        assert service.stop()[0] == 0
    assert not (tmp_path / "service.json").exists()


def test_settings_come_from_a_file_and_the_environment_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "headway.toml"
    config.write_text('engine = "memory"\nslots = 3\npolicy = "las"\nround_s = 7\n')
    state = tmp_path / "state"
    with running(state, "--config", str(config), "--policy", "fifo") as service:
        cluster = service.client.get("/api/v1/cluster")
        assert (cluster["gpus"], cluster["policy"], cluster["round_s"]) == (3, "fifo", 7)
        assert service.stop()[0] == 0
