"""The batch contract as people write it: what it becomes, and what is said of a mistake."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import ValidationError

from headway.core.errors import InvalidInputError
from headway.core.ids import JobId
from headway.core.types import (
    BatchChange,
    BatchMode,
    BatchRule,
    JobSpec,
    RuleName,
    ScheduledBatch,
)
from headway.service.api.admit import admit
from headway.service.api.schemas import JobRequest
from headway.testing.snapshots import nodes

SCHEDULE = {"mode": "schedule", "initial": 64, "schedule": "0:16 2K:64 1M:256", "max_per_gpu": 64}
RULE = {"mode": "schedule", "initial": 32, "max": 256, "rule": "accordion"}
FIRST = BatchChange(
    samples=0,
    gpus=1,
    batch_per_gpu=32,
    accum_steps=0,
    old_batch_size=32,
    new_batch_size=32,
    lr_factor=1.0,
    lr_rule="hold",
    noise_scale=None,
    noise_scale_error=None,
    predicted_gain=1.0,
    why="the training begins",
)


def admitted(folder: Path, batch: Any, **fields: Any) -> JobSpec:
    (folder / "train.py").write_text("import headway.agent\n")
    asked = {"run": "python train.py", "workdir": str(folder), "gpus": "1-4", "batch": batch}
    return admit(JobRequest.model_validate({**asked, **fields}), JobId("t"), 0.0, nodes(4))


def test_a_declared_schedule(tmp_path: Path) -> None:
    job = admitted(tmp_path, SCHEDULE)
    assert job.batch.schedule == (
        ScheduledBatch(0, 16),
        ScheduledBatch(2000, 64),
        ScheduledBatch(1_000_000, 256),
    )
    assert (job.batch.initial_batch_size, job.batch.max_batch_size) == (64, 256)
    assert (job.batch.mode, job.requested_batch_size) == (BatchMode.SCHEDULE, 16)


def test_a_lone_number_is_no_bound_of_a_schedule(tmp_path: Path) -> None:
    """As ``--batch 64 --schedule ...`` sends it."""
    assert admitted(tmp_path, {**SCHEDULE, "max": 64}).batch.max_batch_size == 256


def test_thresholds_in_tokens(tmp_path: Path) -> None:
    asked = {**SCHEDULE, "schedule": "0:64 1M:128", "tokens_per_sample": 1024}
    assert admitted(tmp_path, asked).batch.schedule[1] == ScheduledBatch(977, 128)


def test_a_rule_and_its_numbers(tmp_path: Path) -> None:
    assert admitted(tmp_path, RULE).batch.rule == BatchRule(
        name=RuleName.ACCORDION, every_epochs=10, eta=0.5
    )
    asked = {**RULE, "every_epochs": 2, "eta": 0.3, "max_lr_factor": 4, "freeze_after": 9000}
    batch = admitted(tmp_path, asked).batch
    assert batch.rule == BatchRule(name=RuleName.ACCORDION, every_epochs=2, eta=0.3)
    assert (batch.max_lr_factor, batch.freeze_after_samples) == (4.0, 9000)


def test_a_log_to_replay_without_what_was_taken_back(tmp_path: Path) -> None:
    ats = [(0, 32), (100, 64), (200, 128), (150, 64)]
    records = [
        {**msgspec.to_builtins(FIRST), "samples": at, "new_batch_size": size} for at, size in ats
    ]
    asked = {"mode": "adaptive", "initial": 32, "max": 256, "replay": records}
    job = admitted(tmp_path, asked)
    assert [(one.samples, one.new_batch_size) for one in job.batch.replay] == [
        (0, 32),
        (100, 64),
        (150, 64),
    ]
    assert job.batch.follows
    assert job.requested_batch_size == 32


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ({"mode": "schedule", "schedule": "0:64"}, "mode schedule needs initial"),
        ({"mode": "schedule", "initial": 32}, "mode schedule needs one of schedule"),
        ({**SCHEDULE, "rule": "gns"}, "mode schedule needs one of schedule"),
        ({**SCHEDULE, "mode": "adaptive"}, "schedule is for mode schedule; drop it"),
        ({"initial": 32, "eta": 0.5}, "eta is for mode schedule"),
        ({**SCHEDULE, "every_epochs": 3}, "every_epochs and eta are for a rule"),
        ({**SCHEDULE, "freeze_before": 3}, "freeze_before and freeze_after are for mode adaptive"),
        ({**RULE, "max": 32}, "rule accordion needs max, the largest batch size, above initial"),
        ({**RULE, "rule": "gns", "eta": 0.5}, "eta is for rule accordion"),
        ({**RULE, "rule": "warm"}, "Input should be 'accordion' or 'gns'"),
        ({**RULE, "tokens_per_sample": 9}, "tokens_per_sample is for a declared schedule"),
        ({**RULE, "max_lr_factor": 0.5}, "greater than or equal to 1"),
        ({**RULE, "freeze_before": 9, "freeze_after": 9}, "must be above freeze_before 9"),
        ({"initial": 32, "max": 64}, "mode fixed keeps the batch"),
    ],
)
def test_fields_that_do_not_go_together(tmp_path: Path, batch: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        admitted(tmp_path, batch)


@pytest.mark.parametrize(
    ("batch", "fields", "said"),
    [
        ({**SCHEDULE, "schedule": "9:64"}, {}, "batch.schedule: must begin at 0"),
        ({**SCHEDULE, "max": 128}, {}, "batch.schedule: 256 is above max 128"),
        (
            {**SCHEDULE, "max_per_gpu": 4, "max_accum_steps": 0},
            {},
            "batch.schedule: 256 examples do not fit gpus.max 4",
        ),
        ({**SCHEDULE, "schedule": "0:1"}, {"gpus": "2-4"}, "1 examples are too few for gpus.min 2"),
        (SCHEDULE, {"requested": {"batch": 64}}, "requested.batch: the batch follows its schedule"),
        ({"initial": 32, "replay": [{"samples": 3}]}, {}, "batch.replay: Object missing required"),
        (
            {"initial": 32, "replay": [{**msgspec.to_builtins(FIRST), "samples": 7}]},
            {},
            "batch.replay: begins at 7 samples; give the whole decisions.jsonl",
        ),
    ],
)
def test_what_cannot_be_run(
    tmp_path: Path, batch: dict[str, Any], fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        admitted(tmp_path, batch, **fields)
