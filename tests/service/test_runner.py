"""The round loop: what is kept, when it decides, and that nothing is lost or done twice."""

from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.control.commands import Command, RunJob, StopJob
from headway.core.control.events import (
    BatchChanged,
    EpochRead,
    Event,
    JobCancelled,
    JobFinished,
    JobReported,
    JobStarted,
    JobStopped,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    RoundDecided,
    RoundStarted,
    RunOpened,
)
from headway.core.control.fold import rebuild
from headway.core.control.lifecycle import Phase
from headway.core.control.state import State
from headway.core.errors import InvalidInputError, UnavailableError
from headway.core.ids import JobId, NodeId
from headway.core.policy import make
from headway.core.policy.base import Traits
from headway.core.types import Decision, Node, Snapshot
from headway.engines.memory import MemoryEngine
from headway.protocol.messages import AgentPhase, AgentReport, Directive, EpochCount
from headway.service.store.base import Logged, StoreError
from headway.service.store.memory import MemoryStore
from headway.testing.stores import change, report, spec

A = JobId("a")


def facts(state: State[Any]) -> State[Any]:
    """What a log can tell: neither the policy's memory nor what was decided in this process."""
    return replace(state, memory=None, decided=None)


def test_a_job_is_started_at_a_round_start_and_ends_by_its_agents_word(world: Any) -> None:
    world.submit("a")
    world.after(0)
    assert world.runner.state.jobs[A].phase is Phase.STARTING
    world.after(1)
    assert world.runner.state.jobs[A].phase is Phase.RUNNING
    world.hear("a", AgentPhase.FINISHED, report=report(7.0), sequence=1)
    world.after(1)
    assert A not in world.runner.state.jobs
    kinds = [type(event) for event in world.log()]
    assert kinds == [
        RunOpened,
        NodeJoined,
        JobSubmitted,
        RoundStarted,
        RoundDecided,
        JobStarted,
        JobReported,  # before the end: the last thing that a job says is known
        JobFinished,
    ]
    record = world.runner.board.job("a")
    assert record is not None
    assert (record.phase, record.report) == (Phase.FINISHED, report(7.0))


def test_decisions_are_made_at_round_starts_only_and_only_while_there_are_jobs(world: Any) -> None:
    world.after(500)
    assert world.log(RoundStarted) == []
    world.submit("a")
    world.after(1)  # idle for longer than a round: the first job need not wait
    world.submit("b")
    for _ in range(65):
        world.after(1)
    assert [event.at_s for event in world.log(RoundStarted)] == [1501.0, 1561.0]
    assert world.runner.state.jobs[JobId("b")].allocation.gpus == 2
    world.put(JobCancelled(at_s=world.now_s, job_id=A))
    world.put(JobCancelled(at_s=world.now_s, job_id=JobId("b")))
    world.after(1)
    world.after(600)
    assert len(world.log(RoundStarted)) == 2
    assert world.engine.holds() == {}


def test_it_says_how_far_ahead_a_decision_plans(world: Any) -> None:
    """The trait was there for one who would read it, and nobody did."""
    assert world.runner.horizon_s == 60.0
    world.policy = make("shockwave", {"window_rounds": "7"})
    world.policy_name = "shockwave"
    world.start()
    assert world.runner.horizon_s == 7 * 60.0


def test_a_report_is_logged_now_and_then_but_a_policy_is_told_the_latest(world: Any) -> None:
    world.submit("a")
    world.after(0)
    for second in range(59):
        world.hear("a", report=report(float(second)), sequence=second + 1)
        world.after(1)
    before = len(world.log(JobReported))
    assert 10 <= before <= 13
    world.hear("a", report=report(99.0), sequence=60)
    world.after(1)
    assert isinstance(world.log()[-2], RoundStarted)
    assert world.log(JobReported)[-1].report == report(99.0)
    assert world.runner.state.jobs[A].report == report(99.0)


def test_a_report_that_comes_late_does_not_hide_a_later_one(world: Any) -> None:
    world.submit("a")
    world.after(0)
    world.hear("a", report=report(2.0), sequence=2)
    world.hear("a", report=report(1.0), sequence=1)
    world.after(10)
    assert [event.report for event in world.log(JobReported)] == [report(2.0)]


