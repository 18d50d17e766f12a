"""Laws of the scheduler over random lives of a cluster, and the commands of small examples."""

from collections import Counter
from dataclasses import replace

import numpy as np
from hypothesis import given, settings

from headway.core.control.commands import RunJob, ScaleCluster, StopJob, StopReason
from headway.core.control.events import (
    Change,
    Event,
    JobCancelled,
    JobStarted,
    JobStopped,
    JobSubmitted,
    NodeJoined,
    NodeLost,
    RoundDecided,
    RoundStarted,
)
from headway.core.control.fold import rebuild
from headway.core.control.lifecycle import Phase
from headway.core.control.state import State
from headway.core.control.step import records, step
from headway.core.ids import JobId, NodeId
from headway.core.policy.base import Traits
from headway.core.scale import Scaling
from headway.core.types import (
    NOTHING,
    Allocation,
    BatchContract,
    BatchMode,
    Decision,
    GpuBounds,
    JobSpec,
    Node,
    Reason,
    ReasonCode,
    Snapshot,
)
from headway.testing.histories import History, Scattered, histories

A, B, C = JobId("a"), JobId("b"), JobId("c")
N0, N1 = NodeId("n0"), NodeId("n1")
RNG = np.random.default_rng(0)


class Scripted:
    """Decides what it was told to, round after round; its memory counts them."""

    def __init__(self, *rounds: Decision, adapts: bool = False) -> None:
        self.traits = Traits(adapts_batch_size=adapts, resizes=True)
        self.rounds = rounds

    def start(self) -> int:
        return 0

    def decide(
        self, snapshot: Snapshot, memory: int, rng: np.random.Generator
    ) -> tuple[Decision, int]:
        return self.rounds[memory], memory + 1


def submitted(job_id: JobId, mode: BatchMode = BatchMode.FIXED) -> JobSubmitted:
    spec = JobSpec(
        job_id=job_id,
        name=job_id,
        submitted_s=0.0,
        gpus=GpuBounds(max_gpus=8),
        batch=BatchContract(
            initial_batch_size=32, max_batch_size=64, max_batch_per_gpu=32, mode=mode
        ),
        requested_gpus=1,
        requested_batch_size=32,
    )
    return JobSubmitted(at_s=0.0, job=spec)


def holding(reasons: dict[JobId, ReasonCode] | None = None, **gpus: dict[NodeId, int]) -> Decision:
    told = (Reason(job_id=job_id, code=code) for job_id, code in (reasons or {}).items())
    allocations = {JobId(name): Allocation.of(held) for name, held in gpus.items()}
    return Decision(allocations=allocations, reasons=tuple(told))


def play(policy: Scripted, *events: Event) -> tuple[State[int], list[tuple[object, ...]]]:
    state = State(memory=policy.start())
    commands: list[tuple[object, ...]] = []
    for event in events:
        state, ordered = step(state, event, policy, RNG)
        commands.append(ordered)
    return state, commands


TWO_NODES = (
    NodeJoined(at_s=0.0, node=Node(node_id=N0, gpus=4)),
    NodeJoined(at_s=0.0, node=Node(node_id=N1, gpus=4)),
)


@given(histories())
def test_gpus_held_are_there_and_no_two_jobs_share_one(history: History) -> None:
    for state in history.states:
        held = Counter[NodeId]()
        for job in state.jobs.values():
            assert all(gpus > 0 for _, gpus in job.allocation.per_node)
            assert bool(job.allocation) == job.phase.holds
            held.update(dict(job.allocation.per_node))
        assert all(gpus <= state.nodes[node_id].gpus for node_id, gpus in held.items())


@given(histories())
def test_accounts_of_a_job_never_go_back(history: History) -> None:
    for before, after in zip(history.states, history.states[1:], strict=False):
        assert after.now_s >= before.now_s
        for job_id in before.jobs.keys() & after.jobs.keys():
            old, new = before.jobs[job_id], after.jobs[job_id]
            assert new.attained_at(after.now_s) >= old.attained_at(before.now_s)
            assert new.generation - old.generation in {0, 1}
            assert new.restarts - old.restarts in {0, 1}
            assert new.max_gpus_held >= max(old.max_gpus_held, new.allocation.gpus)
            assert old.first_started_s in {None, new.first_started_s}
            if old.allocation != new.allocation and new.allocation:
                assert new.generation == old.generation + 1


