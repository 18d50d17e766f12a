"""Why a job holds what it holds, in one or two sentences: the last decision and its numbers."""

from collections.abc import Mapping
from types import MappingProxyType

from headway.core.control.lifecycle import Phase
from headway.core.control.promised import Basis, Promised
from headway.core.explain.more import More
from headway.core.explain.promise import Standing, Told, standing
from headway.core.policy.needs import RESOURCES, Needs, asked, in_words
from headway.core.types import Reason, ReasonCode
from headway.core.words import counted, number, span

SENTENCES: Mapping[ReasonCode, str] = MappingProxyType(
    {
        ReasonCode.STARTED: "It held nothing and was given {after}",
        ReasonCode.GREW: "It was given more: {after}, after {before}",
        ReasonCode.SHRANK: "It was given fewer: {after}, after {before}",
        ReasonCode.MOVED: "It was moved to other nodes, with {after} as before",
        ReasonCode.KEPT: "It keeps the {after} that it held",
        ReasonCode.STOPPED: "Its {before} went to other jobs; it goes on from its checkpoint later",
        ReasonCode.WAITING: "It waits for GPUs that other jobs hold",
        ReasonCode.NO_CPUS: "It waits for CPUs: it needs {cpus_needed:g} beside its GPUs, and "
        "nodes with free GPUs have {cpus_free:g}",
        ReasonCode.NO_MEMORY: "It waits for memory: it needs {memory_gb_needed:g} GB beside its "
        "GPUs, and nodes with free GPUs have {memory_gb_free:g} GB",
        ReasonCode.BEHIND: "It would fit, but a job before it does not, and the order is kept",
        ReasonCode.TOO_LARGE: "It needs {needed}{limit}",
    }
)
LOST = "The GPUs that it held were lost or given back, and the next decision is due"
LABELS: Mapping[str, str] = MappingProxyType(  # of numbers in a sentence; the others by their name
    {
        "speedup": "speedup over a fair share",
        "attained_gpu_s": "GPU-seconds used",
        "remaining_s": "run time alone left",
        "rho_hat": "predicted time over that in an equal share",
        "weight": "weight against the mean job",
    }
)
GUESSED = "guessed_finish_s"  # all that a guess has to say of a promise
PROMISE = frozenset({"rho_hat", "egalitarian_s", "finish_s", "finish_error_s", "guess"})
SPANS = frozenset({"egalitarian_s", "finish_s", "finish_error_s", "remaining_s"})
BESIDE = frozenset(  # told in the sentence itself
    {
        *(one.of_job for one in RESOURCES),
        *(f"{one.of_node}_{what}" for one in RESOURCES for what in ("needed", "free")),
    }
)


def explain(told: Told, gpus: int, now_s: float, more: More | str = "") -> str:
    """Why a job holds so many GPUs now, what more would be worth, and what it is promised."""
    promise = standing(told, now_s)
    if told.ended_s is not None:
        return _end(told, told.ended_s - told.submitted_s, promise)
    if told.reason is None:
        return "No decision has been made about it yet; it holds nothing."
    said = (_cause(told.reason, gpus), str(more), _promise(promise, now_s))
    return " ".join(f"{sentence}." for sentence in said if sentence)


def figures(reason: Reason) -> list[tuple[str, str]]:
    """Name and value of the numbers of a reason but for sizes; before and after are one."""
    numbers, shown = dict(reason.numbers), []
    promised = Promised.of(reason)
    if promised is not None and promised.basis is Basis.GUESS:
        shown = [(GUESSED, span(promised.finish_s))]
        numbers = {name: value for name, value in numbers.items() if name not in PROMISE}
    numbers.pop("guess", None)
    for name, value in numbers.items():
        what, _, side = name.rpartition("_")
        if side == "before" or name == "gpus_after":  # before goes with after
            continue
        before = numbers.get(f"{what}_before") if side == "after" else None
        if name in SPANS:
            shown.append((name, span(value)))
        elif before is None:
            shown.append((name, number(value)))
        else:
            shown.append((what, f"{number(before)} → {number(value)}"))
    return shown


def unpromised(reason: Reason) -> list[tuple[str, str]]:
    """The same but for a promise: that is told by itself, as it stands now."""
    if Promised.of(reason) is None:
        return figures(reason)
    return [(name, value) for name, value in figures(reason) if name not in {*PROMISE, GUESSED}]


def guess(left_s: float) -> str:
    """What there is to say in place of a promise."""
    when = f"in {span(left_s)}" if left_s > 0 else "now"
    return f"how long it takes is not known; by a guess it ends {when}"


def _cause(reason: Reason, gpus: int) -> str:
    numbers = dict(reason.numbers)
    if numbers.get("gpus_after") and not gpus:
        return LOST
    sentence = SENTENCES[reason.code].format_map(
        {
            **dict.fromkeys(BESIDE, 0.0),
            **numbers,
            "before": counted(numbers.get("gpus_before", gpus), "GPU"),
            "after": counted(numbers.get("gpus_after", gpus), "GPU"),
            "needed": counted(numbers.get("gpus_needed", 0), "GPU"),
            "limit": _limit(numbers),
        }
    )
    shown = [
        f"{LABELS.get(name, name)} {value}"
        for name, value in unpromised(reason)
        if name not in BESIDE and not name.startswith("gpus_")
    ]
    return f"{sentence} ({', '.join(shown)})" if shown else sentence


def _limit(numbers: Mapping[str, float]) -> str:
    """What a job that is too large has too little of: GPUs, or what goes with each."""
    asks = Needs(**{one.of_job: numbers.get(one.of_job, 0.0) for one in RESOURCES})
    if not any(asked(asks)):
        return ", more than the cluster has of any one type"
    room = f"{numbers.get('gpus_with_these', 0.0):.0f}"
    return f" with {in_words(asks)}, and the cluster has room for {room} of these"


def _promise(promise: Standing | str, now_s: float) -> str:
    if isinstance(promise, str):
        return f"It has no promise: {promise}"
    if promise.basis is Basis.GUESS:
        return f"It has no promise yet: {guess(promise.finish_s - now_s)}"
    early_s, late_s = promise.earliest_s - now_s, promise.latest_s - now_s
    left_s = promise.egalitarian_end_s - now_s
    fair = f"promises {span(left_s)}" if left_s >= 0 else f"promised {span(-left_s)} ago"
    between = f"{span(early_s)} to {span(late_s)}" if early_s > 0 else f"at most {span(late_s)}"
    ends = f"It ends in about {span(promise.finish_s - now_s)} ({between})"
    if promise.finish_s <= now_s:
        ends = "It was to have ended by now"
        ends += f", or in {span(late_s)} at the latest" if late_s > 0 else ""
    return f"{ends}; its fair share {fair}: {promise.rho_hat:.2f} of its egalitarian time"


def _end(told: Told, age_s: float, promise: Standing | str) -> str:
    how = {Phase.FINISHED: "finished", Phase.FAILED: "failed"}.get(told.phase, "was cancelled")
    if isinstance(promise, str) or promise.basis is Basis.GUESS:
        return f"It {how} after {span(age_s)} and holds nothing."
    fair_s = promise.egalitarian_end_s - told.submitted_s
    return (
        f"It {how} after {span(age_s)} and holds nothing; its fair share promised {span(fair_s)}: "
        f"{promise.rho_hat:.2f} of its egalitarian time."
    )
