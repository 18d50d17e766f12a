"""What the demo tells, from events alone."""

import pytest

from headway.cli import demo_view
from headway.cli.demo_jobs import JOBS
from headway.core.control.events import (
    BatchChanged,
    Change,
    JobFinished,
    JobSubmitted,
    RoundDecided,
)
from headway.core.ids import JobId, NodeId
from headway.core.types import (
    Allocation,
    BatchChange,
    BatchContract,
    GpuBounds,
    JobSpec,
    Reason,
    ReasonCode,
)
from headway.report.story import Stories

CNN = JobId("digits-cnn-1")
SPEC = JobSpec(
    job_id=CNN,
    name="digits-cnn",
    submitted_s=100,
    gpus=GpuBounds(max_gpus=4),
    batch=BatchContract(initial_batch_size=32, max_batch_size=256, max_batch_per_gpu=256),
    requested_gpus=1,
    requested_batch_size=32,
)
GROWS = RoundDecided(
    at_s=106,
    round_index=1,
    changes=(Change(job_id=CNN, generation=1, allocation=Allocation.of({NodeId("n"): 2})),),
    reasons=(
        Reason(
            job_id=CNN,
            code=ReasonCode.GREW,
            numbers=(
                ("gpus_before", 0),
                ("gpus_after", 2),
                ("speedup_before", 1),
                ("speedup_after", 1.6254),
                ("realloc_factor", 0.9),
            ),
        ),
    ),
)


def test_a_decision_is_told_with_its_reason_and_numbers() -> None:
    stories = Stories((JobSubmitted(at_s=100, job=SPEC), GROWS))
    told = list(demo_view.lines(GROWS, stories, start_s=100))
    assert told == ["   6.0 s  digits-cnn: 0 → 2 GPUs  Grew: speedup 1 → 1.63, realloc_factor 0.9"]


def test_a_change_of_batch_is_told_with_what_was_expected_of_it() -> None:
    change = BatchChange(
        samples=4000,
        gpus=2,
        batch_per_gpu=64,
        accum_steps=0,
        old_batch_size=32,
        new_batch_size=128,
        lr_factor=2.1,
        lr_rule="adascale",
        noise_scale=73.9,
        noise_scale_error=5.2,
        predicted_gain=1.37,
        why="predicted goodput",
    )
    event = BatchChanged(at_s=107, job_id=CNN, change=change)
    stories = Stories((JobSubmitted(at_s=100, job=SPEC), event))
    assert list(demo_view.lines(event, stories, start_s=100)) == [
        "   7.0 s  digits-cnn: batch 32 → 128  goodput +37% expected at noise scale 73.9 ± 5.2"
    ]


def test_a_job_that_has_not_come_yet_is_shown_as_coming() -> None:
    rows = {row[0]: row for row in demo_view.live_rows(Stories(), JOBS)}
    assert rows["digits-cnn"][1] == "arrives at 8 s"
    assert {len(row) for row in rows.values()} == {len(demo_view.LIVE_COLUMNS)}


def test_the_last_table_has_a_cell_for_each_column() -> None:
    end = JobFinished(at_s=130, job_id=CNN)
    stories = Stories((JobSubmitted(at_s=100, job=SPEC), GROWS, end))
    (row,) = demo_view.end_rows(stories, JOBS)
    assert len(row) == len(demo_view.END_COLUMNS)
    assert row[:3] == ("digits-cnn", "30", "0→2")


@pytest.mark.parametrize(
    ("name", "metric", "reached"),
    [
        ("charlm", 1.85, True),
        ("charlm", 1.86, False),
        ("digits-mlp", 0.95, True),
        ("digits-mlp", 0.94, False),
        ("digits-mlp", None, False),
    ],
)
def test_a_target_is_reached_from_its_own_side(
    name: str, metric: float | None, reached: bool
) -> None:
    (job,) = (job for job in JOBS if job.name == name)
    assert job.reached(metric) is reached