@given(histories())
def test_a_job_that_ends_leaves_the_state_and_never_returns(history: History) -> None:
    gone: set[JobId] = set()
    for before, after in zip(history.states, history.states[1:], strict=False):
        gone |= before.jobs.keys() - after.jobs.keys()
        assert not gone & after.jobs.keys()
        assert not any(job.phase.ended for job in after.jobs.values())
    assert history.states[-1].departures == len(gone)
    assert history.states[-1].arrivals == len(gone) + len(history.states[-1].jobs)


@given(histories())
def test_the_log_alone_gives_the_state_back(history: History) -> None:
    live = history.states[-1]
    rebuilt = rebuild(history.log, State(memory=live.memory))
    assert rebuilt == replace(live, decided=None)


@given(histories(max_events=25))
def test_the_log_of_every_moment_gives_the_state_of_that_moment(history: History) -> None:
    written = 0
    for event, live in zip(history.inputs, history.states[1:], strict=True):
        written += len(records(event, live))
        rebuilt = rebuild(history.log[:written], State(memory=live.memory))
        assert rebuilt == replace(live, decided=None)
    assert written == len(history.log)


@given(histories())
def test_only_a_round_decides_and_memory_is_handed_on(history: History) -> None:
    rounds = 0
    for index, event in enumerate(history.inputs):
        before, after = history.states[index : index + 2]
        rounds += isinstance(event, RoundStarted)
        assert after.memory == after.round_index == rounds
        if not isinstance(event, RoundStarted):
            assert after.decided is before.decided
            assert records(event, after) == (event,)


@given(histories())
def test_a_decision_logs_news_only(history: History) -> None:
    for index, event in enumerate(history.inputs):
        before, after = history.states[index : index + 2]
        if not isinstance(event, RoundStarted) or after.decided is None:
            continue
        changed = {change.job_id for change in after.decided.changes}
        for job_id, job in before.jobs.items():
            now = after.jobs[job_id]
            assert (job_id in changed) == (job.allocation != now.allocation)
        told = {reason.job_id for reason in after.decided.reasons}
        for job_id, job in before.jobs.items():
            now = after.jobs[job_id]
            news = job.allocation != now.allocation or job.reason != now.reason
            assert (job_id in told) == news


@given(histories())
def test_a_round_asks_the_engine_for_its_changes_and_frees_gpus_first(history: History) -> None:
    for index, event in enumerate(history.inputs):
        before, after = history.states[index : index + 2]
        if not isinstance(event, RoundStarted) or after.decided is None:
            continue
        commands = history.commands[index]
        assert Counter(_wants(command) for command in commands) == Counter(
            (change.job_id, change.generation, change.allocation)
            for change in after.decided.changes
        )
        grows = []
        for command in commands:
            job_id, _, allocation = _wants(command)
            grows.append(allocation.gpus > before.jobs[job_id].allocation.gpus)
        assert grows == sorted(grows)


def _wants(command: object) -> tuple[JobId, int, Allocation]:
    if isinstance(command, RunJob):
        return command.job.job_id, command.generation, command.allocation
    assert isinstance(command, StopJob)
    return command.job_id, command.generation, NOTHING


@given(histories())
def test_no_key_is_used_for_two_commands(history: History) -> None:
    """An engine applies each key once: a key used again would be a command lost."""
    keys = [command.key for commands in history.commands for command in commands]
    assert len(keys) == len(set(keys))


@given(histories())
@settings(max_examples=30)
def test_the_same_events_policy_and_seed_give_the_same_commands(history: History) -> None:
    def replayed() -> list[object]:
        rng, policy = np.random.default_rng(7), Scattered()
        state, commands = State(memory=policy.start()), []
        for event in history.inputs:
            state, ordered = step(state, event, policy, rng)
            commands.append(ordered)
        return [state, commands]

    assert replayed() == replayed()


def test_a_shrinking_job_makes_room_before_a_small_one_starts() -> None:
    """Commands were once ordered by their new size: a start on 1 GPU came before the shrinking to
    4 that had to make room for it."""
    policy = Scripted(holding(a={N0: 4, N1: 4}), holding(a={N0: 4}, b={N1: 1}))
    _, commands = play(
        policy,
        *TWO_NODES,
        submitted(A),
        RoundStarted(at_s=60.0),
        submitted(B),
        RoundStarted(at_s=120.0),
    )
    assert [_wants(command)[0] for command in commands[-1]] == [A, B]


