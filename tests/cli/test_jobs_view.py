"""What `headway show` makes of a job's history."""

import pytest

from headway.cli.jobs import _facts, _speed, shortened


def entry(event: str, message: str) -> dict[str, object]:
    return {"at_s": 1.0, "event": event, "gpus": None, "batch_size": None, "message": message}


def test_hundreds_of_epochs_are_one_line_but_an_odd_one_stands_alone() -> None:
    """A job of 388 short epochs filled twenty screens before it came to its end."""
    epochs = [entry("EpochRead", f"epoch {n}: each read once") for n in range(388)]
    odd = entry("EpochRead", "epoch 388: samples read 0 to 2 times")
    history = [entry("JobStarted", ""), *epochs, odd, entry("JobFinished", "")]
    assert [(e["event"], e["message"]) for e in shortened(history)] == [
        ("JobStarted", ""),
        ("EpochRead", "epoch 0 to 387: each read once"),
        ("EpochRead", "epoch 388: samples read 0 to 2 times"),
        ("JobFinished", ""),
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "linear, here untried, on twice the GPUs untried"),
        (
            {"step_error": 0.0123, "step_error_doubled": 0.2},
            "linear, here ±1.2 %, on twice the GPUs ±20 %",
        ),
        (
            {"step_error": 0.01, "fit_trouble": "nothing was observed"},
            "linear, here ±1 %, on twice the GPUs untried, last fit failed: nothing was observed",
        ),
    ],
)
def test_the_speed_is_shown_with_its_error_bars_and_troubles(
    more: dict[str, object], said: str
) -> None:
    assert _speed({"throughput": {"kind": "linear"}, **more}) == said


@pytest.mark.parametrize(("eta_s", "ended_s"), [(3723.4, None), (None, None), (3723.4, 9.0)])
def test_what_a_job_reckons_itself_is_left(eta_s: float | None, ended_s: float | None) -> None:
    report = {"noise_scale": None, "metric": 0.5, "eta_s": eta_s, "throughput": {"kind": "linear"}}
    job: dict[str, object] = dict.fromkeys(
        ("job_id", "phase", "message", "batch_mode", "batch_size", "progress_examples", "why")
    )
    job |= {"allocation": {}, "min_gpus": 1, "max_gpus": 2, "progress_share": 0.5, "restarts": 0}
    job |= {"submitted_s": 1.0, "started_s": 2.0, "ended_s": ended_s, "report": report}
    job |= {"promise": None, "no_promise": "nothing was promised yet", "now_s": 3.0}
    facts = dict(_facts({**job, "spec": {"launch": None}}))
    left = "1:02:03 at its present speed" if eta_s and ended_s is None else None
    assert facts.get("left") == left
