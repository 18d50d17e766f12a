"""What every store must do. Subclass ``StoreContract`` and give a ``store`` fixture."""

import threading

import pytest

from headway.core.control.commands import Command, RunJob, ScaleCluster, StopJob, StopReason
from headway.core.control.events import (
    BatchChanged,
    EpochRead,
    Event,
    JobFailed,
    JobFinished,
    JobReported,
    JobSubmitted,
    RoundStarted,
    RunOpened,
)
from headway.core.errors import InvalidInputError
from headway.core.ids import JobId, NodeId
from headway.core.types import (
    Allocation,
    BatchChange,
    BatchContract,
    GpuBounds,
    JobReport,
    JobSpec,
    Launch,
    ThroughputParams,
)
from headway.service.store.base import Store


def spec(job_id: str = "a", submitted_s: float = 0.0, max_gpus: int = 2) -> JobSpec:
    """A job with every field that may be absent given."""
    return JobSpec(
        job_id=JobId(job_id),
        name=job_id,
        submitted_s=submitted_s,
        gpus=GpuBounds(min_gpus=1, max_gpus=max_gpus),
        batch=BatchContract(initial_batch_size=32, max_batch_size=32, max_batch_per_gpu=32),
        requested_gpus=1,
        requested_batch_size=32,
        launch=Launch(command=("python", "train.py"), workdir="/w", env={"A": "ü"}),
    )


def report(progress_examples: float = 1.0) -> JobReport:
    """What an agent might say."""
    return JobReport(
        throughput=ThroughputParams(
            alpha_grad_s=0.1,
            beta_grad_s=0.01,
            alpha_local_s=0.0,
            beta_local_s=0.0,
            alpha_node_s=0.0,
            beta_node_s=0.0,
            gamma=1.0,
        ),
        noise_scale=12.5,
        progress_examples=progress_examples,
        batch_per_gpu=32,
        accum_steps=0,
        batch_size=32,
    )


def change(samples: int = 320) -> BatchChange:
    """A record of the batch contract."""
    return BatchChange(
        samples=samples,
        gpus=2,
        batch_per_gpu=32,
        accum_steps=0,
        old_batch_size=32,
        new_batch_size=64,
        lr_factor=1.4,
        lr_rule="adascale",
        noise_scale=12.5,
        noise_scale_error=None,
        predicted_gain=1.2,
        why="two GPUs",
    )


OPENED = RunOpened(at_s=1.0, policy="fifo", round_s=60.0, settings={"p": "-1"})
SUBMITTED = JobSubmitted(at_s=2.0, job=spec())
REPORTED = JobReported(at_s=3.0, job_id=JobId("a"), report=report())
FINISHED = JobFinished(at_s=4.0, job_id=JobId("a"))
LIFE: tuple[Event, ...] = (OPENED, SUBMITTED, REPORTED, FINISHED)
RUN = RunJob(job=spec(), allocation=Allocation.of({NodeId("n0"): 2}), generation=1, adapts=True)
STOP = StopJob(job_id=JobId("a"), generation=2, why=StopReason.YIELD)
SCALE = ScaleCluster(nodes=3, leaving=(NodeId("n1"),), generation=1)
COMMANDS: tuple[Command, ...] = (RUN, STOP, SCALE)


class StoreContract:
    """The promises of a store, one a test."""

    def test_events_come_back_as_they_were_in_their_order(self, store: Store) -> None:
        assert store.append(LIFE[:1]) == 1
        assert store.append(LIFE[1:]) == 4
        logged = tuple(store.load())
        assert tuple(entry.event for entry in logged) == LIFE
        assert [entry.sequence for entry in logged] == [1, 2, 3, 4]

    def test_a_reader_goes_on_from_where_it_was(self, store: Store) -> None:
        store.append([RoundStarted(at_s=float(second)) for second in range(2500)])
        assert [entry.sequence for entry in store.load(after=2497)] == [2498, 2499, 2500]
        assert [entry.sequence for entry in store.load(after=10, limit=2)] == [11, 12]
        assert sum(1 for _ in store.load()) == 2500
        assert sum(1 for _ in store.load(limit=1500)) == 1500
        assert list(store.load(after=2500)) == []

    def test_the_events_of_one_job_can_be_had(self, store: Store) -> None:
        store.append([*LIFE, JobSubmitted(at_s=5.0, job=spec("b"))])
        assert [e.sequence for e in store.load(job_id=JobId("a"))] == [2, 3, 4]
        assert [e.sequence for e in store.load(job_id=JobId("b"))] == [5]

    def test_an_append_is_kept_whole_or_not_at_all(self, store: Store) -> None:
        store.append([OPENED, SUBMITTED])
        with pytest.raises(InvalidInputError):
            store.append([REPORTED, SUBMITTED], [RUN])
        assert [entry.event for entry in store.load()] == [OPENED, SUBMITTED]
        assert store.pending() == ()

    @pytest.mark.parametrize("same_append", [True, False])
    def test_a_job_ends_once(self, store: Store, same_append: bool) -> None:
        failed = JobFailed(at_s=5.0, job_id=JobId("a"), message="late news")
        first: list[Event] = [SUBMITTED, FINISHED]
        if not same_append:
            store.append(first)
        with pytest.raises(InvalidInputError):
            store.append([*first, failed] if same_append else [failed])

    def test_news_that_is_sent_again_is_refused(self, store: Store) -> None:
        a = JobId("a")
        news = BatchChanged(at_s=3.0, job_id=a, change=change())
        again = BatchChanged(at_s=9.0, job_id=a, change=change())
        other = BatchChanged(at_s=9.0, job_id=a, change=change(samples=640))
        read = EpochRead(at_s=3.0, job_id=a, epoch=0, samples=9, read_least=1, read_most=1)
        twice = EpochRead(at_s=9.0, job_id=a, epoch=0, samples=9, read_least=1, read_most=2)
        store.append([SUBMITTED, news, read])
        store.append([other, twice])  # another change, another count: both are news
        for repeated in (again, read):
            with pytest.raises(InvalidInputError):
                store.append([repeated])

    def test_commands_wait_until_they_are_applied(self, store: Store) -> None:
        store.append([SUBMITTED], COMMANDS)
        assert store.pending() == COMMANDS
        store.mark_applied([RUN.key])
        assert store.pending() == COMMANDS[1:]
        store.mark_applied([RUN.key, STOP.key, SCALE.key])
        store.mark_applied([])
        assert store.pending() == ()

    def test_a_key_is_one_command_for_ever(self, store: Store) -> None:
        store.append([SUBMITTED], [RUN])
        store.mark_applied([RUN.key])
        store.append([REPORTED], [RUN, STOP])
        assert store.pending() == (STOP,)

    def test_readers_in_other_threads_see_whole_appends(self, store: Store) -> None:
        """An append of two is never seen as one."""
        seen: list[int] = []
        done = threading.Event()

        def read() -> None:
            while not done.is_set():
                seen.append(sum(1 for _ in store.load()))

        reader = threading.Thread(target=read)
        reader.start()
        for second in range(50):
            store.append([RoundStarted(at_s=float(second)), RoundStarted(at_s=float(second))])
        done.set()
        reader.join()
        seen.append(sum(1 for _ in store.load()))
        assert seen[-1] == 100
        assert all(count % 2 == 0 for count in seen)
        assert seen == sorted(seen)
