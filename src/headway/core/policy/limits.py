"""What a job may hold next: allowed sizes, the scale-out cap, and what a move costs (Pollux)."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from headway.core.errors import InvalidInputError
from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray, JobView

ASSUMED_RESTART_S = 30.0  # until a job's restart was measured
MOST_S = 1e12  # of a setting in seconds or GPU-seconds
LEAST_QUANTUM = 1e-3  # GPU-seconds; a sum over a smaller one would be infinite
_MOST_STEPS = 32  # of urgency; with a first turn of minutes the last is beyond any training


def check_range(setting: str, value: float, low: float, high: float, *, off: bool = False) -> None:
    """That a setting has sense; with ``off`` 0 is allowed too.

    Raises:
        InvalidInputError: it has none.
    """
    if not (low <= value <= high or (off and value == 0)):
        zero = "0, or " if off else ""
        raise InvalidInputError(f"{setting} must be {zero}{low:g} to {high:g}, not {value:g}")


def check_ranges(policy: object, name: str, ranges: Mapping[str, tuple[float, float]]) -> None:
    """That the settings of a policy of this name have sense, each in its range.

    Raises:
        InvalidInputError: one has none.
    """
    for setting, (low, high) in ranges.items():
        check_range(f"{name}.{setting}", getattr(policy, setting), low, high)


def scale_out_cap(job: JobView) -> int:
    """The most GPUs a job may hold next: twice the most it ever held (Pollux, section 4.1).

    Beyond what it has held its throughput is an optimistic guess. A new elastic job starts at its
    smallest allowed size; a rigid job is exempt.
    """
    bounds = job.spec.gpus
    if not bounds.elastic:
        return bounds.max_gpus
    return min(bounds.max_gpus, max(bounds.smallest, 2 * job.max_gpus_held))


def allowed_sizes(jobs: Sequence[JobView], largest: int) -> BoolArray:
    """Which of the sizes 0..largest each job's owner allows, without the cap; 0 never counts."""
    allowed = np.zeros((len(jobs), largest + 1), dtype=np.bool_)
    for row, job in enumerate(jobs):
        bounds = job.spec.gpus
        if bounds.sizes is None:
            allowed[row, max(bounds.min_gpus, 1) : bounds.max_gpus + 1] = True
        else:
            allowed[row, list(bounds.allowed(largest))] = True
    return allowed


def realloc_factor(
    age_s: ArrayLike, restarts: ArrayLike, restart_s: ArrayLike
) -> Float64[FloatArray, " jobs"]:
    """REALLOC_FACTOR = (T - R delta) / (T + delta), in [0, 1] (Pollux, section 4.2.1).

    The share of its time that a job would have trained had it been moved at its present rate, one
    move more included. T is its age, R its restarts so far, delta the seconds that one takes.
    """
    age, number, delta = (np.asarray(value, np.float64) for value in (age_s, restarts, restart_s))
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = np.where(age + delta > 0, (age - number * delta) / (age + delta), 1.0)
    return np.asarray(np.clip(factor, 0.0, 1.0))


def urgency(attained_gpu_s: ArrayLike, turn_gpu_s: float) -> Float64[FloatArray, " jobs"]:
    """What each job's waiting counts for where somebody must: 1.5 for a new one, 1 at the least.

    Least attained service in steps, as Tiresias (section 3.2) has it in two: a step down once a job
    has had its first turn, and from then on about each time that it has doubled its GPU time. So a
    job yields a few times in its life only, and who waits gets a turn as soon as others have had
    twice as much. ``turn_gpu_s``: GPU time of the first turn; 0: there are no turns.
    """
    attained = np.asarray(attained_gpu_s, np.float64)
    if turn_gpu_s == 0:
        return np.ones(attained.shape)
    steps = np.minimum(np.floor(np.log2(1.0 + attained / turn_gpu_s)), _MOST_STEPS)
    return np.asarray(1.0 + (_MOST_STEPS - steps) / (2 * _MOST_STEPS))


def restart_delays_s(
    jobs: Sequence[JobView], *, assumed_s: float = ASSUMED_RESTART_S
) -> Float64[FloatArray, " jobs"]:
    """Each job's measured restart delay, else the usual one."""
    measured = [job.report.restart_s if job.report is not None else None for job in jobs]
    return np.array([assumed_s if one is None else one for one in measured])


def caps(jobs: Sequence[JobView]) -> Int64[IntArray, " jobs"]:
    """The scale-out cap of each job."""
    return np.array([scale_out_cap(job) for job in jobs], dtype=np.int64)
