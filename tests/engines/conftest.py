"""A local engine with a service around it, and the scripts that its jobs run."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headway.core.types import Launch
from headway.engines.local import LocalEngine
from headway.engines.processes import marked
from headway.engines.slots import Slots
from headway.testing.agents import AgentServer, LockedEngine

# steps for ever or so often, tells headway of its first step, yields when asked
ELASTIC = """
import json, os, sys, time
with open(os.environ["HEADWAY_ORDERS"]) as file:
    orders = json.load(file)
print("generation", orders["generation"], "rank", os.environ["RANK"], os.environ["WORLD_SIZE"])
if "HEADWAY_NEWS_FD" in os.environ:
    with open(int(os.environ["HEADWAY_NEWS_FD"]), "w", closefd=False) as news:
        print(json.dumps({"stepped": True}), file=news)
for step in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000):
    time.sleep(0.01)
    with open(os.environ["HEADWAY_FLAG"], "rb") as file:
        if int.from_bytes(file.read(), "little") != orders["generation"]:
            sys.exit(75)
"""

# the same, and becomes another generation without leaving where there is a plan for it
SWITCHING = """
import json, os, sys, time
from pathlib import Path
orders = json.loads(Path(os.environ["HEADWAY_ORDERS"]).read_text())
generation, rank = orders["generation"], int(os.environ["RANK"])
plan_file, news = Path(os.environ["HEADWAY_PLAN"]), int(os.environ["HEADWAY_NEWS_FD"])
def tell(**what):
    os.write(news, json.dumps(what).encode() + b"\\n")
def wanted():
    return int.from_bytes(Path(os.environ["HEADWAY_FLAG"]).read_bytes(), "little")
def arrive():
    print("generation", generation, "rank", rank, "pid", os.getpid())
    if rank == 0:
        tell(joined=generation, stepped=True, switches=True, stall_s=0.25)
if os.environ.get("HEADWAY_JOINS") == "1":
    tell(ready=True)
    while not Path(os.environ["HEADWAY_RENDEZVOUS"].removeprefix("file://")).exists():
        time.sleep(0.01)
arrive()
while True:
    time.sleep(0.01)
    if wanted() == generation:
        continue
    plan = json.loads(plan_file.read_text()) if plan_file.exists() else None
    if plan is None or plan["orders"]["generation"] != wanted() or plan["ranks"][rank] is None:
        sys.exit(75)
    rank, generation = plan["ranks"][rank], plan["orders"]["generation"]
    if rank == 0:
        Path(plan["rendezvous"].removeprefix("file://")).touch()
    arrive()
"""


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "elastic.py").write_text(ELASTIC)
    (folder / "switching.py").write_text(SWITCHING)
    return folder


@pytest.fixture
def launch(scripts: Path) -> Callable[..., Launch]:
    """A command in the folder of the scripts."""

    def make(*command: str, **env: str) -> Launch:
        return Launch(command=command, workdir=str(scripts), env={"HEADWAY_WARM": "0", **env})

    return make


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AgentServer]:
    server = AgentServer(tmp_path)
    yield server
    server.stop()


@pytest.fixture
def new_engine(tmp_path: Path, server: AgentServer) -> Iterator[Callable[[], LockedEngine]]:
    """Engines on the same state, one after the other, as a service that is started again."""
    engines: list[LockedEngine] = []

    def make() -> LockedEngine:
        inner = LocalEngine(
            tmp_path / "state",
            Slots(count=4),
            environment=server.environment,
            grace_s=20.0,
            term_s=0.5,
        )
        engines.append(LockedEngine(inner))
        server.start(engines[-1])
        return engines[-1]

    yield make
    for engine in engines:
        engine.close(stop_jobs=True)
    ours = [path for path in marked() if path.is_relative_to(tmp_path)]
    assert ours == [], "processes are left"


@pytest.fixture
def engine(new_engine: Callable[[], LockedEngine]) -> LockedEngine:
    return new_engine()