def test_news_that_an_agent_sends_again_counts_once(world: Any) -> None:
    """An agent that did not hear the answer sends its message as it was, or in a later one."""
    world.submit("a")
    world.after(0)
    epoch = EpochCount(epoch=0, samples=9, read_least=1, read_most=1)
    for sequence in (1, 1, 2):
        world.hear("a", changes=(change(),), epochs=(epoch,), sequence=sequence)
    world.start()  # nor after a restart of the service
    world.hear("a", changes=(change(),), epochs=(epoch,), sequence=3)
    assert len(world.log(BatchChanged)) == 1
    assert len(world.log(EpochRead)) == 1


def test_news_of_a_job_that_has_ended_is_kept_and_of_an_unknown_one_is_not(world: Any) -> None:
    world.submit("a")
    world.after(0)
    world.hear("a", AgentPhase.FINISHED)
    world.after(1)
    world.hear("a", AgentPhase.FINISHED, changes=(change(),))
    world.hear("nobody", changes=(change(),))
    assert [event.job_id for event in world.log(BatchChanged)] == [A]


@pytest.mark.parametrize("end", ["finish", "fail", "cancel"])
def test_what_is_remembered_of_a_job_is_forgotten_at_its_end(world: Any, end: str) -> None:
    """Past leak: the news and the last report of every job that there ever was were kept."""
    for number in range(3):
        world.submit(f"job{number}")
        world.after(61)
        world.hear(f"job{number}", report=report(1.0), changes=(change(),), sequence=1)
        world.after(6)
        world.hear(f"job{number}", report=report(2.0), changes=(change(),), sequence=2)
        _do(world, end, 0)
        world.hear(f"job{number}", report=report(3.0), changes=(change(),), sequence=3)
        world.after(6)
    runner = world.runner
    assert runner.state.jobs == {}
    for kept in (runner._reports._waiting, runner._reports._taken, runner._reports._heard):
        assert kept == {}
    assert runner._told._keys == {}
    assert len(world.log(BatchChanged)) == (3 if end == "cancel" else 6)  # late: told before
    told = [event.report.progress_examples for event in world.log(JobReported)]
    assert told[:2] == [1.0, 2.0]
    assert 3.0 not in told


def test_what_is_past_is_no_news(world: Any) -> None:
    world.submit("a")
    world.after(0)
    world.after(1)
    before = len(world.log())
    for late in (
        JobStarted(at_s=0.0, job_id=A, generation=1),  # it runs already
        JobStarted(at_s=0.0, job_id=A, generation=7),
        JobStopped(at_s=0.0, job_id=A, generation=0),
        JobFinished(at_s=0.0, job_id=JobId("nobody")),
    ):
        world.put(late)
    world.after(1)
    assert len(world.log()) == before


def test_a_taken_name_is_refused_and_the_loop_goes_on(world: Any) -> None:
    world.submit("a")
    done = world.put(JobSubmitted(at_s=0.0, job=spec("a")))
    world.after(0)
    with pytest.raises(InvalidInputError, match="taken"):
        done.result(timeout=0)
    assert len(world.log(JobSubmitted)) == 1
    assert world.runner.state.jobs[A].phase is Phase.STARTING


def test_a_clock_that_goes_back_does_not_take_the_log_with_it(world: Any) -> None:
    world.submit("a")
    world.after(10)
    world.now_s -= 500
    world.hear("a", changes=(change(),))
    times = [event.at_s for event in world.log()]
    assert times == sorted(times)


def test_rounds_go_on_when_the_clock_is_set_back(world: Any) -> None:
    """Past bug: the time stood still until the clock had caught up, an hour without a round."""
    world.submit("a")
    world.after(0)
    world.after(-3600)
    world.after(59)
    assert len(world.log(RoundStarted)) == 1
    world.after(1)
    assert [event.at_s for event in world.log(RoundStarted)] == [1000.0, 1060.0]
    world.after(60)
    assert len(world.log(RoundStarted)) == 3


def test_rounds_go_on_when_the_clock_was_set_back_while_the_service_was_down(world: Any) -> None:
    world.submit("a")
    world.after(0)
    world.now_s -= 3600
    world.start()
    world.after(60)
    assert [event.at_s for event in world.log(RoundStarted)] == [1000.0, 1060.0]


def test_another_policy_at_a_later_start_is_told_in_the_log(world: Any) -> None:
    world.start()
    assert len(world.log(RunOpened)) == 1
    world.policy_name = "other"
    world.start()
    assert [event.policy for event in world.log(RunOpened)] == ["share", "other"]


