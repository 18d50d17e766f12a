"""What `headway show` makes of a job's history."""

import pytest

from headway.cli.jobs import _speed, shortened


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