def test_the_same_reason_for_another_change_is_news() -> None:
    """A job that grew in two rounds once had the reason of the first only in the log."""
    grew = {A: ReasonCode.GREW}
    policy = Scripted(holding(grew, a={N0: 1}), holding(grew, a={N0: 2}), holding(grew, a={N0: 2}))
    state = State(memory=0)
    told = []
    for event in (*TWO_NODES, submitted(A), *(RoundStarted(at_s=60.0 * r) for r in (1, 2, 3))):
        state, _ = step(state, event, policy, RNG)
        if state.decided is not None:
            told.append(len(state.decided.reasons))
    assert told == [1, 1, 0]


def test_a_promise_that_moves_is_news_though_nothing_else_is() -> None:
    """A job that ran undisturbed for hours showed the finish that was predicted at its start."""

    def promising(finish_s: float) -> Decision:
        numbers = {"egalitarian_s": 9_000.0, "finish_s": finish_s, "finish_error_s": 10.0}
        kept = Reason(job_id=A, code=ReasonCode.GREW, numbers=tuple(numbers.items()))
        return replace(holding(a={N0: 1}), reasons=(kept,))

    rounds = (promising(9_000.0), promising(8_900.0), promising(6_000.0), promising(6_100.0))
    policy, state, told = Scripted(*rounds), State(memory=0), []
    for event in (*TWO_NODES, submitted(A), *(RoundStarted(at_s=60.0 * r) for r in (1, 2, 3, 4))):
        state, _ = step(state, event, policy, RNG)
        if isinstance(event, RoundStarted) and state.decided is not None:
            told.append([dict(reason.numbers)["finish_s"] for reason in state.decided.reasons])
    assert told == [[9_000.0], [], [6_000.0], []]


def test_a_lost_node_queues_its_jobs_and_stops_their_workers_elsewhere() -> None:
    policy = Scripted(holding(a={N0: 1, N1: 1}, b={N0: 1}, c={N1: 2}))
    state, commands = play(
        policy,
        *TWO_NODES,
        submitted(A),
        submitted(B),
        submitted(C),
        RoundStarted(at_s=60.0),
        JobStarted(at_s=90.0, job_id=A, generation=1),
        NodeLost(at_s=100.0, node_id=N0),
    )
    phases = {job_id: job.phase for job_id, job in state.jobs.items()}
    assert phases == {A: Phase.QUEUED, B: Phase.QUEUED, C: Phase.STARTING}
    assert commands[-1] == tuple(
        StopJob(job_id=job_id, generation=1, why=StopReason.YIELD) for job_id in (A, B)
    )
    assert state.jobs[A].attained_gpu_s == 2 * 40.0


def test_a_queued_job_is_cancelled_without_a_word_to_the_engine() -> None:
    policy = Scripted()
    state, commands = play(policy, *TWO_NODES, submitted(A), JobCancelled(at_s=1.0, job_id=A))
    assert (dict(state.jobs), commands[-1]) == ({}, ())


def test_a_job_with_workers_is_cancelled_at_the_engine_too() -> None:
    stopping = Scripted(holding(a={N0: 1}, b={N0: 1}), holding(a={N0: 1}))
    state, commands = play(
        stopping,
        *TWO_NODES,
        submitted(A),
        submitted(B),
        RoundStarted(at_s=60.0),
        RoundStarted(at_s=120.0),  # b is on its way out
        JobCancelled(at_s=130.0, job_id=A),
        JobCancelled(at_s=130.0, job_id=B),
        JobCancelled(at_s=140.0, job_id=B),  # and again
    )
    assert dict(state.jobs) == {}
    assert commands[-3:] == [
        (StopJob(job_id=A, generation=1, why=StopReason.CANCEL),),
        (StopJob(job_id=B, generation=2, why=StopReason.CANCEL),),
        (),
    ]


