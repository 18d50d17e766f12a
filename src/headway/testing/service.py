"""A real service in a process of its own, for tests."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from headway.service.client import Client

LIMIT_S = 60.0  # a test that waits so long has failed


@dataclass(frozen=True, slots=True)
class Running:
    """A service that listens."""

    process: subprocess.Popen[str]
    url: str
    state: Path
    client: Client

    def kill(self) -> None:
        """As a crash would: nothing is told, nothing is tidied up."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> tuple[int, str]:
        """As an administrator would; the exit code, and what it had to say."""
        self.process.send_signal(signal.SIGTERM)
        return self.end()

    def end(self) -> tuple[int, str]:
        """Wait for its own end; the exit code, and what it had to say."""
        _, said = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, said


@contextlib.contextmanager
def running(
    state: Path,
    *options: str,
    before: Callable[[], None] | None = None,
) -> Iterator[Running]:
    """Start ``headway serve``; it is gone when the block is left.

    ``before`` is called in the new process before it becomes the service.
    """
    with subprocess.Popen(
        command("serve", "--state", str(state), "--port", "0", "--json", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
        env={key: text for key, text in os.environ.items() if not key.startswith("HEADWAY_")},
    ) as process:
        try:
            url = _url(process)
            yield Running(process, url, state, Client.find(state=state))
        finally:
            if process.poll() is None:
                process.kill()


def command(*words: str) -> Sequence[str]:
    """The command line of Headway, by this interpreter."""
    return (sys.executable, "-c", "from headway.cli.main import main; main()", *words)


def until(true: Callable[[], bool]) -> None:
    """Wait for something that is about to be true."""
    end_s = monotonic() + LIMIT_S
    while not true():
        if monotonic() > end_s:
            raise AssertionError(f"not true after {LIMIT_S:.0f} s")
        sleep(0.05)


def _url(process: subprocess.Popen[str]) -> str:
    """It prints one JSON object when it listens."""
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if line.startswith("}"):
            return str(json.loads(text)["url"])
    assert process.stderr is not None
    raise AssertionError(f"the service did not start: {process.stderr.read()}")
