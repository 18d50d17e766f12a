"""A decision log read again: which records count, and what held after so many samples."""

from bisect import bisect_right
from collections.abc import Sequence

from headway.core.types import BatchChange


def effective(records: Sequence[BatchChange]) -> tuple[BatchChange, ...]:
    """The records that made the training what it became, ascending in samples.

    A record takes back all that claim to have happened later: training went on from a checkpoint.
    Of several at one moment the last one counts.
    """
    kept: list[BatchChange] = []
    for record in records:
        while kept and kept[-1].samples >= record.samples:
            kept.pop()
        kept.append(record)
    return tuple(kept)


def record_at(records: Sequence[BatchChange], samples: int) -> BatchChange:
    """The record that holds for the step that begins when so many samples are read."""
    return records[max(bisect_right([one.samples for one in records], samples) - 1, 0)]
