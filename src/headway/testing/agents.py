"""Just enough of a service for agents to talk to, for those who write or test an engine."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol, final

from headway.core.control.commands import JobCommand, RunJob
from headway.core.control.events import Event
from headway.core.ids import JobId
from headway.core.types import Node
from headway.engines.base import Engine
from headway.protocol.environment import JOB_FILE, TOKEN_FILE, URL_FILE
from headway.protocol.jobdir import JobDir
from headway.protocol.messages import AgentReport, Directive, decode_report, encode

TOKEN = "a token for tests"


class Listener(Protocol):
    """Who answers agents."""

    def hear(self, message: AgentReport) -> Directive: ...


@final
class OneJob:
    """A service with one job, which wants what it is told to want."""

    def __init__(self) -> None:
        self.directive = Directive(generation=0, slots=(), adapts=False)
        self.heard: list[AgentReport] = []

    def hear(self, message: AgentReport) -> Directive:
        self.heard.append(message)
        return self.directive

    def want(self, workers: int) -> int:
        """So many, on the first slots; none: it is to stop. The generation that this makes."""
        generation = self.directive.generation + 1
        self.directive = Directive(generation=generation, slots=tuple(range(workers)), adapts=False)
        return generation


@final
class LockedEngine:
    """An engine that agents may talk to while a test does."""

    def __init__(self, inner: Engine) -> None:
        self.inner = inner
        self.heard: list[AgentReport] = []
        self._lock = threading.Lock()

    def nodes(self) -> tuple[Node, ...]:
        return self.inner.nodes()

    def apply(self, command: JobCommand) -> None:
        with self._lock:
            self.inner.apply(command)

    def adopt(self, wanted: Sequence[RunJob]) -> None:
        with self._lock:
            self.inner.adopt(wanted)

    def hear(self, message: AgentReport) -> Directive:
        with self._lock:
            self.heard.append(message)
            return self.inner.hear(message)

    def observe(self, now_s: float) -> tuple[Event, ...]:
        with self._lock:
            return self.inner.observe(now_s)

    def holds(self) -> dict[JobId, tuple[int, ...]]:
        with self._lock:
            return self.inner.holds()

    def close(self, *, stop_jobs: bool) -> None:
        with self._lock:
            self.inner.close(stop_jobs=stop_jobs)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    listener: Listener

    def handle_error(self, request: object, client_address: object) -> None:
        """Agents are killed in the middle of a request; that is what the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.send_error(401)
            return
        message = decode_report(body)
        if self.path != f"/api/v1/agents/{message.job_id}":
            self.send_error(404)
            return
        answer = encode(self.server.listener.hear(message))
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@final
class AgentServer:
    """Serves ``listener.hear`` on a free loopback port; agents find it by files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._url_file = folder / "url"
        self._token_file = folder / "token"
        self._token_file.write_text(TOKEN)
        self._server: _Server | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What the agents must be told."""
        return {URL_FILE: str(self._url_file), TOKEN_FILE: str(self._token_file)}

    def start(self, listener: Listener) -> None:
        """Serve this listener; on another port than before."""
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.listener = listener
        self._url_file.write_text(f"http://127.0.0.1:{self._server.server_address[1]}")
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()

    def stop(self) -> None:
        """Be gone, as a service that was killed."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@contextmanager
def an_agent(
    where: JobDir, server: AgentServer, env: Mapping[str, str], *options: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """The agent of the job of this folder, in a process of its own; killed after the block."""
    with where.log_file.open("ab") as log:
        agent = subprocess.Popen(
            [sys.executable, "-m", "headway.agent", *options],
            env={**os.environ, **server.environment, JOB_FILE: str(where.job_file), **env},
            stdout=log,
            stderr=log,
        )
    try:
        yield agent
    finally:
        agent.kill()
        agent.wait()