def test_a_job_may_adapt_its_batch_only_if_both_its_owner_and_the_policy_say_so() -> None:
    def adapts(mode: BatchMode, *, policy_adapts: bool) -> bool:
        policy = Scripted(holding(a={N0: 1}), adapts=policy_adapts)
        _, commands = play(policy, *TWO_NODES, submitted(A, mode), RoundStarted(at_s=60.0))
        (command,) = commands[-1]
        assert isinstance(command, RunJob)
        return command.adapts

    assert adapts(BatchMode.ADAPTIVE, policy_adapts=True)
    assert not adapts(BatchMode.ADAPTIVE, policy_adapts=False)
    assert not adapts(BatchMode.FIXED, policy_adapts=True)
    assert not adapts(BatchMode.OBSERVE, policy_adapts=True)


def test_a_job_that_gave_its_gpus_back_unasked_can_be_started_again() -> None:
    policy = Scripted(holding(a={N0: 1}), holding(a={N0: 1}))
    state, commands = play(
        policy,
        *TWO_NODES,
        submitted(A),
        RoundStarted(at_s=60.0),
        JobStopped(at_s=90.0, job_id=A, generation=1, message="evicted"),
        RoundStarted(at_s=120.0),
    )
    assert state.decided == RoundDecided(
        at_s=120.0,
        round_index=2,
        changes=(Change(job_id=A, generation=2, allocation=Allocation.of({N0: 1})),),
    )
    assert (state.jobs[A].restarts, state.jobs[A].attained_at(120.0)) == (1, 30.0)
    assert len(commands[-1]) == 1


def asking(nodes: int, *leaving: NodeId) -> Decision:
    return Decision(allocations={}, scaling=Scaling(nodes=nodes, leaving=leaving))


def test_only_another_size_is_a_command_and_it_comes_after_those_that_empty_its_nodes() -> None:
    """Five rounds: nothing new, one more, the same again, away with n1, and that once more."""
    moved = replace(holding(a={N0: 1}), scaling=Scaling(nodes=2, leaving=(N1,)))
    first = replace(holding(a={N1: 1}), scaling=Scaling(nodes=2))
    policy = Scripted(first, replace(first, scaling=Scaling(nodes=3)), *[moved] * 2)
    rounds = [RoundStarted(at_s=60.0 * number) for number in range(4)]
    state, commands = play(policy, *TWO_NODES, submitted(A), *rounds)
    told = [[command for command in each if isinstance(command, ScaleCluster)] for each in commands]
    assert told[3:] == [
        [],
        [ScaleCluster(nodes=3, leaving=(), generation=1)],
        [ScaleCluster(nodes=2, leaving=(N1,), generation=2)],
        [],
    ]
    assert isinstance(commands[5][-1], ScaleCluster)
    assert len(commands[5]) == 2
    assert (state.snapshot().nodes_wanted, state.snapshot().nodes_leaving) == (2, (N1,))


def test_a_node_that_was_to_leave_is_struck_off_and_one_that_was_not_is_asked_for_anew() -> None:
    policy = Scripted(asking(1, N1), asking(1), asking(1))
    lost = NodeLost(at_s=61.0, node_id=N1), NodeLost(at_s=121.0, node_id=N0)
    rounds = [RoundStarted(at_s=60.0 * number) for number in (1, 2, 3)]
    log = [*TWO_NODES, rounds[0], lost[0], rounds[1], lost[1], rounds[2]]
    state, commands = play(policy, *log)
    assert [len(each) for each in commands] == [0, 0, 1, 0, 0, 0, 1]
    assert commands[-1] == (ScaleCluster(nodes=1, leaving=(), generation=2),)
    assert (state.scalings, state.nodes_wanted) == (2, 1)
    written = [event for event in records(rounds[2], state) if isinstance(event, RoundDecided)]
    assert written[0].scaling == Scaling(nodes=1)


def test_a_policy_may_want_each_gpu_to_keep_the_initial_batch() -> None:
    policy = Scripted(holding(a={N0: 2}), adapts=True)
    policy.traits = replace(policy.traits, batch_per_gpu=True)
    asked = submitted(A, BatchMode.ADAPTIVE)
    _, commands = play(policy, *TWO_NODES, asked, RoundStarted(at_s=1.0))
    (run,) = commands[-1]
    assert isinstance(run, RunJob)
    assert (run.job.batch.min_batch_per_gpu, run.job.batch.max_batch_per_gpu) == (32, 32)
    assert run.job.batch.max_accum_steps == 0
