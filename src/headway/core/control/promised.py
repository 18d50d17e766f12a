"""What a decision promises a job, read out of its reason; times are ages, from submission on."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from headway.core.types import Reason

MOVED_SHARE = 0.1  # of the time left; a promise that has moved by more is news


class Basis(StrEnum):
    """What a promise rests on. Stable: scripts and dashboards read these."""

    GUESS = "guess"  # nothing: how long the job takes is not known
    MEASURED = "measured"  # what it, or its kind, has reported


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """One job's finish: in the egalitarian cluster, and as predicted in this one."""

    egalitarian_s: float
    finish_s: float
    finish_error_s: float  # standard error of ``finish_s``
    basis: Basis = Basis.MEASURED

    @classmethod
    def of(cls, reason: Reason) -> Self | None:
        """None: the policy that gave this reason predicts no finish."""
        numbers = dict(reason.numbers)
        try:
            return cls(
                egalitarian_s=numbers["egalitarian_s"],
                finish_s=numbers["finish_s"],
                finish_error_s=numbers["finish_error_s"],
                basis=Basis.GUESS if numbers.get("guess") else Basis.MEASURED,
            )
        except KeyError:
            return None


def has_moved(before: Reason, after: Reason, *, age_s: float, round_s: float) -> bool:
    """Whether a promise is another one than was told before, by more than it is worth to say.

    That is a tenth of the time that is left, and never less than a round: a log in which every
    decision repeated the promise of every job would be nothing else. That a guess has become more
    than one is worth it.
    """
    old, new = Promised.of(before), Promised.of(after)
    if new is None:
        return False
    if old is None or old.basis is not new.basis:
        return True
    least_s = max(MOVED_SHARE * (new.finish_s - age_s), round_s)
    moved_s = (new.finish_s - old.finish_s, new.egalitarian_s - old.egalitarian_s)
    return max(map(abs, moved_s)) > least_s
