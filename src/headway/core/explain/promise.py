"""Where a job stands with its promise: its predicted finish, and the egalitarian one."""

from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType

from headway.core.control.lifecycle import Phase
from headway.core.control.promised import Basis, Promised
from headway.core.explain.record import EXACT, Factors
from headway.core.types import Reason

ERRORS = 2.0  # standard errors to each side of a predicted finish, at least
NO_FINISH = MappingProxyType(
    {Phase.FAILED: "the job failed", Phase.CANCELLED: "the job was cancelled"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A job's promise; times are the log's. Of a job that finished all ends are what was."""

    rho_hat: float  # age at ``finish_s`` over that at ``egalitarian_end_s``; above 1 it is late
    egalitarian_end_s: float  # when it would end with its share of the cluster
    finish_s: float
    earliest_s: float  # 95 of 100 ends are between these two, by how earlier promises came out
    latest_s: float
    decided_s: float  # when this was predicted
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What there is to read a promise from."""

    submitted_s: float
    phase: Phase
    ended_s: float | None
    reason: Reason | None  # of the last decision that said something new of this job
    decided_s: float | None  # when that was
    policy: str
    factors: Factors = EXACT  # of the time left, by how earlier promises came out


def standing(told: Told, now_s: float) -> Standing | str:
    """The promise, or in a few words why there is none. Nothing is predicted for the past."""
    if told.phase in NO_FINISH:
        return NO_FINISH[told.phase]
    if told.reason is None or told.decided_s is None:
        return "no decision was made about it" if told.phase.ended else "no decision is made yet"
    promised = Promised.of(told.reason)
    if promised is None:
        return f"policy {told.policy} predicts no finish of this job"
    ends = _ends(told, promised, now_s)
    if not all(map(isfinite, (*ends, promised.egalitarian_s))):
        return "how long the job takes is not known yet"
    finish_s, earliest_s, latest_s = ends
    return Standing(
        rho_hat=(finish_s - told.submitted_s) / promised.egalitarian_s,
        egalitarian_end_s=told.submitted_s + promised.egalitarian_s,
        finish_s=finish_s,
        earliest_s=earliest_s,
        latest_s=latest_s,
        decided_s=told.decided_s,
        basis=promised.basis,
    )


def _ends(told: Told, promised: Promised, now_s: float) -> tuple[float, float, float]:
    """Predicted, at the earliest, at the latest."""
    if told.ended_s is not None:
        return told.ended_s, told.ended_s, told.ended_s
    decided_s = now_s if told.decided_s is None else told.decided_s
    finish_s = told.submitted_s + promised.finish_s
    left_s, spread_s = max(finish_s - decided_s, 0.0), ERRORS * promised.finish_error_s
    earliest_s = min(finish_s - spread_s, decided_s + told.factors.least * left_s)
    latest_s = max(finish_s + spread_s, decided_s + told.factors.most * left_s)
    return max(finish_s, now_s), max(earliest_s, now_s), max(latest_s, now_s)
