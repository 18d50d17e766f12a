"""What a simulated cluster is promised under `headway`, against what becomes of it."""

from collections.abc import Iterator

import pytest

from headway.core.control.events import Event, JobFinished, JobSubmitted, RoundDecided
from headway.core.control.lifecycle import Phase
from headway.core.explain.promise import Standing, Told, standing
from headway.core.explain.record import Record
from headway.core.ids import JobId
from headway.core.policy import make
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup
from headway.sim.generate import generate
from headway.sim.results import Contender, run_all
from headway.traces.catalogue import CATALOGUE


@pytest.fixture(scope="module")
def log() -> list[Event]:
    events: list[Event] = []
    setup = Setup(
        workload=generate("pollux-mix:jobs=40,hours=2", CATALOGUE, 1),
        cluster=parse_cluster("4x4"),
    )
    contender = Contender(name="headway", policy=make("headway"), settings={})
    run_all(setup, [contender], watch=lambda policy, event: events.append(event))
    return events


def promises(log: list[Event]) -> Iterator[tuple[JobId, Standing]]:
    """Each as `headway show` had it when it was made: nothing later is known."""
    record, submitted_s = Record(), dict[JobId, float]()
    for event in log:
        if isinstance(event, JobSubmitted):
            submitted_s[event.job.job_id] = event.at_s
        for reason in event.reasons if isinstance(event, RoundDecided) else ():
            told = Told(
                submitted_s=submitted_s[reason.job_id], phase=Phase.RUNNING, ended_s=None,
                reason=reason, decided_s=event.at_s, policy="headway", factors=record.factors,
            )  # fmt: skip
            promise = standing(told, event.at_s)
            if isinstance(promise, Standing):
                yield reason.job_id, promise
        record.add(event)


def test_around_95_of_100_ends_are_inside_the_interval_that_was_shown(log: list[Event]) -> None:
    """By two standard errors of the forecast alone it was one in four."""
    ends_s = {event.job_id: event.at_s for event in log if isinstance(event, JobFinished)}
    inside = [
        promise.earliest_s <= ends_s[job_id] <= promise.latest_s
        for job_id, promise in promises(log)
        if job_id in ends_s
    ]
    assert len(inside) > 200
    assert sum(inside) / len(inside) > 0.88


def test_every_job_that_was_given_gpus_was_given_a_promise(log: list[Event]) -> None:
    promised = {job_id for job_id, _ in promises(log)}
    started = {
        change.job_id
        for event in log
        if isinstance(event, RoundDecided)
        for change in event.changes
    }
    assert started
    assert started <= promised
