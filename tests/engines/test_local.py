"""Jobs as real processes, and whatever may be killed of them."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from headway.core.control.commands import StopReason
from headway.core.control.events import Event, JobFailed, JobFinished, JobStarted, JobStopped
from headway.core.types import JobSpec, Launch
from headway.engines import cgroup
from headway.engines.processes import marked
from headway.protocol.jobdir import JobDir
from headway.protocol.messages import AgentPhase
from headway.testing.agents import AgentServer, LockedEngine
from headway.testing.engines import (
    EngineContract,
    a_job,
    idle,
    observe_until,
    run,
    started,
    stop,
    stopped,
)

Launcher = Callable[..., Launch]


class TestLocalEngine(EngineContract):
    @pytest.fixture(autouse=True)
    def _launch(self, launch: Launcher) -> None:
        self._elastic = launch("python", "elastic.py")

    def launch(self) -> Launch:
        return self._elastic


class TestResizesInsideWorkers:
    """Who stays is not restarted, and what an engine promises of resizes holds as before."""

    @pytest.fixture(autouse=True)
    def _launch(self, launch: Launcher) -> None:
        self._switching = launch("python", "switching.py")

    def job(self, job_id: str) -> JobSpec:
        return a_job(job_id, self._switching)

    test_keeps = EngineContract.test_a_job_grows_and_shrinks_and_keeps_what_it_can
    test_same_size = EngineContract.test_a_job_may_be_started_anew_at_the_same_size
    test_waits = EngineContract.test_a_job_that_grows_waits_for_one_that_shrinks
    test_stops = EngineContract.test_a_stopped_job_gives_all_back_and_can_go_on

    def test_who_stays_is_not_restarted(self, engine: LockedEngine, tmp_path: Path) -> None:
        job = self.job("a")
        events: list[Event] = []
        for generation, gpus in enumerate((2, 4, 1), start=1):
            engine.apply(run(engine, job, gpus, generation))
            events += observe_until(engine, started(job, generation))
        starts = [event for event in events if isinstance(event, JobStarted)]
        assert [(e.stall_s, e.in_process) for e in starts] == [(None, False)] + [(0.25, True)] * 2
        log = JobDir(tmp_path / "state" / "jobs" / "a").log_file.read_text().splitlines()
        first = [line.split("pid ")[1] for line in log if " rank 0 " in line]
        assert len(first) == 3
        assert len(set(first)) == 1
        observe_until(engine, lambda _: processes(tmp_path) == 2)  # the agent and its last worker

    def test_a_slot_is_free_when_nothing_of_a_leaver_is_left(
        self, engine: LockedEngine, tmp_path: Path, scripts: Path
    ) -> None:
        """Also not what it had put into a session of its own; what others have started stays."""
        grandchild = "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=1)\n"
        script = scripts / "switching.py"
        script.write_text(grandchild + script.read_text())
        job = self.job("a")
        engine.apply(run(engine, job, 3, 1))
        observe_until(engine, started(job, 1))
        assert processes(tmp_path) == 7
        engine.apply(run(engine, job, 1, 2))
        observe_until(engine, lambda _: len(engine.holds()[job.job_id]) == 1)
        assert processes(tmp_path) == 3


def ended(events: list[Event]) -> bool:
    return any(isinstance(event, JobFinished | JobFailed) for event in events)


def processes(tmp_path: Path) -> int:
    return sum(len(found) for path, found in marked().items() if path.is_relative_to(tmp_path))


def test_a_job_that_comes_to_its_end_is_finished(engine: LockedEngine, launch: Launcher) -> None:
    job = a_job("a", launch("python", "-u", "elastic.py", "5"))
    engine.apply(run(engine, job, 2, 1))
    events = observe_until(engine, ended)
    assert JobFinished(at_s=1.0, job_id=job.job_id) in events
    assert engine.holds() == {}
    # a decision that was made before anybody knew
    engine.apply(run(engine, job, 3, 2))
    observe_until(engine, stopped(job, 2))
    engine.apply(run(engine, job, 3, 3))
    assert engine.holds() == {}
    assert engine.inner._jobs == {}  # type: ignore[attr-defined]
    assert engine.inner._applied == {}  # type: ignore[attr-defined]


def test_workers_are_told_the_gpu_type_of_their_node(
    engine: LockedEngine, launch: Launcher, tmp_path: Path
) -> None:
    """Without a GPU the slots are of type cpu, as the node says."""
    say = "import os; print('on', os.environ['HEADWAY_GPU_TYPE'])"
    job = a_job("a", launch("python", "-c", say))
    engine.apply(run(engine, job, 1, 1))
    observe_until(engine, ended)
    (node,) = engine.inner.nodes()
    assert node.gpu_type == "cpu"
    assert f"on {node.gpu_type}" in JobDir(tmp_path / "state" / "jobs" / "a").log_file.read_text()


def test_a_cancelled_job_is_forgotten(engine: LockedEngine, launch: Launcher) -> None:
    """Past leak: the keys of all commands ever applied were kept."""
    job = a_job("a", launch("python", "elastic.py"))
    engine.apply(run(engine, job, 1, 1))
    observe_until(engine, started(job, 1))
    engine.apply(stop(job, 1, StopReason.CANCEL))
    observe_until(engine, lambda _: engine.inner._jobs == {})  # type: ignore[attr-defined]
    assert engine.inner._applied == {}  # type: ignore[attr-defined]


def test_no_worker_outlives_a_killed_agent(
    engine: LockedEngine, launch: Launcher, tmp_path: Path, scripts: Path
) -> None:
    """Nor a grandchild in a session of its own; the job can be run again."""
    grandchild = "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
    elastic = (scripts / "elastic.py").read_text()
    (scripts / "parent.py").write_text(grandchild + elastic)
    job = a_job("a", launch("python", "parent.py"))
    engine.apply(run(engine, job, 2, 1))
    observe_until(engine, started(job, 1))
    assert processes(tmp_path) == 5
    agent = JobDir(tmp_path / "state" / "jobs" / "a").agent()
    assert agent is not None
    os.kill(agent.pid, signal.SIGKILL)
    events = observe_until(engine, stopped(job, 1))
    assert [event.message for event in events if isinstance(event, JobStopped)] == [
        "its agent was lost"
    ]
    assert processes(tmp_path) == 0
    assert engine.holds() == {}
    engine.apply(run(engine, job, 1, 2))
    observe_until(engine, started(job, 2))


def test_not_even_a_process_without_any_mark_escapes(
    engine: LockedEngine, launch: Launcher, tmp_path: Path, scripts: Path
) -> None:
    """No session, no parent, no environment in common with the job; the agent is killed first."""
    group = cgroup.create(tmp_path)
    if group is None:
        pytest.skip("needs a writable control group (cgroup v2)")
    cgroup.kill(group)
    sleeper = "['sh', '-c', 'setsid sleep 1000 & echo $! > pid'], env={'PATH': os.defpath}"
    elastic = (scripts / "elastic.py").read_text()
    (scripts / "parent.py").write_text(
        f"import os, subprocess\nsubprocess.run({sleeper})\n" + elastic
    )
    job = a_job("a", launch("python", "parent.py"))
    engine.apply(run(engine, job, 1, 1))
    observe_until(engine, started(job, 1))
    sleeping = int((scripts / "pid").read_text())
    assert psutil.pid_exists(sleeping)
    agent = JobDir(tmp_path / "state" / "jobs" / "a").agent()
    assert agent is not None
    assert agent.group is not None
    os.kill(agent.pid, signal.SIGKILL)
    observe_until(engine, stopped(job, 1))
    assert not psutil.pid_exists(sleeping) or psutil.Process(sleeping).status() == "zombie"
    assert cgroup.kill(Path(agent.group))


def test_a_new_service_finds_its_jobs_running(
    new_engine: Callable[[], LockedEngine], server: AgentServer, launch: Launcher, tmp_path: Path
) -> None:
    """Kept: the workers themselves. Stopped: what nobody wants any more."""
    engine = new_engine()
    kept, unwanted = (a_job(name, launch("python", "elastic.py")) for name in "ab")
    engine.apply(run(engine, kept, 2, 1))
    engine.apply(run(engine, unwanted, 1, 1))
    observe_until(engine, lambda e: started(kept, 1)(e) and started(unwanted, 1)(e))
    held = engine.holds()
    workers = {p.pid for p in marked()[tmp_path / "state" / "jobs" / "a" / "job.json"]}
    server.stop()
    engine.close(stop_jobs=False)

    again = new_engine()
    again.adopt((run(again, kept, 2, 1),))
    assert again.holds() == held
    observe_until(again, started(kept, 1))  # it says again what it may have said to the dead
    observe_until(again, lambda _: set(again.holds()) == {kept.job_id})
    again.apply(stop(unwanted, 2))
    observe_until(again, stopped(unwanted, 2))
    assert workers == {p.pid for p in marked()[tmp_path / "state" / "jobs" / "a" / "job.json"]}
    again.apply(run(again, kept, 4, 2))
    observe_until(again, started(kept, 2))


def test_slots_that_changed_hands_are_not_claimed_twice(
    new_engine: Callable[[], LockedEngine], server: AgentServer, launch: Launcher
) -> None:
    """Story: one had shrunk, another had grown, and after a restart both held the same slots."""
    engine = new_engine()
    one, other = (a_job(name, launch("python", "elastic.py")) for name in "ab")
    engine.apply(run(engine, one, 3, 1))
    observe_until(engine, started(one, 1))
    engine.apply(run(engine, one, 1, 2))
    engine.apply(run(engine, other, 3, 1))
    observe_until(engine, lambda e: started(one, 2)(e) and started(other, 1)(e))
    held = engine.holds()
    server.stop()
    engine.close(stop_jobs=False)
    again = new_engine()
    again.adopt((run(again, one, 1, 2), run(again, other, 3, 1)))
    assert again.holds() == held


def test_a_new_service_learns_what_happened_meanwhile(
    new_engine: Callable[[], LockedEngine], server: AgentServer, launch: Launcher, tmp_path: Path
) -> None:
    engine = new_engine()
    finished, lost = a_job("a", launch("python", "elastic.py", "60")), a_job("b", self_(launch))
    engine.apply(run(engine, finished, 1, 1))
    engine.apply(run(engine, lost, 1, 1))
    observe_until(engine, lambda e: started(finished, 1)(e) and started(lost, 1)(e))
    server.stop()
    jobs = tmp_path / "state" / "jobs"
    observe_until(engine, lambda _: JobDir(jobs / "a").result() is not None)
    for name in "ab":
        agent = JobDir(jobs / name).agent()
        assert agent is not None
        psutil.Process(agent.pid).kill()
    engine.close(stop_jobs=False)

    again = new_engine()
    again.adopt((run(again, finished, 1, 1), run(again, lost, 1, 1)))
    events = observe_until(again, lambda e: ended(e) and stopped(lost, 1)(e))
    assert JobFinished(at_s=1.0, job_id=finished.job_id) in events
    assert again.holds() == {}


def self_(launch: Launcher) -> Launch:
    return launch("python", "elastic.py")


def test_a_recycled_process_number_is_not_mistaken(
    new_engine: Callable[[], LockedEngine], launch: Launcher, tmp_path: Path
) -> None:
    """The number of a living process, but of another start: ours."""
    engine = new_engine()
    job = a_job("a", launch("python", "elastic.py"))
    where = JobDir(tmp_path / "state" / "jobs" / "a")
    where.path.mkdir(parents=True)
    (where.path / "agent.json").write_text(f'{{"pid": {os.getpid()}, "started_s": 1.0}}')
    engine.adopt((run(engine, job, 1, 1),))
    observe_until(engine, stopped(job, 1))


def test_a_hanging_job_that_ignores_sigterm_is_cancelled(
    engine: LockedEngine, launch: Launcher, tmp_path: Path, scripts: Path
) -> None:
    (scripts / "deaf.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(1000)\n"
    )
    job = a_job("a", launch("python", "deaf.py"))
    engine.apply(run(engine, job, 3, 1))
    observe_until(engine, started(job, 1))
    engine.apply(stop(job, 1, StopReason.CANCEL))
    observe_until(engine, idle(engine))
    observe_until(engine, lambda _: processes(tmp_path) == 0)


def test_an_agent_that_hangs_is_killed_for_its_job(
    engine: LockedEngine, launch: Launcher, tmp_path: Path
) -> None:
    """Cancelled while its agent is stopped by a signal: nothing can answer, all must go."""
    job = a_job("a", launch("python", "elastic.py"))
    engine.apply(run(engine, job, 2, 1))
    observe_until(engine, started(job, 1))
    agent = JobDir(tmp_path / "state" / "jobs" / "a").agent()
    assert agent is not None
    os.kill(agent.pid, signal.SIGSTOP)
    engine.apply(stop(job, 1, StopReason.CANCEL))
    observe_until(engine, idle(engine))
    assert processes(tmp_path) == 0


def test_an_agent_that_cannot_start_fails_its_job_once(
    engine: LockedEngine, launch: Launcher
) -> None:
    """Reported as stopped it would be started again, and again."""
    job = a_job("a", launch("python", "elastic.py", PYTHONHOME="/nowhere"))
    engine.apply(run(engine, job, 1, 1))
    events = observe_until(engine, ended)
    assert ["could not be started" in e.message for e in events if isinstance(e, JobFailed)] == [
        True
    ]
    assert engine.holds() == {}


def test_an_agent_told_by_a_signal_to_go_lets_its_workers_save(
    engine: LockedEngine, launch: Launcher, tmp_path: Path
) -> None:
    job = a_job("a", launch("python", "elastic.py"))
    engine.apply(run(engine, job, 2, 1))
    observe_until(engine, started(job, 1))
    agent = JobDir(tmp_path / "state" / "jobs" / "a").agent()
    assert agent is not None
    os.kill(agent.pid, signal.SIGTERM)
    observe_until(engine, stopped(job, 1))
    assert AgentPhase.YIELDING in {message.phase for message in engine.heard}
    assert engine.heard[-1].phase is AgentPhase.IDLE
