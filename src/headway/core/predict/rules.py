"""Rules by which a job changes its batch size: what may come next, and when it decides to.

A rule is a small object: a new one that listens to the gradient needs these two methods and a
name in the mapping that forecasts and agents are given.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, final

from headway.core.plans import STATIC, BatchPlan


class Epoch(NamedTuple):
    """What a job measured of its gradient during one epoch."""

    gradient_norm: float  # of the sum over the epoch's steps
    noise_scale: float  # in examples


class Rule(Protocol):
    """How a job decides about its batch size; its order is known, its moments are not."""

    @property
    def decides_every(self) -> int:
        """Epochs from one decision to the next."""
        ...

    def ahead(self, plan: BatchPlan, batch_size: int) -> tuple[int, ...]:
        """The present configuration and those that may still follow, in order."""
        ...

    def next_batch_size(self, plan: BatchPlan, batch_size: int, measured: Sequence[Epoch]) -> int:
        """What a live job takes for its next epoch, after these of its epochs."""
        ...


def from_here(plan: BatchPlan, batch_size: int) -> tuple[int, ...]:
    """The configurations from the present one on; a size that is none of them stands alone."""
    if batch_size not in plan.configurations:
        return (batch_size,)
    return plan.configurations[plan.configurations.index(batch_size) :]


@final
@dataclass(frozen=True)
class Static:
    """The batch size stays as it is."""

    decides_every: int = 1

    def ahead(self, plan: BatchPlan, batch_size: int) -> tuple[int, ...]:
        """Only the present one."""
        return (batch_size,)

    def next_batch_size(self, plan: BatchPlan, batch_size: int, measured: Sequence[Epoch]) -> int:
        """The same."""
        return batch_size


@final
@dataclass(frozen=True)
class Ladder:
    """Configurations one after the other, at moments that nothing here foresees."""

    decides_every: int = 1

    def ahead(self, plan: BatchPlan, batch_size: int) -> tuple[int, ...]:
        """All from the present one on."""
        return from_here(plan, batch_size)

    def next_batch_size(self, plan: BatchPlan, batch_size: int, measured: Sequence[Epoch]) -> int:
        """The same: whoever changes it does so without asking."""
        return batch_size


@final
@dataclass(frozen=True)
class Declared:
    """Each configuration begins in the epoch that the owner declared."""

    decides_every: int = 1

    def ahead(self, plan: BatchPlan, batch_size: int) -> tuple[int, ...]:
        """All from the present one on."""
        return from_here(plan, batch_size)

    def next_batch_size(self, plan: BatchPlan, batch_size: int, measured: Sequence[Epoch]) -> int:
        """The last one that has begun."""
        begun = sum(start <= len(measured) for start in plan.starts)
        return plan.configurations[begun - 1] if begun else batch_size


@final
@dataclass(frozen=True)
class Accordion:
    """Small while the gradient changes fast, large otherwise (Agarwal et al., MLSys 2021).

    A regime is critical when the norm of the gradient, summed over an epoch, has changed by at
    least ``threshold`` since the last decision. A job may come back to the small size.
    """

    decides_every: int = 10
    threshold: float = 0.5

    def ahead(self, plan: BatchPlan, batch_size: int) -> tuple[int, ...]:
        """The large one follows the small one; what follows the large one is not foreseen."""
        return from_here(plan, batch_size)

    def next_batch_size(self, plan: BatchPlan, batch_size: int, measured: Sequence[Epoch]) -> int:
        """Decided every few epochs, from the norms at the two last decisions."""
        small, large = plan.configurations[0], plan.configurations[-1]
        if not measured or len(measured) % self.decides_every:
            return batch_size
        if len(measured) <= self.decides_every:
            return small
        before = measured[-1 - self.decides_every].gradient_norm
        change = abs(before - measured[-1].gradient_norm)
        return small if change >= self.threshold * before else large


@final
@dataclass(frozen=True)
class NoiseScale:
    """One configuration up when the noise scale is above its mean of late (McCandlish et al.)."""

    decides_every: int = 10

    def ahead(self, plan: BatchPlan, batch_size: int) -> tuple[int, ...]:
        """All from the present one on."""
        return from_here(plan, batch_size)

    def next_batch_size(self, plan: BatchPlan, batch_size: int, measured: Sequence[Epoch]) -> int:
        """Decided every few epochs, against the mean since the last decision."""
        if not measured or len(measured) % self.decides_every:
            return batch_size
        late = [epoch.noise_scale for epoch in measured[-self.decides_every :]]
        following = from_here(plan, batch_size)
        grows = late[-1] > sum(late) / len(late) and len(following) > 1
        return following[1] if grows else batch_size


RULES: Mapping[str, Rule] = {
    STATIC: Static(),
    "declared": Declared(),
    "accordion": Accordion(),
    "gns": NoiseScale(),
}
OTHER = Ladder()  # a rule that is not known by name


def rule_of(plan: BatchPlan, rules: Mapping[str, Rule] = RULES) -> Rule:
    """The rule of a job; one that nobody knows goes through its configurations in order."""
    return rules.get(plan.rule, OTHER)