def test_a_node_that_has_changed_is_lost_and_joins_anew(world: Any, make_world: Any) -> None:
    world.submit("a", max_gpus=4)
    world.after(0)
    again = make_world(
        store=world.store, engine=MemoryEngine((Node(node_id=NodeId("n0"), gpus=2),))
    )
    assert [node.gpus for node in again.runner.state.nodes.values()] == [2]
    assert len(again.log(NodeLost)) == 1
    again.after(100)
    assert again.runner.state.jobs[A].allocation.gpus == 2
    assert again.engine.holds() == {A: (0, 1)}


def test_jobs_run_on_where_only_cpus_or_memory_are_others(world: Any, make_world: Any) -> None:
    """A log of before nodes had any, or a kernel with other memory: all that ran was stopped."""
    world.submit("a", max_gpus=4)
    world.after(0)
    (node,) = world.engine.nodes()
    world.engine._nodes = (replace(node, cpus=2.0, memory_gb=7.5),)
    again = make_world(store=world.store, engine=world.engine)
    assert tuple(again.runner.state.nodes.values()) == world.engine.nodes()
    assert again.log(NodeLost) == []
    assert again.runner.state.jobs[A].allocation == world.runner.state.jobs[A].allocation
    again.after(100)
    assert again.runner.state.jobs[A].generation == 1


class Crash(BaseException):
    """The process is gone."""


def test_commands_that_were_kept_are_applied_after_a_crash(world: Any, make_world: Any) -> None:
    nodes = world.engine.nodes()
    dying = make_world(engine=_dead(nodes))
    dying.submit("a")
    with pytest.raises(Crash):
        dying.after(0)
    engine = MemoryEngine(nodes)
    again = make_world(store=dying.store, engine=engine)
    again.after(1)
    again.after(61)
    again.after(1)
    assert engine.holds() == {A: (0, 1)}
    assert again.runner.state.jobs[A].phase is Phase.RUNNING
    assert again.store.pending() == ()


def _dead(nodes: tuple[Node, ...]) -> Any:
    engine = MemoryEngine(nodes)
    engine.apply = lambda command: (_ for _ in ()).throw(Crash())  # type: ignore[method-assign]
    return engine


def test_a_cancel_that_was_kept_is_carried_out_after_a_crash(world: Any) -> None:
    world.submit("a")
    world.after(0)
    apply = world.engine.apply
    world.engine.apply = _dead(()).apply
    world.put(JobCancelled(at_s=world.now_s, job_id=A))
    with pytest.raises(Crash):
        world.after(1)
    assert world.engine.holds() == {A: (0, 1)}
    world.engine.apply = apply
    world.start()
    assert world.engine.holds() == {}
    assert world.store.pending() == ()


def test_an_engine_that_fails_is_tried_again_at_the_next_round(world: Any) -> None:
    apply, failures = world.engine.apply, [OSError("no more processes")]

    def sometimes(command: Command) -> None:
        if failures:
            raise failures.pop()
        apply(command)

    world.engine.apply = sometimes
    world.submit("a")
    world.after(0)
    assert world.engine.holds() == {}
    assert "no more processes" in (world.runner.trouble or "")
    world.after(60)
    assert world.engine.holds() == {A: (0, 1)}
    assert world.runner.trouble is None


def test_an_engine_that_cannot_be_observed_stops_nobody(world: Any) -> None:
    def observe(now_s: float) -> tuple[Event, ...]:
        raise RuntimeError("psutil has a bug")

    world.engine.observe = observe
    world.submit("a")
    world.after(0)
    assert world.engine.holds() == {A: (0, 1)}
    world.after(1)
    assert "psutil has a bug" in (world.runner.trouble or "")


def test_an_engine_that_cannot_hear_is_told_to_the_agent(world: Any) -> None:
    def hear(message: AgentReport) -> Directive:
        raise OSError("no space left")

    world.engine.hear = hear
    message = AgentReport(job_id="a", phase=AgentPhase.IDLE, generation=0)
    with pytest.raises(UnavailableError, match="no space left"):
        world.runner.hear(message)


class Broken:
    """A policy with a bug."""

    traits = Traits()
    asked = 0

    def start(self) -> None:
        """Nothing to remember."""

    def decide(
        self, snapshot: Snapshot, memory: None, rng: np.random.Generator
    ) -> tuple[Decision, None]:
        self.asked += 1
        raise ZeroDivisionError("in a policy")


def test_a_policy_that_raises_is_asked_again_at_the_next_round_and_not_before(
    make_world: Any,
) -> None:
    world = make_world(policy=Broken())
    world.submit("a")
    for _ in range(61):
        world.after(1)
    assert world.policy.asked == 2
    assert world.log(RoundStarted) == []
    assert "in a policy" in (world.runner.trouble or "")


