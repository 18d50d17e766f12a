"""What is said of a job, for every reason code and every end."""

from dataclasses import replace

import pytest

from headway.core.control.lifecycle import Phase
from headway.core.explain.promise import Told
from headway.core.explain.why import explain, figures
from headway.core.ids import JobId
from headway.core.types import Reason, ReasonCode

PROMISE = {"rho_hat": 0.75, "egalitarian_s": 7_200.0, "finish_s": 5_400.0, "finish_error_s": 300.0}
NONE = "It has no promise: policy pollux predicts no finish of this job."


def reason(code: ReasonCode, before: int, after: int, **numbers: float) -> Reason:
    sizes = {"gpus_before": float(before), "gpus_after": float(after)}
    return Reason(job_id=JobId("a"), code=code, numbers=tuple((sizes | numbers).items()))


def told(
    decided: Reason | None, phase: Phase = Phase.RUNNING, ended_s: float | None = None
) -> Told:
    return Told(
        submitted_s=1_000.0,
        phase=phase,
        ended_s=ended_s,
        reason=decided,
        decided_s=None if decided is None else 1_000.0,
        policy="pollux",
    )


@pytest.mark.parametrize(
    ("decided", "gpus", "said"),
    [
        (reason(ReasonCode.STARTED, 0, 1), 1, "It held nothing and was given 1 GPU."),
        (reason(ReasonCode.GREW, 1, 4), 4, "It was given more: 4 GPUs, after 1 GPU."),
        (
            reason(ReasonCode.SHRANK, 4, 2),
            2,
            "It was given fewer: 2 GPUs, after 4 GPUs.",
        ),
        (
            reason(ReasonCode.MOVED, 2, 2),
            2,
            "It was moved to other nodes, with 2 GPUs as before.",
        ),
        (reason(ReasonCode.KEPT, 2, 2), 2, "It keeps the 2 GPUs that it held."),
        (
            reason(ReasonCode.STOPPED, 2, 0),
            0,
            "Its 2 GPUs went to other jobs; it goes on from its checkpoint later.",
        ),
        (reason(ReasonCode.WAITING, 0, 0), 0, "It waits for GPUs that other jobs hold."),
        (
            reason(ReasonCode.BEHIND, 0, 0),
            0,
            "It would fit, but a job before it does not, and the order is kept.",
        ),
        (
            reason(ReasonCode.TOO_LARGE, 0, 0, gpus_needed=64.0),
            0,
            "It needs 64 GPUs, more than the cluster has of any one type.",
        ),
        (
            reason(
                ReasonCode.TOO_LARGE,
                0,
                0,
                gpus_needed=2.0,
                gpus_with_these=1.0,
                cpus_per_gpu=16.0,
                memory_gb_per_gpu=64.0,
            ),
            0,
            "It needs 2 GPUs with 16 CPUs and 64 GB each, and the cluster has room for 1 of these.",
        ),
        (
            reason(ReasonCode.NO_CPUS, 0, 0, cpus_needed=8.0, cpus_free=2.0),
            0,
            "It waits for CPUs: it needs 8 beside its GPUs, and nodes with free GPUs have 2.",
        ),
        (
            reason(ReasonCode.NO_MEMORY, 0, 0, memory_gb_needed=64.0, memory_gb_free=1.5),
            0,
            "It waits for memory: it needs 64 GB beside its GPUs, and nodes with free GPUs have "
            "1.5 GB.",
        ),
        (
            reason(ReasonCode.KEPT, 2, 2),
            0,
            "The GPUs that it held were lost or given back, and the next decision is due.",
        ),
    ],
)
def test_each_code_is_a_sentence(decided: Reason, gpus: int, said: str) -> None:
    assert explain(told(decided), gpus, 1_000.0) == f"{said} {NONE}"


def test_numbers_that_led_to_it_are_told_by_their_names() -> None:
    numbers = {"speedup_before": 1.0, "speedup_after": 1.9, "realloc_factor": 0.5}
    grew = reason(ReasonCode.GREW, 1, 2, **numbers)
    assert figures(grew) == [("speedup", "1 → 1.9"), ("realloc_factor", "0.5")]
    assert explain(told(grew), 2, 1_000.0) == (
        "It was given more: 2 GPUs, after 1 GPU "
        f"(speedup over a fair share 1 → 1.9, realloc_factor 0.5). {NONE}"
    )


