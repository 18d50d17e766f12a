"""The contract's own questions: who chooses the batch, and when it is frozen."""

from dataclasses import replace

import pytest

from headway.core.batch import (
    BatchChange,
    BatchContract,
    BatchMode,
    ChangeCode,
    ScheduledBatch,
)

CONTRACT = BatchContract(initial_batch_size=32, max_batch_size=512, max_batch_per_gpu=64)
CHANGE = BatchChange(
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
    why="the start",
)


@pytest.mark.parametrize("mode", BatchMode)
def test_who_chooses_the_batch(mode: BatchMode) -> None:
    contract = replace(CONTRACT, mode=mode, schedule=(ScheduledBatch(0, 32),))
    assert contract.adapts == (mode is BatchMode.ADAPTIVE)
    assert contract.follows == (mode is BatchMode.SCHEDULE)
    replayed = replace(contract, replay=(CHANGE,))
    assert (replayed.adapts, replayed.follows) == (False, True)


def test_a_freeze_is_before_and_after() -> None:
    assert not any(CONTRACT.frozen(samples) for samples in (0, 10**12))
    bound = replace(CONTRACT, freeze_before_samples=100, freeze_after_samples=200)
    assert [bound.frozen(samples) for samples in (0, 99, 100, 199, 200)] == [
        True,
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("code", "new", "gpus", "passes", "resizes"),
    [
        (ChangeCode.NOISE_MOVED, 256, 1, 1, False),
        (ChangeCode.ALLOCATION, 256, 2, 1, False),
        (ChangeCode.ALLOCATION, 255, 3, 1, False),
        (ChangeCode.ALLOCATION, 252, 3, 2, False),
        (ChangeCode.ALLOCATION, 252, 3, 1, True),
        (ChangeCode.BETTER_GOODPUT, 255, 3, 1, True),
        (ChangeCode.SCHEDULED, 512, 1, 1, True),
    ],
)
def test_a_batch_that_is_only_split_otherwise_is_the_same_to_people(
    code: ChangeCode, new: int, gpus: int, passes: int, resizes: bool
) -> None:
    change = replace(CHANGE, code=code, old_batch_size=256, new_batch_size=new, gpus=gpus)
    assert replace(change, accum_steps=passes - 1).resizes is resizes
