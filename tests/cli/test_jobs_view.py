"""What `headway show` makes of a job's history."""

from headway.cli.jobs import shortened


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
