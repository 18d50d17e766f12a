"""What every engine must do. Subclass ``EngineContract`` and give an ``engine`` fixture."""

import time
from collections.abc import Callable
from itertools import chain, combinations

from headway.core.control.commands import RunJob, StopJob, StopReason
from headway.core.control.events import Event, JobStarted, JobStopped
from headway.core.ids import JobId
from headway.core.types import Allocation, BatchContract, GpuBounds, JobSpec, Launch
from headway.engines.base import Engine

PATIENCE_S = 60.0  # generous: a promise is kept or not, never "in time"


def a_job(job_id: str, launch: Launch | None = None, max_gpus: int = 4) -> JobSpec:
    """A job of no particular kind."""
    return JobSpec(
        job_id=JobId(job_id),
        name=job_id,
        submitted_s=0.0,
        gpus=GpuBounds(max_gpus=max_gpus),
        batch=BatchContract(initial_batch_size=64, max_batch_size=64, max_batch_per_gpu=64),
        requested_gpus=1,
        requested_batch_size=64,
        launch=launch,
    )


def run(engine: Engine, job: JobSpec, gpus: int, generation: int) -> RunJob:
    """The command to run a job on so many GPUs of the engine's first node."""
    allocation = Allocation.of({engine.nodes()[0].node_id: gpus})
    return RunJob(job=job, allocation=allocation, generation=generation, adapts=False)


def stop(job: JobSpec, generation: int, why: StopReason = StopReason.YIELD) -> StopJob:
    """The command to take all GPUs from a job."""
    return StopJob(job_id=job.job_id, generation=generation, why=why)


def observe_until(engine: Engine, enough: Callable[[list[Event]], bool]) -> list[Event]:
    """Observe until these events are enough; a slot is never seen in two hands meanwhile."""
    events: list[Event] = []
    until_s = time.monotonic() + PATIENCE_S
    while not enough(events):
        assert time.monotonic() < until_s, f"waited in vain; saw {events}; holds {engine.holds()}"
        events += engine.observe(now_s=1.0)
        held = engine.holds()
        for one, other in combinations(held, 2):
            assert not set(held[one]) & set(held[other]), f"{one} and {other} share a slot: {held}"
        time.sleep(0.01)
    return events


def started(job: JobSpec, generation: int) -> Callable[[list[Event]], bool]:
    """Enough is: this generation of the job has started."""
    return lambda events: any(
        isinstance(event, JobStarted)
        and (event.job_id, event.generation) == (job.job_id, generation)
        for event in events
    )


def stopped(job: JobSpec, generation: int) -> Callable[[list[Event]], bool]:
    """Enough is: this job has stopped, on the order of this generation."""
    return lambda events: any(
        isinstance(event, JobStopped)
        and (event.job_id, event.generation) == (job.job_id, generation)
        for event in events
    )


def idle(engine: Engine) -> Callable[[list[Event]], bool]:
    """Enough is: nobody holds a slot."""
    return lambda _: not engine.holds()


