"""What a policy is: a pure function from a snapshot and its memory to a decision."""

from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from headway.core.types import BatchContract, Decision, Snapshot

Memory = TypeVar("Memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a policy can do; nobody asks for its class or its name."""

    adapts_batch_size: bool = False  # may the agents change M
    resizes: bool = False  # may a running job's GPU count change
    reads_reports: bool = False  # does it look at what agents report
    horizon_rounds: int = 1  # rounds that one decision covers
    batch_per_gpu: bool = False  # agents that adapt keep M0 on each GPU, so M grows with the GPUs
    most_nodes: int | None = None  # nodes it may scale the cluster to; None: it does not


def contract_under(traits: Traits, batch: BatchContract) -> BatchContract:
    """The contract of a job whose agent must do as a policy of these traits wants it.

    With ``batch_per_gpu`` each GPU keeps the initial batch size, in as few passes as fit.
    """
    if not (traits.batch_per_gpu and traits.adapts_batch_size and batch.adapts):
        return batch
    passes = -(-batch.initial_batch_size // batch.max_batch_per_gpu)
    each = -(-batch.initial_batch_size // passes)
    return replace(
        batch, min_batch_per_gpu=each, max_batch_per_gpu=each, max_accum_steps=passes - 1
    )


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
