"""A decision log read again: what was taken back does not count."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from headway.core.model.replay import effective, record_at
from headway.core.types import BatchChange

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


def log(*at: tuple[int, int]) -> tuple[BatchChange, ...]:
    return tuple(replace(FIRST, samples=samples, new_batch_size=size) for samples, size in at)


def test_training_that_went_on_from_a_checkpoint_takes_back_what_came_after_it() -> None:
    records = log((0, 32), (100, 64), (200, 128), (300, 256), (150, 64), (400, 96))
    assert effective(records) == log((0, 32), (100, 64), (150, 64), (400, 96))


def test_of_several_at_one_moment_the_last_counts() -> None:
    assert effective(log((0, 32), (0, 48), (10, 64))) == log((0, 48), (10, 64))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(0, 60))
def test_what_holds_is_the_last_record_that_was_not_taken_back(
    ats: list[int], samples: int
) -> None:
    records = log(*((at, index + 1) for index, at in enumerate([0, *ats])))
    kept = effective(records)
    assert [one.samples for one in kept] == sorted({one.samples for one in kept})
    found = record_at(kept, samples)
    # read in order, as a training would have gone through them
    after = [one for one in records if one.samples <= samples]
    last_back = max(
        (index for index, one in enumerate(records) if one.samples <= samples), default=0
    )
    assert found == records[last_back] == after[-1]
