"""Laws of the executor, checked from the log alone with accounts of the test's own."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.core.control.events import (
    BatchChanged,
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
)
from headway.core.ids import JobId
from headway.core.policy import make
from headway.core.types import Allocation, BatchMode
from headway.sim.driver import Setup
from headway.sim.executor import MAX_IDLE_ROUNDS
from headway.traces.base import Workload


@dataclass
class Book:
    """One job as the log tells it."""

    held: Allocation = field(default_factory=Allocation)
    generation: int = 0
    since_s: float | None = None  # of running, None while it does not
    decided_s: float = 0.0
    progress: float = 0.0
    starts: int = 0


def rate_per_s(gpus: int, batch_size: int = 32) -> float:
    """The toy with a fixed batch: the longest pass sets the pace."""
    return batch_size / (-(-batch_size // gpus) * 0.01)


@dataclass
class Auditor:
    """Reads a log of toy jobs with fixed batches, and objects."""

    restart_s: float
    nodes: dict[str, int] = field(default_factory=dict)
    jobs: dict[str, Book] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    now_s: float = 0.0

    def read(self, log: list[Event]) -> None:
        for event in log:
            assert event.at_s >= self.now_s, "time goes forward"
            self.now_s = event.at_s
            self.take(event)
            used: dict[str, int] = defaultdict(int)
            for book in self.jobs.values():
                for node, count in book.held.per_node:
                    used[node] += count
            assert all(count <= self.nodes[node] for node, count in used.items())

    def take(self, event: Event) -> None:
        match event:
            case NodeJoined():
                self.nodes[event.node.node_id] = event.node.gpus
            case NodeLost():
                del self.nodes[event.node_id]
                for book in self.jobs.values():
                    if book.held.on(event.node_id):
                        self.settle(book)
                        book.held = Allocation()
            case JobSubmitted():
                self.jobs[event.job.job_id] = Book()
            case RoundDecided():
                for change in event.changes:
                    book = self.jobs[change.job_id]
                    self.settle(book)
                    book.held, book.generation = change.allocation, change.generation
                    book.decided_s = event.at_s
            case JobStarted():
                book = self.jobs[event.job_id]
                assert book.held, "a job that holds nothing starts nothing"
                assert event.generation == book.generation
                assert event.at_s == pytest.approx(book.decided_s + self.restart_s)
                book.since_s = event.at_s
                book.starts += 1
            case JobFinished():
                book = self.jobs.pop(event.job_id)
                assert book.since_s is not None, "only a running job finishes"
                self.settle(book)
                assert book.progress == pytest.approx(12_000, rel=1e-9)
                self.finished.add(event.job_id)
            case JobCancelled():
                del self.jobs[event.job_id]
                self.cancelled.add(event.job_id)
            case JobReported() | BatchChanged() | JobStopped():
                assert event.job_id in self.jobs
            case _:
                pass

    def settle(self, book: Book) -> None:
        """Work done is rate times running time."""
        if book.since_s is not None:
            book.progress += rate_per_s(book.held.gpus) * (self.now_s - book.since_s)
            book.since_s = None


def setup_of(kit: Any, workload: Workload, **kwargs: Any) -> Setup:
    return Setup(workload=workload, cluster=kit.cluster("3x4"), round_s=10.0, **kwargs)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    arrivals=st.lists(st.floats(0, 300), min_size=1, max_size=8),
    restart_s=st.sampled_from([0.0, 3.0, 10.0, 25.0]),
    losses=st.lists(st.tuples(st.floats(1, 200), st.integers(0, 2), st.floats(1, 60)), max_size=3),
    data=st.data(),
)
def test_work_is_rate_times_time_and_no_gpu_is_held_twice(
    kit: Any,
    seed: int,
    arrivals: list[float],
    restart_s: float,
    losses: list[tuple[float, int, float]],
    data: st.DataObject,
) -> None:
    """Whatever a policy deals out, with nodes that go and come back."""
    jobs = [
        kit.job(f"j{at}", submitted_s=s, gpus=data.draw(st.integers(1, 8)), rigid=at % 2 == 0)
        for at, s in enumerate(arrivals)
    ]
    setup = setup_of(kit, kit.workload(*jobs), restart_s=restart_s, seed=seed)
    setup = replace(setup, cluster=with_losses(setup, losses))
    log, _ = kit.run(setup, kit.shuffle())
    auditor = Auditor(restart_s)
    auditor.read(log)
    assert len(auditor.finished) == len(jobs)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    arrivals=st.lists(st.floats(0, 300), min_size=1, max_size=6),
    cancels=st.lists(st.tuples(st.floats(0, 500), st.integers(0, 5)), max_size=6),
)
def test_a_cancelled_job_is_gone_and_nothing_that_it_would_have_done_happens(
    kit: Any, seed: int, arrivals: list[float], cancels: list[tuple[float, int]]
) -> None:
    """Past bug: a KeyError, and a job that was cancelled finished all the same."""
    jobs = [kit.job(f"j{at}", submitted_s=s, gpus=2 + at) for at, s in enumerate(arrivals)]
    setup = setup_of(kit, kit.workload(*jobs), restart_s=3.0, seed=seed)
    befalls = [JobCancelled(at_s=s, job_id=JobId(f"j{at}")) for s, at in cancels]
    log, _ = kit.run(setup, kit.shuffle(), befalls=befalls)
    auditor = Auditor(3.0)
    auditor.read(log)
    assert auditor.finished | auditor.cancelled == {job.job_id for job in jobs}
    assert auditor.finished.isdisjoint(auditor.cancelled)


@pytest.mark.parametrize("policy", ["fifo", "las", "pollux"])
def test_a_job_that_comes_after_the_only_one_was_cancelled_runs(kit: Any, policy: str) -> None:
    jobs = kit.job("a"), kit.job("b", submitted_s=200.0)
    cancelled = JobCancelled(at_s=45.0, job_id=JobId("a"))
    setup = setup_of(kit, kit.workload(*jobs), restart_s=3.0)
    log, _ = kit.run(setup, make(policy, {}), befalls=[cancelled])
    assert [event.job_id for event in log if isinstance(event, JobFinished)] == ["b"]


def with_losses(setup: Setup, losses: list[tuple[float, int, float]]) -> Any:
    """The cluster with nodes that are lost for a while, each at most once at a time."""
    nodes, away_s = setup.cluster.nodes, dict.fromkeys(range(3), 0.0)
    changes: list[NodeLost | NodeJoined] = []
    for at_s, node, for_s in sorted(losses):
        if at_s > away_s[node]:
            away_s[node] = at_s + for_s
            changes.append(NodeLost(at_s=at_s, node_id=nodes[node].node_id))
            changes.append(NodeJoined(at_s=at_s + for_s, node=nodes[node]))
    return replace(setup.cluster, changes=tuple(sorted(changes, key=lambda change: change.at_s)))


@settings(max_examples=20)
@given(seed=st.integers(0, 1000))
def test_what_an_adaptive_job_says_is_consistent(kit: Any, seed: int) -> None:
    """Reports just before rounds and only of running jobs; changes of the batch are chained."""
    jobs = [
        kit.job(f"j{at}", rigid=False, mode=BatchMode.ADAPTIVE, submitted_s=20.0 * at)
        for at in range(4)
    ]
    profile = kit.toy(sync_s=0.1, noise=3000.0)
    setup = setup_of(kit, kit.workload(*jobs, profile=profile), restart_s=3.0, seed=seed)
    log, _ = kit.run(setup, kit.shuffle(often=0.2, adapts=True))
    running: set[str] = set()
    batch: dict[str, int] = {}
    progress: dict[str, float] = defaultdict(float)
    for at, event in enumerate(log):
        match event:
            case JobStarted():
                running.add(event.job_id)
            case RoundDecided():
                running -= {change.job_id for change in event.changes}
            case JobFinished():
                running.remove(event.job_id)
            case JobReported(job_id=job_id, report=report):
                assert job_id in running
                assert report.progress_examples >= progress[job_id]
                progress[job_id] = report.progress_examples
                assert report.batch_size == batch.setdefault(job_id, report.batch_size)
                following = next(e for e in log[at:] if not isinstance(e, JobReported))
                assert isinstance(following, RoundStarted)
                assert following.at_s == event.at_s
            case BatchChanged(job_id=job_id, change=change):
                assert change.old_batch_size == batch.get(job_id, change.old_batch_size)
                batch[job_id] = change.new_batch_size
            case _:
                pass
    assert sum(isinstance(event, JobFinished) for event in log) == len(jobs)


def test_rounds_are_at_multiples_and_only_while_jobs_are_active(kit: Any) -> None:
    jobs = kit.job("a", submitted_s=12.0), kit.job("b", submitted_s=1000.0)
    log, _ = kit.run(setup_of(kit, kit.workload(*jobs), restart_s=5.0), kit.shuffle(often=1.0))
    rounds = [event.at_s for event in log if isinstance(event, RoundStarted)]
    assert all(at_s % 10 == 0 for at_s in rounds)
    assert rounds[0] == 20.0
    finished_s = next(e.at_s for e in log if isinstance(e, JobFinished))
    assert [at_s for at_s in rounds if finished_s < at_s < 1000.0] == []
    assert 1000.0 in rounds, "a job that comes at a round start is in that round"


def test_a_job_that_comes_just_after_a_round_start_waits_for_the_next(kit: Any) -> None:
    """Past bug: 5e-324 s over 10 s is 0, and the round was put before the job's submission."""
    job = kit.job("a", submitted_s=5e-324)
    log, _ = kit.run(setup_of(kit, kit.workload(job)), kit.shuffle(often=1.0))
    assert next(e.at_s for e in log if isinstance(e, RoundStarted)) == 10.0


def test_a_job_that_is_stopped_says_so_and_waits(kit: Any) -> None:
    jobs = [kit.job(name, gpus=6) for name in "abc"]
    log, _ = kit.run(setup_of(kit, kit.workload(*jobs), restart_s=1.0), kit.shuffle(often=0.9))
    stops = [
        (event.at_s, change.job_id, change.generation)
        for event in log
        if isinstance(event, RoundDecided)
        for change in event.changes
        if not change.allocation
    ]
    said = [(e.at_s, e.job_id, e.generation) for e in log if isinstance(e, JobStopped)]
    assert stops
    assert sorted(said) == sorted(stops)


def test_a_policy_that_gives_nothing_does_not_run_for_ever(kit: Any) -> None:
    """Past bug: rounds went on as long as a job waited."""
    log, _ = kit.run(setup_of(kit, kit.workload(kit.job("a"))), kit.shuffle(often=0.0))
    assert sum(isinstance(event, RoundStarted) for event in log) == MAX_IDLE_ROUNDS
    assert not any(isinstance(event, JobFinished) for event in log)
