"""What the regimes of other jobs say about one: the prior, learned and never from its own future.

Jobs of one model and one rule that go through the same configurations, relative to their initial
one, resemble each other. When a change comes may be a matter of epochs since the start, of a share
of the job, or of epochs before its end: whichever varied least between those jobs is believed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from headway.core.adaptation import Adaptation, Regime

NEAR_END = 0.98  # of a job, from which on it counts as run to its end
ONE_SAW = 0.1  # relative error of a moment that a single job has shown


class Change(NamedTuple):
    """A change of the batch size that is expected: when, and how far off it may be."""

    at_epoch: float
    error_epochs: float


Group = tuple[str, str, tuple[float, ...]]


class Groups(NamedTuple):
    """Whom a job resembles: jobs of one model, rule and configurations."""

    exact: Group  # the very same configurations, so the same number of workers too
    wide: Group  # the same relative to the first


@dataclass(frozen=True, slots=True)
class Past:
    """One job's regimes as far as they are known; sizes are relative to the initial one."""

    groups: Groups
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


def past(adaptation: Adaptation, regimes: Sequence[Regime], done: float) -> Past:
    """What a job has shown after so many epochs."""
    initial = adaptation.configurations[0]
    return Past(
        groups=groups_of(adaptation),
        epochs=adaptation.epochs,
        done=done,
        sizes=tuple(regime.batch_size / initial for regime in regimes),
        starts=tuple(regime.began_epoch for regime in regimes),
    )


def groups_of(adaptation: Adaptation) -> Groups:
    """The groups of a job."""
    sizes, initial = adaptation.configurations, adaptation.configurations[0]
    return Groups(
        exact=(adaptation.model, adaptation.rule, tuple(map(float, sizes))),
        wide=(adaptation.model, adaptation.rule, tuple(size / initial for size in sizes)),
    )


@dataclass(frozen=True)
class History:
    """The pasts of many jobs by group."""

    groups: Mapping[Group, tuple[Past, ...]] = field(default_factory=dict)
    told: Mapping[Group, int] = field(default_factory=dict)  # regimes and ends in each group

    @classmethod
    def of(cls, pasts: Iterable[Past]) -> "History":
        """From what jobs have shown."""
        groups: dict[Group, list[Past]] = {}
        told: dict[Group, int] = {}
        for one in pasts:
            news = len(one.sizes) + one.tells_after(len(one.sizes))
            for group in set(one.groups):
                groups.setdefault(group, []).append(one)
                told[group] = told.get(group, 0) + news
        return cls({group: tuple(members) for group, members in groups.items()}, told)

    def news(self, adaptation: Adaptation) -> int:
        """A number that grows with all that the groups of a job learn."""
        return sum(self.told.get(group, 0) for group in groups_of(adaptation))

    def like(self, adaptation: Adaptation, prefix: Sequence[float]) -> tuple[Past, ...]:
        """Those that tell what follows this beginning, from the nearest group that has any."""
        for group in groups_of(adaptation):
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