def test_the_promise_is_a_sentence_of_its_own() -> None:
    kept = reason(ReasonCode.KEPT, 2, 2, **PROMISE)
    assert explain(told(kept), 2, 1_600.0) == (
        "It keeps the 2 GPUs that it held. It ends in about 80 min (70 min to 90 min); "
        "its fair share promises 110 min: 0.75 of its egalitarian time."
    )


def test_a_job_that_may_end_any_moment_has_only_a_bound() -> None:
    kept = reason(ReasonCode.KEPT, 2, 2, **PROMISE)
    assert "It ends in about 5 min (at most 15 min); its" in explain(told(kept), 2, 6_100.0)


def test_a_job_that_is_overdue_is_not_said_to_end_in_0_s() -> None:
    kept = reason(ReasonCode.KEPT, 2, 2, **PROMISE)
    assert explain(told(kept), 2, 6_700.0).startswith(
        "It keeps the 2 GPUs that it held. It was to have ended by now, or in 5 min at the latest; "
    )


def test_a_promise_whose_time_is_past_is_told_so() -> None:
    kept = reason(ReasonCode.KEPT, 2, 2, **PROMISE)
    assert explain(told(kept), 2, 10_000.0) == (
        "It keeps the 2 GPUs that it held. It was to have ended by now; its fair share promised "
        "30 min ago: 1.25 of its egalitarian time."
    )


GUESS = {**PROMISE, "guess": 1.0}


def test_a_guess_is_said_to_be_one() -> None:
    """It was said like knowledge: "It ends in about 60 min" of a job that had told nothing."""
    started = reason(ReasonCode.STARTED, 0, 1, **GUESS)
    assert figures(started) == [("guessed_finish_s", "90 min")]
    assert explain(told(started), 1, 1_600.0) == (
        "It held nothing and was given 1 GPU. It has no promise yet: how long it takes is not "
        "known; by a guess it ends in 80 min."
    )
    assert explain(told(started), 1, 1e5).endswith("by a guess it ends now.")
    known = reason(ReasonCode.STARTED, 0, 1, **PROMISE, guess=0.0)
    assert figures(known) == figures(reason(ReasonCode.STARTED, 0, 1, **PROMISE))


def test_the_end_of_a_job_that_was_only_guessed_at_is_only_the_end() -> None:
    ended = told(reason(ReasonCode.KEPT, 1, 1, **GUESS), Phase.FINISHED, ended_s=4_600.0)
    assert explain(ended, 0, 9_000.0) == "It finished after 60 min and holds nothing."


def test_before_any_decision() -> None:
    said = explain(told(None, Phase.QUEUED), 0, 1_000.0)
    assert said == "No decision has been made about it yet; it holds nothing."


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (
            Phase.FINISHED,
            "It finished after 60 min and holds nothing; its fair share promised 2.0 h: "
            "0.50 of its egalitarian time.",
        ),
        (Phase.FAILED, "It failed after 60 min and holds nothing."),
        (Phase.CANCELLED, "It was cancelled after 60 min and holds nothing."),
    ],
)
def test_an_end_is_told_with_what_was_promised(phase: Phase, said: str) -> None:
    kept = reason(ReasonCode.KEPT, 2, 2, **PROMISE)
    assert explain(told(kept, phase, ended_s=4_600.0), 0, 9_000.0) == said


def test_every_code_has_its_sentence() -> None:
    for code in ReasonCode:
        assert explain(told(reason(code, 1, 1)), 1, 1_000.0).endswith(NONE)


def test_an_end_without_a_promise_is_only_the_end() -> None:
    done = told(reason(ReasonCode.KEPT, 2, 2), Phase.FINISHED, ended_s=1_050.0)
    assert explain(replace(done, policy="fifo"), 0, 9_000.0) == (
        "It finished after 50 s and holds nothing."
    )
