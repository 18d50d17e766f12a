"""An agent without an engine: a job's folder, and a service that a test plays."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from headway.core.types import Launch
from headway.protocol.jobdir import JobDir
from headway.protocol.messages import AgentPhase, AgentReport, Directive
from headway.testing.agents import AgentServer, an_agent
from headway.testing.engines import PATIENCE_S, a_job


class Play:
    """What an agent is told, and all that it says; in an engine's place."""

    def __init__(self) -> None:
        self.directive = Directive(generation=0, slots=(), adapts=False)
        self.heard: list[AgentReport] = []

    def hear(self, message: AgentReport) -> Directive:
        self.heard.append(message)
        if message.phase in {AgentPhase.FINISHED, AgentPhase.FAILED}:
            return Directive(generation=message.generation, slots=(), adapts=False, cancel=True)
        return self.directive

    def tell(self, generation: int, *slots: int, cancel: bool = False) -> None:
        self.directive = Directive(generation=generation, slots=slots, adapts=False, cancel=cancel)


class Stage:
    """One agent process and its service."""

    def __init__(self, folder: Path) -> None:
        self.play = Play()
        self.server = AgentServer(folder)
        self.scripts = folder / "scripts"
        self.scripts.mkdir()
        self.where = JobDir(folder / "job")
        self.where.path.mkdir()
        self.agent: subprocess.Popen[bytes] | None = None
        self.ends = ExitStack()

    def start(self, script: str, *words: str, command: tuple[str, ...] = (), **env: str) -> None:
        (self.scripts / "script.py").write_text(script)
        launch = Launch(
            command=command or ("python", "script.py", *words), workdir=str(self.scripts)
        )
        self.where.write_job(a_job("a", launch))
        self.server.start(self.play)
        agent = an_agent(
            self.where, self.server, {"HEADWAY_WARM": "0", **env}, "--grace-s=20", "--term-s=0.5"
        )
        self.agent = self.ends.enter_context(agent)

    def until(self, enough: Callable[[], object], what: str) -> None:
        until_s = time.monotonic() + PATIENCE_S
        while not enough():
            assert time.monotonic() < until_s, f"{what}: {self.play.heard}; {self.log()}"
            time.sleep(0.01)

    def until_phase(self, phase: AgentPhase, generation: int | None = None) -> AgentReport:
        def found() -> list[AgentReport]:
            same = [m for m in self.play.heard if m.phase is phase]
            return [m for m in same if generation in {None, m.generation}]

        self.until(found, f"{phase} of {generation}")
        return found()[0]

    def until_gone(self) -> int:
        assert self.agent is not None
        return self.agent.wait(PATIENCE_S)

    def log(self) -> str:
        return self.where.log_file.read_text()

    def orders(self) -> dict[str, object]:
        orders: dict[str, object] = json.loads((self.where.path / "orders.json").read_text())
        return orders


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.server.stop()
    stage.ends.close()
