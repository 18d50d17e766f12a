"""A pure loop in virtual time: pop an event, step, let the effects push what will follow.

A simulator passes effects that know how jobs really behave; a service that wants an ETA passes
effects that know only what the jobs have reported.
"""

from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np

from headway.core.control.commands import Command
from headway.core.control.events import (
    BatchChanged,
    Event,
    JobCancelled,
    JobFailed,
    JobFinished,
    JobReported,
    JobStarted,
    JobStopped,
    NodeLost,
)
from headway.core.control.state import Memory, State
from headway.core.control.step import records, step
from headway.core.policy.base import Policy

Push = Callable[[Event], None]


class Queue:
    """A heap of ``(time, late, order, event)``: events at one time leave in the order they came.

    Only the loss of a node comes after all else of its moment: what a job did by then, it did.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._heap: list[tuple[float, bool, int, Event]] = []
        self._order = count()
        for event in events:
            self.push(event)

    def push(self, event: Event) -> None:
        """Put an event at its time."""
        late = isinstance(event, NodeLost)
        heappush(self._heap, (event.at_s, late, next(self._order), event))

    def pop(self) -> Event:
        """The earliest event."""
        return heappop(self._heap)[-1]

    def __len__(self) -> int:
        return len(self._heap)


OF_ACTIVE_JOBS = (
    JobStarted | JobReported | BatchChanged | JobStopped | JobFinished | JobFailed | JobCancelled
)
Effects = Callable[[State[Any], Event, tuple[Command, ...], Push], None]
"""What the world does about an event and its commands: it pushes the events that will follow."""


def forward(
    state: State[Memory],
    queue: Queue,
    policy: Policy[Memory],
    rng: np.random.Generator,
    effects: Effects,
    record: Callable[[Event], None],
) -> State[Memory]:
    """Run until nothing more will happen; ``record`` is told everything that did.

    What was pushed about a job that has been cancelled since does not happen.
    """
    while queue:
        event = queue.pop()
        if isinstance(event, OF_ACTIVE_JOBS) and event.job_id not in state.jobs:
            continue
        state, commands = step(state, event, policy, rng)
        for recorded in records(event, state):
            record(recorded)
        effects(state, event, commands, queue.push)
    return state
