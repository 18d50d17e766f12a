"""Declared batch schedules: which batch size at which sample, and what a policy sees of it."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from headway.core.errors import InvalidInputError
from headway.core.types import BatchContract, BatchMode, JobReport, ScheduledBatch

_MANY = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_ENTRY = re.compile(r"(\d+(?:\.\d+)?)([KMBT]?):(\d+)", re.IGNORECASE)


def parse_schedule(
    text: str, *, tokens_per_sample: int | None = None
) -> tuple[ScheduledBatch, ...]:
    """A schedule as people write it: ``0:64 2M:128``, batch sizes in samples.

    Thresholds are in samples, or in tokens where it is known how many a sample has; K, M, B and T
    are powers of a thousand.

    Raises:
        InvalidInputError: it is none; the message says which entry and the fix.
    """
    steps = [_entry(entry, tokens_per_sample or 1) for entry in text.replace(",", " ").split()]
    if not steps or steps[0].from_samples != 0:
        raise InvalidInputError("schedule: must begin at 0, as in 0:64 2M:128")
    for one, after in pairwise(steps):
        if after.from_samples <= one.from_samples:
            raise InvalidInputError(
                f"schedule: {after.from_samples} samples do not come after {one.from_samples}; "
                "write thresholds in ascending order"
            )
    return tuple(steps)


def _entry(text: str, tokens_per_sample: int) -> ScheduledBatch:
    found = _ENTRY.fullmatch(text)
    if found is None or int(found[3]) == 0:
        raise InvalidInputError(
            f"schedule: {text!r} is no threshold and batch size; write them as in 2M:128"
        )
    units = round(float(found[1]) * _MANY[found[2].upper()])
    return ScheduledBatch(-(-units // tokens_per_sample), int(found[3]))


def batch_size_at(schedule: Sequence[ScheduledBatch], samples: float) -> int:
    """The batch size of the step that begins when so many samples are read."""
    index = bisect_right([step.from_samples for step in schedule], samples)
    return schedule[max(index - 1, 0)].batch_size


def next_change(schedule: Sequence[ScheduledBatch], samples: float) -> int | None:
    """The samples at which the schedule next asks for something; None after its last entry."""
    return next((s.from_samples for s in schedule if s.from_samples > samples), None)


def declared(contract: BatchContract) -> tuple[ScheduledBatch, ...]:
    """What is known beforehand of the batch sizes of a job; nothing where a rule decides."""
    if contract.replay:
        steps = {one.samples: one.new_batch_size for one in contract.replay}
        return tuple(ScheduledBatch(at, size) for at, size in sorted(steps.items()))
    return contract.schedule


def first_batch_size(contract: BatchContract) -> int:
    """The batch size of the first step, where no policy has a say in it."""
    known = declared(contract)
    return known[0].batch_size if known else contract.initial_batch_size


def known_sizes(contract: BatchContract) -> tuple[int, int]:
    """The smallest and the largest batch size that must find room at some time."""
    known = [step.batch_size for step in declared(contract)] or [contract.initial_batch_size]
    return min(known), max(known)


def most_for_fewest(contract: BatchContract) -> int:
    """The batch size that the fewest GPUs of a job must be able to share; on more it never runs.

    It is the smallest that comes, or the largest that a policy may choose from the first step on.
    """
    free = contract.adapts and not contract.freeze_before_samples
    return contract.max_batch_size if free else known_sizes(contract)[0]


def present_batch_size(contract: BatchContract, report: JobReport | None) -> int:
    """The batch size that a job has now, or will begin with."""
    if report is not None and report.batch_size > 0:
        return report.batch_size
    return first_batch_size(contract)


def at_present(contract: BatchContract, report: JobReport | None) -> BatchContract:
    """The contract as far as the near future goes: where neither policy nor agent may choose the
    batch now (a schedule, a freeze), it is a fixed one of the present size."""
    samples = 0 if report is None else report.samples
    if not (contract.follows or (contract.adapts and contract.frozen(samples))):
        return contract
    return fixed_at(contract, present_batch_size(contract, report))


def thawed(contract: BatchContract) -> BatchContract:
    """The contract for one who knows that the batch may change now."""
    return replace(contract, freeze_before_samples=0, freeze_after_samples=None)


def fixed_at(contract: BatchContract, size: int) -> BatchContract:
    """A fixed batch of this size inside the same bounds of a GPU."""
    return replace(
        contract,
        initial_batch_size=size,
        max_batch_size=size,
        mode=BatchMode.FIXED,
        schedule=(),
        rule=None,
        replay=(),
    )
