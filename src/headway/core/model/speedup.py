"""Speedup: goodput over the goodput of a fair share of the cluster, tabulated (Pollux, Eqn. 15)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.core.model.goodput import Best, JobModels, best
from headway.core.types import BoolArray, Float64, FloatArray, GpuBounds, Int64, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class FairShare:
    """What each job would hold if the GPUs were dealt out evenly."""

    gpus: Int64[IntArray, " jobs"]
    several_nodes: BoolArray  # it does not fit on one node


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedupTable:
    """Speedup of every job for every (GPU count, one node or several): all that it depends on."""

    one_node_gpus: Int64[IntArray, " local"]
    several_gpus: Int64[IntArray, " multi"]
    one_node: Float64[FloatArray, "jobs local"]
    several: Float64[FloatArray, "jobs multi"]
    fair_goodput_per_s: Float64[FloatArray, " jobs"]
    one_node_best: Best  # the choices behind the figures
    several_best: Best


def fair_gpus(bounds: GpuBounds, cluster_gpus: int, jobs: int) -> int:
    """GPUs of a fair share: the cluster over its jobs, made a size that the job may hold.

    ``jobs`` counts running and waiting jobs. No scale-out cap applies.
    """
    share = min(bounds.max_gpus, max(bounds.min_gpus, cluster_gpus // max(jobs, 1)))
    if bounds.sizes is None:
        return share
    allowed = bounds.allowed(share)
    return allowed[-1] if allowed else bounds.smallest


def fair_share(bounds: Sequence[GpuBounds], node_gpus: Int64[IntArray, " nodes"]) -> FairShare:
    """The fair share of each of these jobs, all that there are, on as few nodes as it needs."""
    total, largest = int(node_gpus.sum()), int(node_gpus.max(initial=0))
    gpus = np.array([fair_gpus(one, total, len(bounds)) for one in bounds], dtype=np.int64)
    return FairShare(gpus=gpus, several_nodes=gpus > largest)


def speedup_table(
    models: JobModels,
    fair: FairShare,
    one_node_gpus: Int64[IntArray, " local"],
    several_gpus: Int64[IntArray, " multi"],
    *,
    at_most: Int64[IntArray, " jobs"] | None = None,
    alone_accumulates: bool = False,
) -> SpeedupTable:
    """Tabulate the speedups at these GPU counts; those above a job's ``at_most`` stay zero.

    A job that cannot run on its fair share (its batch cannot be split so) is measured against
    the best that it can do on no more GPUs; if there is nothing, on any.
    """
    local = one_node_gpus.size
    jobs = fair.gpus.size
    shared = np.concatenate([one_node_gpus, several_gpus])
    gpus = np.hstack([np.broadcast_to(shared, (jobs, shared.size)), fair.gpus[:, None]])
    several = np.hstack(
        [np.broadcast_to(np.arange(shared.size) >= local, (jobs, shared.size)),
         fair.several_nodes[:, None]]
    )  # fmt: skip
    wanted = None
    if at_most is not None:
        wanted = gpus <= at_most[:, None]
        wanted[:, -1] = True
    found = best(models, gpus, several, wanted=wanted, alone_accumulates=alone_accumulates)
    goodput_per_s = found.goodput_per_s
    fair_per_s = _reference(goodput_per_s, gpus, fair)
    with np.errstate(divide="ignore", invalid="ignore"):
        speedup = np.where(fair_per_s[:, None] > 0, goodput_per_s / fair_per_s[:, None], 0.0)
    return SpeedupTable(
        one_node_gpus=one_node_gpus,
        several_gpus=several_gpus,
        one_node=speedup[:, :local],
        several=speedup[:, local:-1],
        fair_goodput_per_s=fair_per_s,
        one_node_best=_columns(found, 0, local),
        several_best=_columns(found, local, shared.size),
    )


def _reference(
    goodput_per_s: Float64[FloatArray, "jobs placements"],
    gpus: Int64[IntArray, "jobs placements"],
    fair: FairShare,
) -> Float64[FloatArray, " jobs"]:
    at_fair = goodput_per_s[:, -1]
    no_more = np.where(gpus <= fair.gpus[:, None], goodput_per_s, 0.0).max(axis=1, initial=0.0)
    anywhere = goodput_per_s.max(axis=1, initial=0.0)
    return np.where(at_fair > 0, at_fair, np.where(no_more > 0, no_more, anywhere))


def _columns(found: Best, first: int, end: int) -> Best:
    return Best(
        goodput_per_s=found.goodput_per_s[:, first:end],
        batch_per_gpu=found.batch_per_gpu[:, first:end],
        accum_steps=found.accum_steps[:, first:end],
        batch_size=found.batch_size[:, first:end],
    )
