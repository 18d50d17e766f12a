"""A batch is shared out the same way by the model, by agents and by the simulator."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.core.errors import InvalidInputError
from headway.core.model.split import fewest_passes, split_batch
from headway.core.types import BatchContract, BatchMode, ScheduledBatch

BATCH = BatchContract(
    initial_batch_size=32,
    max_batch_size=4096,
    min_batch_per_gpu=4,
    max_batch_per_gpu=64,
    mode=BatchMode.ADAPTIVE,
)


@given(size=st.integers(1, 8192), gpus=st.integers(1, 64))
def test_a_split_fits_in_memory_in_as_few_passes_as_can_be(size: int, gpus: int) -> None:
    m, s, whole = split_batch(BATCH, size, gpus)
    room = gpus * 64 * 16
    assert whole == min(max(size, 32, 4 * gpus), 4096, room)
    assert m <= 64
    assert gpus * m * (s + 1) >= whole > gpus * (m - 1) * (s + 1)
    assert s == 0 or gpus * 64 * s < whole


@given(size=st.integers(1, 10_000), gpus=st.integers(1, 64))
@pytest.mark.parametrize("mode", [BatchMode.FIXED, BatchMode.OBSERVE, BatchMode.SCHEDULE])
def test_a_batch_that_may_not_change_stays_or_is_refused(
    mode: BatchMode, size: int, gpus: int
) -> None:
    """The simulator once let a fixed batch grow to the least per-GPU batch times the GPUs."""
    contract = replace(BATCH, mode=mode, schedule=(ScheduledBatch(0, size),))
    if size > gpus * 64 * 16:
        with pytest.raises(InvalidInputError, match="ask for more GPUs"):
            split_batch(contract, size, gpus)
    else:
        assert split_batch(contract, size, gpus).batch_size == size


def test_a_frozen_batch_stays() -> None:
    assert split_batch(BATCH, 8, 4, frozen=True).batch_size == 8
    with pytest.raises(InvalidInputError, match="more than 15 accumulation steps of 64 on 1 GPU:"):
        split_batch(BATCH, 2048, 1, frozen=True)


@given(size=st.integers(1, 10**6), gpus=st.integers(1, 512), limit=st.integers(1, 4096))
def test_arrays_and_numbers_are_split_alike(size: int, gpus: int, limit: int) -> None:
    arrays = fewest_passes(*(np.array([float(value)]) for value in (size, gpus, limit)))
    assert tuple(int(value[0]) for value in arrays) == fewest_passes(size, gpus, limit)