class EngineContract:
    """The promises of an engine whose first node has four GPUs."""

    def launch(self) -> Launch | None:
        """What the jobs are to run: something that steps for ever, and yields when asked."""
        return None

    def job(self, job_id: str) -> JobSpec:
        return a_job(job_id, self.launch())

    def test_it_says_what_there_is(self, engine: Engine) -> None:
        assert engine.nodes()[0].gpus == 4
        assert engine.holds() == {}

    def test_a_job_starts_on_as_many_slots_as_it_was_given(self, engine: Engine) -> None:
        job = self.job("a")
        engine.apply(run(engine, job, 2, 1))
        observe_until(engine, started(job, 1))
        assert len(engine.holds()[job.job_id]) == 2

    def test_a_job_grows_and_shrinks_and_keeps_what_it_can(self, engine: Engine) -> None:
        job = self.job("a")
        held: list[tuple[int, ...]] = []
        for generation, gpus in enumerate((2, 4, 1), start=1):
            engine.apply(run(engine, job, gpus, generation))
            observe_until(engine, started(job, generation))
            held.append(engine.holds()[job.job_id])
        assert [len(slots) for slots in held] == [2, 4, 1]
        assert all(slots == tuple(sorted(set(slots))) for slots in held)
        assert set(held[0]) < set(held[1])
        assert set(held[2]) < set(held[1])

    def test_a_job_may_be_started_anew_at_the_same_size(self, engine: Engine) -> None:
        job = self.job("a")
        for generation in (1, 2):
            engine.apply(run(engine, job, 1, generation))
            observe_until(engine, started(job, generation))
        assert len(engine.holds()[job.job_id]) == 1

    def test_a_repeated_key_does_nothing(self, engine: Engine) -> None:
        job = self.job("a")
        first = run(engine, job, 1, 1)
        engine.apply(first)
        observe_until(engine, started(job, 1))
        engine.apply(stop(job, 2))
        observe_until(engine, stopped(job, 2))
        engine.apply(first)
        engine.apply(stop(job, 2))
        assert engine.observe(now_s=1.0) == ()
        assert engine.holds() == {}

    def test_a_stopped_job_gives_all_back_and_can_go_on(self, engine: Engine) -> None:
        job = self.job("a")
        engine.apply(run(engine, job, 2, 1))
        observe_until(engine, started(job, 1))
        engine.apply(stop(job, 2))
        events = observe_until(engine, stopped(job, 2))
        assert engine.holds() == {}
        assert len([event for event in events if isinstance(event, JobStopped)]) == 1
        engine.apply(run(engine, job, 1, 3))
        observe_until(engine, started(job, 3))
        assert len(engine.holds()[job.job_id]) == 1

    def test_a_job_that_grows_waits_for_one_that_shrinks(self, engine: Engine) -> None:
        """Whatever the order of the commands; ``observe_until`` looks for shared slots."""
        one, other = self.job("a"), self.job("b")
        engine.apply(run(engine, one, 3, 1))
        engine.apply(run(engine, other, 1, 1))
        observe_until(engine, lambda events: _all_started(events, (one, 1), (other, 1)))
        engine.apply(run(engine, other, 3, 2))
        assert len(engine.holds()[other.job_id]) == 1
        engine.apply(run(engine, one, 1, 2))
        observe_until(engine, lambda events: _all_started(events, (one, 2), (other, 2)))
        assert [len(engine.holds()[job.job_id]) for job in (one, other)] == [1, 3]
        assert sorted(chain(*engine.holds().values())) == [0, 1, 2, 3]

    def test_a_cancelled_job_is_gone(self, engine: Engine) -> None:
        job, other = self.job("a"), self.job("b")
        engine.apply(run(engine, job, 4, 1))
        observe_until(engine, started(job, 1))
        engine.apply(run(engine, other, 4, 1))
        engine.apply(stop(job, 1, StopReason.CANCEL))
        observe_until(engine, started(other, 1))
        assert set(engine.holds()) == {other.job_id}

    def test_a_command_that_waits_is_replaced_by_the_next(self, engine: Engine) -> None:
        one, other = self.job("a"), self.job("b")
        engine.apply(run(engine, one, 4, 1))
        engine.apply(run(engine, other, 1, 1))
        engine.apply(stop(other, 2))
        observe_until(engine, stopped(other, 2))
        engine.apply(stop(one, 2))
        observe_until(engine, idle(engine))

    def test_a_job_that_does_not_run_is_reported_as_stopped(self, engine: Engine) -> None:
        """Its policy then starts it again, from its checkpoint."""
        job = self.job("a")
        wanted = run(engine, job, 2, 5)
        engine.adopt((wanted,))
        observe_until(engine, stopped(job, 5))
        assert engine.holds() == {}
        engine.apply(run(engine, job, 2, 6))
        observe_until(engine, started(job, 6))

    def test_nothing_is_left_when_all_is_stopped(self, engine: Engine) -> None:
        jobs = [self.job(name) for name in "abc"]
        for job in jobs:
            engine.apply(run(engine, job, 1, 1))
        for job in jobs:
            engine.apply(stop(job, 2))
        observe_until(engine, lambda events: all(stopped(job, 2)(events) for job in jobs))
        assert engine.holds() == {}


def _all_started(events: list[Event], *wanted: tuple[JobSpec, int]) -> bool:
    return all(started(job, generation)(events) for job, generation in wanted)
