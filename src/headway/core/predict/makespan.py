"""How soon all jobs can be done at best: the bound of Shockwave's makespan term (Eqn. 10)."""

from headway.core.types import Float64, FloatArray, Int64, IntArray


def makespan_bound_s(
    remaining_s: Float64[FloatArray, " jobs"], wanted_gpus: Int64[IntArray, " jobs"], gpus: int
) -> float:
    """Seconds below which no schedule can end: the longest job, or all work over all GPUs.

    The published bound lacks the area and is far too low on a busy cluster.
    """
    if remaining_s.size == 0:
        return 0.0
    area_s = float(remaining_s @ wanted_gpus) / gpus
    return max(float(remaining_s.max()), area_s)
