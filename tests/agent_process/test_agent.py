"""The agent as a real process, with scripts that behave and scripts that do not."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from headway.protocol.messages import AgentPhase, EpochCount, WorkerNews, encode
from headway.testing.stores import report

# a worker that tells of headway by hand, so that nothing but the agent is tested here
ELASTIC = """
import json, os, sys, time
generation = json.load(open(os.environ["HEADWAY_ORDERS"]))["generation"]
rank = int(os.environ["RANK"])
news = open(int(os.environ["HEADWAY_NEWS_FD"]), "w", buffering=1) if rank == 0 else sys.stderr
def tell(epoch):
    count = {"epoch": epoch, "samples": 1, "read_least": 1, "read_most": 1}
    print(json.dumps({"epochs": [count]}), file=news)
print(json.dumps({"stepped": True}), file=news)
tell(generation)
while int.from_bytes(open(os.environ["HEADWAY_FLAG"], "rb").read(), "little") == generation:
    time.sleep(0.01)
    if rank == 0 and os.path.exists("tell"):
        os.remove("tell")
        tell(10 * generation)
    if os.path.exists("end"):
        sys.exit(0)
sys.exit(75)
"""

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
Stage = Any  # of this folder's conftest, which cannot be imported


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("import nothing_of_that_name", "No module named 'nothing_of_that_name'"),
        ("import sys; sys.exit('no such data set')", "worker 0 exited with 1: no such data set"),
        ("import os; os._exit(3)", "worker 0 exited with 3"),
        ("import os; os.kill(os.getpid(), 9)", "worker 0 was killed by Killed (signal 9)"),
        ("import sys; sys.exit(75)", "nobody had asked"),
    ],
)
def test_a_job_that_fails_says_why_in_one_line(stage: Stage, script: str, line: str) -> None:
    stage.play.tell(1, 0)
    stage.start(script)
    failed = stage.until_phase(AgentPhase.FAILED, 1)
    assert stage.until_gone() == 0
    assert line in failed.message
    assert "\n" not in failed.message
    assert stage.where.result() == failed


def test_the_restart_delay_is_from_the_order_to_yield_to_the_first_step(stage: Stage) -> None:
    """Past bug: workers told one of their own, measured by another clock, and that was believed."""
    told = replace(report(1.0), restart_s=1e6)
    news = encode(WorkerNews(stepped=True, report=told)).decode()
    stage.play.tell(1, 0)
    stage.start(
        ELASTIC.replace(
            'print(json.dumps({"stepped": True}), file=news)', f"print({news!r}, file=news)"
        )
    )
    first = stage.until_phase(AgentPhase.RUNNING, 1)
    stage.play.tell(2, 0)
    second = stage.until_phase(AgentPhase.RUNNING, 2)
    assert first.report is not None
    assert first.report.restart_s is None
    assert second.report is not None
    assert second.report.restart_s is not None
    assert 0 < second.report.restart_s < 1e6


def test_a_missing_script_is_named(stage: Stage) -> None:
    stage.play.tell(1, 0)
    stage.start("", command=("python", "missing.py"))
    message = stage.until_phase(AgentPhase.FAILED).message
    assert message == f"launch.command: there is no script missing.py in {stage.scripts}"
    assert stage.until_gone() == 0


def test_a_job_that_exits_at_once_is_finished(stage: Stage) -> None:
    stage.play.tell(1, 0, 1)
    stage.start("import os; print('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])")
    finished = stage.until_phase(AgentPhase.FINISHED, 1)
    assert stage.until_gone() == 0
    assert stage.where.result() == finished
    assert sorted(stage.log().split("\n")) == ["", "rank 0 of 2", "rank 1 of 2"]


def test_one_failing_worker_ends_them_all(stage: Stage) -> None:
    stage.play.tell(1, 0, 1, 2)
    stage.start(
        "import os, time\n"
        "if os.environ['RANK'] == '1':\n    raise ValueError('odd')\n"
        "time.sleep(1000)\n"
    )
    assert stage.until_phase(AgentPhase.FAILED).message == "worker 1 exited with 1: ValueError: odd"
    assert stage.until_gone() == 0
    assert stage.log().count("File ") == 1, "of the script alone, not of how it was started"


def test_each_generation_is_of_the_wanted_size_and_yields_when_asked(stage: Stage) -> None:
    stage.play.tell(1, 0)
    stage.start(ELASTIC)
    agent = psutil.Process(stage.agent.pid)
    for generation, slots in ((1, (0,)), (2, (0, 1, 2)), (3, (1, 2))):
        stage.play.tell(generation, *slots)
        stage.until_phase(AgentPhase.RUNNING, generation)
        assert len(agent.children(recursive=True)) == len(slots)
        assert stage.orders()["generation"] == generation
    stage.play.tell(4)
    stage.until(lambda: stage.play.heard[-1].phase is AgentPhase.IDLE, "idle")
    assert agent.children(recursive=True) == []
    stage.play.tell(4, cancel=True)
    assert stage.until_gone() == 0
    assert _epochs(stage) == [1, 2, 3]  # also the last one's, though it came with its end


def test_without_a_service_a_job_goes_on_and_keeps_its_news(stage: Stage) -> None:
    """The service comes back on another port; what was told meanwhile is told to it, once."""
    stage.play.tell(1, 0)
    stage.start(ELASTIC)
    stage.until(lambda: _epochs(stage) == [1], "the first epoch")
    workers = [child.pid for child in psutil.Process(stage.agent.pid).children()]
    stage.server.stop()
    (stage.scripts / "tell").write_text("")
    stage.until(lambda: not (stage.scripts / "tell").exists(), "an epoch while nobody listens")
    stage.server.start(stage.play)
    stage.until(lambda: _epochs(stage) == [1, 10], "the epoch that nobody heard")
    assert workers == [child.pid for child in psutil.Process(stage.agent.pid).children()]
    stage.play.tell(2, 0, 1)
    stage.until(lambda: _epochs(stage) == [1, 10, 2], "the next generation")
    sequences = [message.sequence for message in stage.play.heard]
    assert sequences == sorted(sequences)


def test_a_job_that_ends_unheard_leaves_its_result_with_its_news(stage: Stage) -> None:
    stage.play.tell(1, 0)
    stage.start(ELASTIC)
    stage.until(lambda: _epochs(stage) == [1], "the first epoch")
    stage.server.stop()
    (stage.scripts / "tell").write_text("")
    stage.until(lambda: not (stage.scripts / "tell").exists(), "an epoch while nobody listens")
    (stage.scripts / "end").write_text("")
    stage.until(lambda: stage.where.result() is not None, "a result")
    result = stage.where.result()
    assert result.phase is AgentPhase.FINISHED
    assert [epoch.epoch for epoch in result.epochs] == [10]
    assert result.sequence > stage.play.heard[-1].sequence
    stage.server.start(stage.play)
    stage.until_phase(AgentPhase.FINISHED)
    assert _epochs(stage) == [1, 10]
    assert stage.until_gone() == 0


def test_what_a_worker_leaves_behind_is_killed(stage: Stage) -> None:
    """Also a grandchild in a session of its own whose parent is gone."""
    stage.play.tell(1, 0)
    stage.start(
        "import subprocess\n"
        "subprocess.Popen(['sh', '-c', 'setsid sleep 1000 & echo $! > pid'], env={}).wait()\n"
    )
    stage.until_phase(AgentPhase.FINISHED)
    assert not psutil.pid_exists(int((stage.scripts / "pid").read_text()))


def test_workers_die_with_their_agent_without_anybody_s_help(stage: Stage) -> None:
    stage.play.tell(1, 0, 1)
    stage.start(ELASTIC)
    stage.until_phase(AgentPhase.RUNNING, 1)
    workers = psutil.Process(stage.agent.pid).children()
    assert len(workers) == 2
    stage.agent.kill()
    gone, alive = psutil.wait_procs(workers, timeout=60)
    assert (len(gone), alive) == (2, [])


def test_an_idle_agent_goes_when_told_and_a_signal_is_such_a_word(stage: Stage) -> None:
    stage.start(ELASTIC)
    stage.until_phase(AgentPhase.IDLE)
    stage.agent.terminate()
    assert stage.until_gone() == 0


def test_a_worker_that_cannot_hear_is_made_to_yield(stage: Stage) -> None:
    """A program of its own knows no flag, and is one process whatever its slots."""
    stage.play.tell(1, 0)
    stage.start("", command=("sleep", "1000"))
    stage.until_phase(AgentPhase.RUNNING, 1)
    stage.play.tell(2)
    stage.until(lambda: stage.play.heard[-1].phase is AgentPhase.IDLE, "idle")
    stage.play.tell(3, 0, 1)
    stage.until_phase(AgentPhase.RUNNING, 3)
    assert len(psutil.Process(stage.agent.pid).children()) == 1


def test_workers_are_started_in_another_interpreter_too(stage: Stage, tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.write_text(f'#!/bin/sh\necho other\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    stage.play.tell(1, 0, 1)
    stage.start(ELASTIC, command=(str(other), "script.py"))
    stage.until_phase(AgentPhase.RUNNING, 1)
    stage.play.tell(2, 0)
    stage.until_phase(AgentPhase.RUNNING, 2)
    assert stage.log().count("other") == 3


def test_the_parent_of_the_workers_is_warm_and_has_one_thread(stage: Stage) -> None:
    """A fork copies one thread only, and no CUDA context survives it."""
    pytest.importorskip("torch", reason="needs the extra headway[agent]")
    stage.play.tell(1, 0, 1)
    script = (
        "import json, os, sys  # each RANK tells\n"
        "warm = {'torch.optim', 'scipy.special'} < set(sys.modules)\n"
        "import scipy.special, torch\n"
        "weight = torch.nn.Parameter(torch.ones(2))\n(weight ** 2).sum().backward()\n"
        "torch.optim.SGD([weight], lr=0.5).step()\n"
        "print(json.dumps([warm, torch.cuda.is_initialized(), weight.tolist()]))\n"
        "threads = os.listdir(f'/proc/{os.getppid()}/task')\nprint(json.dumps(len(threads)))\n"
    )
    stage.start(script, HEADWAY_WARM="1", OMP_NUM_THREADS="1")
    stage.until_phase(AgentPhase.FINISHED)
    lines = sorted(json.loads(line) for line in stage.log().splitlines() if line.isdigit())
    assert lines == [1, 1]
    assert stage.log().count("[true, false, [0.0, 0.0]]") == 2
    assert os.environ.get("HEADWAY_WARM") is None


def _epochs(stage: Stage) -> list[int]:
    """In the messages without those that were repeated."""
    messages = {message.sequence: message for message in stage.play.heard}
    epochs: list[EpochCount] = [epoch for m in messages.values() for epoch in m.epochs]
    return [epoch.epoch for epoch in epochs]
