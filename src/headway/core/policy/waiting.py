"""What a job without GPUs waits for where free GPUs have too few CPUs or too little memory."""

from collections.abc import Sequence

import numpy as np

from headway.core.policy.needs import PARTS, Resource, asked
from headway.core.solve.beside import Beside
from headway.core.types import BoolArray, Int64, IntArray, JobSpec, Reason, ReasonCode

Waits = tuple[ReasonCode, dict[str, float]]


def waiting(
    alloc: Int64[IntArray, "jobs nodes"],
    need: Int64[IntArray, " jobs"],
    capacity: Int64[IntArray, " nodes"],
    of_kind: BoolArray,
    resources: Sequence[Resource],
    beside: Beside,
) -> dict[int, Waits]:
    """Rows for which one GPU type has enough free GPUs, but not with what goes with them.

    Each with the resource that leaves it fewest GPUs, and how much of it is free beside GPUs.
    ``of_kind`` is (kinds, nodes).
    """
    found: dict[int, Waits] = {}
    if not beside:
        return found
    free, left = capacity - alloc.sum(axis=0), np.maximum(beside.left(alloc), 0)
    most = int((of_kind @ free).max(initial=0))
    for row in np.flatnonzero(~alloc.any(axis=1) & (need <= most)).tolist():
        each = beside.each[row]
        able = np.minimum(free[:, None], left // np.maximum(each, 1))
        able = np.where(each > 0, able, free[:, None])
        gpus = (of_kind @ able).max(axis=0)
        scarce = int(np.argmin(np.where(each > 0, gpus, most + 1)))
        if each[scarce] and int((of_kind @ able.min(axis=1)).max()) < need[row]:
            one, at = resources[scarce], free > 0
            amounts = {
                f"{one.of_node}_needed": float(need[row] * each[scarce]) / PARTS,
                f"{one.of_node}_free": _free(left[at, scarce], of_kind[:, at]),
            }
            found[row] = one.waits, amounts
    return found


def _free(left: Int64[IntArray, " nodes"], of_kind: BoolArray) -> float:
    """On nodes of the type that has most."""
    return float((of_kind @ left).max(initial=0)) / PARTS


def exceeds(spec: JobSpec, needed: int, fit: int, gpus: tuple[str, float]) -> Reason:
    """The reason of a job that needs more GPUs than can ever be had, ``fit`` with all it asks for.

    ``gpus`` names how many there are.
    """
    numbers = [("gpus_needed", float(needed)), gpus]
    if needed <= gpus[1]:
        numbers += [("gpus_with_these", float(fit)), *asked(spec)]
    return Reason(job_id=spec.job_id, code=ReasonCode.TOO_LARGE, numbers=tuple(numbers))
