"""What a policy is: a pure function from a snapshot and its memory to a decision."""

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from headway.core.types import Decision, Snapshot

Memory = TypeVar("Memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a policy can do; nobody asks for its class or its name."""

    adapts_batch_size: bool = False  # may the agents change M
    resizes: bool = False  # may a running job's GPU count change
    reads_reports: bool = False  # does it look at what agents report
    horizon_rounds: int = 1  # rounds that one decision covers


class Policy(Protocol[Memory]):
    """Decides at round starts who holds which GPUs.

    A policy is told what jobs report, never what a simulator knows as truth. It keeps nothing:
    what it wants to remember it returns, and ``start()`` is always a valid memory.
    """

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        ...

    def start(self) -> Memory:
        """The memory before the first round."""
        ...

    def decide(
        self, snapshot: Snapshot, memory: Memory, rng: np.random.Generator
    ) -> tuple[Decision, Memory]:
        """Who holds what until the next round."""
        ...