class FullDisk:
    """A store that can take so many events."""

    def __init__(self, room: int) -> None:
        self._inner = MemoryStore()
        self._room = room

    def append(self, events: Any, commands: Any = ()) -> int:
        self._room -= len(events)
        if self._room < 0:
            raise StoreError("the event log cannot be written: disk is full")
        return self._inner.append(events, commands)

    def load(self, *args: Any, **kwargs: Any) -> list[Logged]:
        return list(self._inner.load(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_a_full_disk_ends_the_loop_and_nobody_waits_in_vain(make_world: Any) -> None:
    world = make_world(store=FullDisk(room=4))
    waiting: list[Future[Event]] = [
        world.put(JobSubmitted(at_s=world.now_s, job=spec(name, world.now_s))) for name in "abcd"
    ]
    with pytest.raises(StoreError, match="disk is full"):
        world.runner.turn()
    assert [done.done() for done in waiting] == [True] * 4
    assert [done.exception() is None for done in waiting] == [True, True, False, False]
    assert [event.job.job_id for event in world.log(JobSubmitted)] == ["a", "b"]
    assert set(world.runner.state.jobs) == {"a", "b"}  # what is not kept did not happen


def test_after_closing_whoever_asks_is_told(world: Any) -> None:
    waiting = world.put(JobSubmitted(at_s=0.0, job=spec("a")))
    world.runner.close()
    late = world.put(JobSubmitted(at_s=0.0, job=spec("b")))
    for done in (waiting, late):
        with pytest.raises(UnavailableError, match="stopping"):
            done.result(timeout=0)


DEEDS = st.one_of(
    st.tuples(st.just("submit"), st.integers(0, 3)),
    st.tuples(st.just("cancel"), st.integers(0, 5)),
    st.tuples(st.just("report"), st.integers(0, 5)),
    st.tuples(st.just("finish"), st.integers(0, 5)),
    st.tuples(st.just("fail"), st.integers(0, 5)),
    st.tuples(st.just("wait"), st.integers(0, 90)),
)


def _do(world: Any, deed: str, number: int) -> None:
    jobs = list(world.runner.state.jobs)
    if deed == "submit":
        world.submit(world.runner.board.free_id("job"), max_gpus=number + 1)
    elif deed == "wait":
        world.after(number)
    elif jobs:
        job_id = jobs[number % len(jobs)]
        if deed == "cancel":
            world.put(JobCancelled(at_s=world.now_s, job_id=job_id))
        else:
            phase = {"report": AgentPhase.RUNNING, "finish": AgentPhase.FINISHED}
            world.hear(
                job_id,
                phase.get(deed, AgentPhase.FAILED),
                report=report(world.now_s),
                changes=(change(samples=int(world.now_s)),),
            )
    world.after(1)


@settings(max_examples=40)
@given(deeds=st.lists(DEEDS, max_size=25))
def test_a_log_tells_the_state_of_the_process_that_wrote_it(
    deeds: list[tuple[str, int]], make_world: Any
) -> None:
    """The law of restarts: the fold of the log is the state, and what runs is what is wanted."""
    world = make_world()
    for deed, number in deeds:
        _do(world, deed, number)
    told = rebuild((logged.event for logged in world.store.load()), State(memory=None))
    before = facts(world.runner.state)
    assert facts(told) == before
    shown = world.runner.board.jobs()
    held = {job_id: len(slots) for job_id, slots in world.engine.holds().items()}
    world.start()
    assert facts(world.runner.state) == before
    assert world.runner.board.jobs() == shown
    assert {job_id: len(slots) for job_id, slots in world.engine.holds().items()} == held
    assert held == {k: j.allocation.gpus for k, j in before.jobs.items() if j.phase.holds}
    assert world.store.pending() == ()


def test_commands_and_events_are_kept_together(world: Any) -> None:
    """An outbox without its event, or an event without its commands, would be a lie."""
    appended: list[tuple[Any, Any]] = []
    append = world.store.append
    world.store.append = lambda events, commands=(): (
        appended.append((tuple(events), tuple(commands))),
        append(events, commands),
    )[1]
    world.submit("a")
    world.after(0)
    world.after(1)
    world.put(JobCancelled(at_s=world.now_s, job_id=A))
    world.after(1)
    with_commands = [(events, commands) for events, commands in appended if commands]
    assert [[type(e) for e in events] for events, _ in with_commands] == [
        [RoundStarted, RoundDecided],
        [JobCancelled],
    ]
    assert [[type(c) for c in commands] for _, commands in with_commands] == [[RunJob], [StopJob]]
