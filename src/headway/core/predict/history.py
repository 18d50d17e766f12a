"""What the regimes of other jobs say about one: the prior, learned and never from its own future.

Jobs of one model and one rule that go through the same configurations, relative to their initial
one, resemble each other. When a change comes may be a matter of epochs since the start, of a share
of the job, or of epochs before its end: whichever varied least between those jobs is believed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from headway.core.plans import BatchPlan, Regime

NEAR_END = 0.98  # of a job, from which on it counts as run to its end
ONE_SAW = 0.1  # relative error of a moment that a single job has shown


class Change(NamedTuple):
    """A change of the batch size that is expected: when, and how far off it may be."""

    at_epoch: float
    error_epochs: float


@dataclass(frozen=True, slots=True)
class Past:
    """One job's regimes as far as they are known; sizes are relative to the initial one."""

    epochs: float
    done: float
    sizes: tuple[float, ...]
    starts: tuple[float, ...]

    def follows(self, prefix: Sequence[float]) -> bool:
        """Whether it began with these sizes."""
        return self.sizes[: len(prefix)] == tuple(prefix)

    def tells_after(self, regimes: int) -> bool:
        """Whether it is known what came after so many regimes, be it nothing."""
        return len(self.sizes) > regimes or self.done >= NEAR_END * self.epochs


def past(plan: BatchPlan, regimes: Sequence[Regime], done: float) -> Past:
    """What a job has shown after so many epochs."""
    initial = plan.configurations[0]
    return Past(
        epochs=plan.epochs,
        done=done,
        sizes=tuple(regime.batch_size / initial for regime in regimes),
        starts=tuple(regime.began_epoch for regime in regimes),
    )


Group = tuple[str, str, tuple[float, ...]]


def exact_group(plan: BatchPlan) -> Group:
    """Jobs with the very same configurations: so with the same number of workers."""
    return plan.model, plan.rule, tuple(map(float, plan.configurations))


def wide_group(plan: BatchPlan) -> Group:
    """Jobs with the same configurations relative to the first."""
    initial = plan.configurations[0]
    return plan.model, plan.rule, tuple(size / initial for size in plan.configurations)


@dataclass(frozen=True)
class History:
    """The pasts of many jobs by group."""

    groups: Mapping[Group, tuple[Past, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, jobs: Iterable[tuple[BatchPlan, Past]]) -> "History":
        """From plans and what came of them."""
        groups: dict[Group, list[Past]] = {}
        for plan, one in jobs:
            for group in {exact_group(plan), wide_group(plan)}:
                groups.setdefault(group, []).append(one)
        return cls({group: tuple(members) for group, members in groups.items()})

    def news(self, plan: BatchPlan) -> int:
        """A number that grows with all that the groups of a plan learn."""
        return sum(
            len(one.sizes) + one.tells_after(len(one.sizes))
            for group in (exact_group(plan), wide_group(plan))
            for one in self.groups.get(group, ())
        )

    def like(self, plan: BatchPlan, prefix: Sequence[float]) -> tuple[Past, ...]:
        """Those that tell what follows this beginning, from the nearest group that has any."""
        for group in (exact_group(plan), wide_group(plan)):
            found = [one for one in self.groups.get(group, ()) if one.follows(prefix)]
            if any(one.tells_after(len(prefix)) for one in found):
                return tuple(found)
        return ()


def next_change(
    like: Sequence[Past], prefix: Sequence[float], epochs: float, after: float
) -> tuple[float, Change] | None:
    """The size that comes next in a job of so many epochs, and when; None: nothing comes.

    What comes next is what comes first of all that ever followed such a beginning.
    """
    seen: dict[float, list[tuple[float, float]]] = {}
    for one in like:
        if one.follows(prefix) and len(one.sizes) > len(prefix):
            place = len(prefix)
            seen.setdefault(one.sizes[place], []).append((one.starts[place], one.epochs))
    expected = {size: moment(pairs, epochs) for size, pairs in seen.items()}
    left = [
        (change.at_epoch, size)
        for size, change in expected.items()
        if after < change.at_epoch < epochs
    ]
    if not left:
        return None
    size = min(left)[1]
    return size, expected[size]


def moment(seen: Sequence[tuple[float, float]], epochs: float) -> Change:
    """When a change comes in a job of so many epochs, from (start, epochs) of other jobs."""
    starts, lengths = np.array(seen, dtype=np.float64).T
    before_end = lengths - starts
    if len(seen) == 1 or np.ptp(lengths) == 0:
        # the three cannot be told apart; only the last epoch is taken to belong to the end
        at = epochs - before_end.mean() if np.all(before_end <= 1) else starts.mean()
        return Change(float(at), max(ONE_SAW * float(at), float(starts.std())))
    scales = (
        (starts.std(), starts.mean()),
        ((starts / lengths).std() * epochs, (starts / lengths).mean() * epochs),
        (before_end.std(), epochs - before_end.mean()),
    )
    error, at = min(scales)
    return Change(float(at), float(error))
