"""A job's promise in one line, with times of the reader's clock."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from headway.core.control.promised import Basis
from headway.core.explain.why import FAR_S, guess, span

YEARS = 1_000  # as many as FAR_S are, about


def promise_line(job: Mapping[str, Any], now_s: float) -> str:
    """As in: ends about 14:05 (13:50 to 14:25); its fair share promises 14:30: 0.90 of it."""
    promise = job["promise"]
    if promise is None:
        return f"none: {job['no_promise']}"
    finish_s, end_s, rho_hat = (promise[k] for k in ("finish_s", "egalitarian_end_s", "rho_hat"))
    if promise["basis"] == Basis.GUESS:
        if job["ended_s"] is not None:
            return f"ended {_at(finish_s, now_s)}; how long it takes was never known"
        return f"none yet: {guess(finish_s - now_s)}"
    end = f"{_at(end_s, now_s)}: {rho_hat:.2f} of it"
    if job["ended_s"] is not None:
        return f"ended {_at(finish_s, now_s)}; its fair share promised {end}"
    tense = "promises" if end_s >= now_s else "promised"
    if promise["latest_s"] <= now_s:
        return f"was to have ended by now; its fair share {tense} {end}"
    if finish_s - now_s > FAR_S:
        return f"ends in {span(finish_s - now_s)}; its fair share {tense} {end}"
    between = f"{_at(promise['earliest_s'], now_s)} to {_at(promise['latest_s'], now_s)}"
    return (
        f"ends about {_at(finish_s, now_s)} ({between}), in {span(finish_s - now_s)}; "
        f"its fair share {tense} {end}"
    )


def _at(at_s: float, now_s: float) -> str:
    """The time of day, and the day where it is another one than today."""
    if at_s - now_s > FAR_S:  # calendars end, and promises of jobs that never do not
        return f"the year {datetime.fromtimestamp(now_s, UTC).year + YEARS} or later"
    at, now = (datetime.fromtimestamp(one, UTC).astimezone() for one in (at_s, now_s))
    return at.strftime("%H:%M" if at.date() == now.date() else "%Y-%m-%d %H:%M")
