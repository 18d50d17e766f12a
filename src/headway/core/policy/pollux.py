"""Placeholder while the policy is written on its own branch."""

from dataclasses import dataclass
from typing import final

import numpy as np

from headway.core.policy.base import Traits
from headway.core.types import Decision, Snapshot


@final
@dataclass(frozen=True)
class Pollux:
    """Decides nothing."""

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits()

    def start(self) -> None:
        """Nothing to remember."""

    def decide(
        self, snapshot: Snapshot, memory: None, rng: np.random.Generator
    ) -> tuple[Decision, None]:
        """Nobody holds anything."""
        return Decision(allocations={}), None
