"""A job's promise, and why it holds what it holds, in a line each; times by the reader's clock."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from headway.core.control.promised import Basis
from headway.core.explain.why import SPANS, guess, unpromised
from headway.core.ids import JobId
from headway.core.types import Reason, ReasonCode
from headway.core.words import FAR_S, span

SOON_S = 3_600.0  # of a job that takes less a minute is too coarse
YEARS = 1_000  # as many as FAR_S are, about


def promise_line(job: Mapping[str, Any]) -> str:
    """As in: ends about 14:05 (13:50 to 14:25); its fair share promises 14:30: 0.90 of it."""
    promise, now_s = job["promise"], job["now_s"]
    if promise is None:
        return f"none: {job['no_promise']}"
    finish_s, end_s, rho_hat = (promise[k] for k in ("finish_s", "egalitarian_end_s", "rho_hat"))
    since_s = now_s if job["ended_s"] is None else job["submitted_s"]
    at = partial(_at, now_s=now_s, seconds=finish_s - since_s < SOON_S)
    if promise["basis"] == Basis.GUESS:
        if job["ended_s"] is not None:
            return f"ended {at(finish_s)}; how long it takes was never known"
        return f"none yet: {guess(finish_s - now_s)}"
    end = f"{at(end_s)}: {rho_hat:.2f} of it"
    if job["ended_s"] is not None:
        return f"ended {at(finish_s)}; its fair share promised {end}"
    tense = "promises" if end_s >= now_s else "promised"
    if finish_s <= now_s:
        latest_s = promise["latest_s"]
        late = f", or by {at(latest_s)} at the latest" if latest_s > now_s else ""
        return f"was to have ended by now{late}; its fair share {tense} {end}"
    if finish_s - now_s > FAR_S:
        return f"ends in {span(finish_s - now_s)}; its fair share {tense} {end}"
    between = f"{at(promise['earliest_s'])} to {at(promise['latest_s'])}"
    return (
        f"ends about {at(finish_s)} ({between}), in {span(finish_s - now_s)}; "
        f"its fair share {tense} {end}"
    )


def why_line(job: Mapping[str, Any]) -> str:
    """As in: Grew: speedup 1 → 1.63."""
    code, numbers = job["why"]["code"], job["why"]["numbers"]
    if job["ended_s"] is not None or code not in {*ReasonCode}:  # how it ended, or a newer word
        return str(code)
    known = tuple((name, value) for name, value in numbers.items() if value is not None)
    reason = Reason(job_id=JobId(job["job_id"]), code=ReasonCode(code), numbers=known)
    told = ((n.removesuffix("_s") if n in SPANS else n, value) for n, value in unpromised(reason))
    shown = ", ".join(f"{name} {value}" for name, value in told)
    return f"{code}: {shown}" if shown else str(code)


def _at(at_s: float, *, now_s: float, seconds: bool) -> str:
    """The time of day, and the day where it is another one than today."""
    if at_s - now_s > FAR_S:  # calendars end, and promises of jobs that never do not
        return f"the year {datetime.fromtimestamp(now_s, UTC).year + YEARS} or later"
    at, now = (datetime.fromtimestamp(one, UTC).astimezone() for one in (at_s, now_s))
    clock = "%H:%M:%S" if seconds else "%H:%M"
    return at.strftime(clock if at.date() == now.date() else f"%Y-%m-%d {clock}")
