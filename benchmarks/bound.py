"""What no policy can do better: lower bounds on JCT, makespan and rho.

``python -m benchmarks.bound WORKLOAD [--cluster 16x4] [--profiles FOLDER] [--json]``

Every job begins at a round, starts once, and then runs at some speed of its profile: at most the
best on any number of GPUs, at least so many GPU-seconds as at its most efficient. Three bounds
follow, and the largest counts:

- alone: each job on an empty cluster at its best in every epoch.
- queue: GPU-seconds are all that counts, so the cluster is one machine, and there the shortest
  remaining one first is optimal (Schrage 1968).
- priced: each job pays for the GPU-seconds that it takes, at whatever is most telling, and is left
  to choose its own sizes (``benchmarks/priced.py``).

The first also bounds each job's JCT and rho (JCT over that in the egalitarian cluster) by itself,
so their percentiles; the first two bound the makespan.

A speed is looked up on the densest placement of so many GPUs and on every one that was measured.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import click
import numpy as np

from benchmarks.priced import Ask, least_sum_s
from headway.cli.scenario import Scenario, scenario_options
from headway.core.errors import InvalidInputError
from headway.core.metrics.summary import UNFAIR
from headway.core.types import Float64, FloatArray, JobSpec
from headway.sim.driver import Setup
from headway.sim.egalitarian import references
from headway.sim.hardware import Site
from headway.sim.rates import best_rates_per_s
from headway.traces.base import JobProfile, Shape
from headway.traces.measured import MeasuredProfile

HOUR_S = 3600.0


class Need(NamedTuple):
    """What a job takes: its start and then its epochs, each on 0, 1, ... GPUs."""

    submitted_s: float
    begins_s: float  # the first round that can start it
    work: Float64[FloatArray, " parts"]
    per_s: Float64[FloatArray, "parts gpus"]

    @property
    def least_s(self) -> Float64[FloatArray, " parts"]:
        """Of each part at its fastest."""
        return np.asarray(self.work / self.per_s.max(axis=1))

    @property
    def gpu_s(self) -> Float64[FloatArray, " parts"]:
        """Of each part at its most efficient."""
        can = self.per_s.max(axis=0) > 0
        with np.errstate(divide="ignore"):
            each = np.flatnonzero(can) / self.per_s[:, can]
        return np.asarray(self.work * each.min(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Average JCT by each argument, and what else follows from them."""

    alone_s: float
    queue_s: float
    priced_s: float
    makespan_s: float
    least_gpu_hours: float
    jct_s: FloatArray  # of each job, alone
    rho: FloatArray  # the same

    @property
    def avg_jct_s(self) -> float:
        return max(self.alone_s, self.queue_s, self.priced_s)


def bound(setup: Setup) -> Bound:
    """Of a workload on a cluster of one GPU type."""
    needs = needs_of(setup)
    gpus = setup.cluster.gpus
    submitted_s = np.array([need.submitted_s for need in needs])
    begins_s = np.array([need.begins_s for need in needs])
    work_s = np.array([need.gpu_s.sum() / gpus for need in needs])
    ends_s = one_machine(begins_s, work_s)
    alone_s = begins_s + np.array([need.least_s.sum() for need in needs])
    fair = {each.job_id: each.egalitarian_s for each in references(setup.workload, setup.cluster)}
    fair_s = np.array([fair[job.job_id] for job in setup.workload.jobs])
    makespan_s = float(max(alone_s.max(), ends_s.max()))
    asks = [Ask(need.begins_s, need.work, need.per_s) for need in needs]
    priced_s = least_sum_s(asks, gpus, makespan_s) / len(needs)
    return Bound(
        alone_s=float((alone_s - submitted_s).mean()),
        queue_s=float((ends_s - submitted_s).mean()),
        priced_s=priced_s - float(submitted_s.mean()),
        makespan_s=makespan_s,
        least_gpu_hours=float(work_s.sum() * gpus / HOUR_S),
        jct_s=alone_s - submitted_s,
        rho=(alone_s - submitted_s) / fair_s,
    )


def one_machine(
    begins_s: Float64[FloatArray, " jobs"], work_s: Float64[FloatArray, " jobs"]
) -> Float64[FloatArray, " jobs"]:
    """Ends where the job with the least left goes first."""
    ends_s, left_s = np.zeros(len(work_s)), work_s.copy()
    order = sorted(range(len(work_s)), key=lambda job: begins_s[job], reverse=True)
    ready: list[tuple[float, int]] = []
    now_s = 0.0
    while order or ready:
        if not ready:
            now_s = max(now_s, float(begins_s[order[-1]]))
        while order and begins_s[order[-1]] <= now_s:
            job = order.pop()
            heappush(ready, (float(work_s[job]), job))
        until_s = float(begins_s[order[-1]]) if order else math.inf
        _, job = heappop(ready)
        step_s = min(float(left_s[job]), until_s - now_s)
        now_s += step_s
        left_s[job] -= step_s
        if left_s[job] <= 0:
            ends_s[job] = now_s
        else:
            heappush(ready, (float(left_s[job]), job))
    return ends_s


def needs_of(setup: Setup) -> list[Need]:
    """Of every job."""
    if len({node.gpu_type for node in setup.cluster.nodes}) > 1:
        raise InvalidInputError("the bound is for one GPU type; give a --cluster of one")
    known: dict[object, FloatArray] = {}
    found = []
    for job in setup.workload.jobs:
        profile = setup.workload.profile_of(job.job_id)
        if job.batch.follows:
            raise InvalidInputError(f"job {job.name}: the bound knows no batch schedules")
        fixed = None if job.batch.adapts else job.requested_batch_size
        key = (profile.name, job.batch, job.gpus, fixed)
        if key not in known:
            known[key] = _rates_per_s(job, profile, setup)
        found.append(_need(job, profile, known[key], setup))
    return found


def _need(job: JobSpec, profile: JobProfile, rates_per_s: FloatArray, setup: Setup) -> Need:
    total = job.work_examples or profile.work_examples
    work = np.diff(np.array(profile.epoch_ends) * total, prepend=0.0)
    start = np.arange(rates_per_s.shape[1]) >= job.gpus.smallest
    return Need(
        submitted_s=job.submitted_s,
        begins_s=math.ceil(job.submitted_s / setup.round_s) * setup.round_s,
        work=np.concatenate([[setup.restart_s], work]),
        per_s=np.vstack([np.where(start, 1.0, 0.0), rates_per_s]),
    )


def _rates_per_s(
    job: JobSpec, profile: JobProfile, setup: Setup
) -> Float64[FloatArray, "epochs gpus"]:
    """The best in each epoch on 0, 1, ... GPUs; 0 where the job may not hold so many."""
    most = min(job.gpus.max_gpus, setup.cluster.gpus)
    rates = np.zeros((len(profile.epoch_ends), most + 1))
    nodes = sorted((node.gpus for node in setup.cluster.nodes), reverse=True)
    for shape in _shapes(profile, nodes, job.gpus.allowed(most)):
        try:
            here = best_rates_per_s(job, profile, None, Site(shape), setup.cluster.hardware)
        except InvalidInputError:  # a fixed batch that does not fit so few
            continue
        rates[:, sum(shape)] = np.maximum(rates[:, sum(shape)], here)
    return rates


def _shapes(profile: JobProfile, nodes: Sequence[int], counts: Sequence[int]) -> set[Shape]:
    """The densest placement for each count, and those that were measured and fit the cluster."""
    found = {_densest(nodes, gpus) for gpus in counts}
    if isinstance(profile, MeasuredProfile):
        found |= {
            shape
            for shape in profile.shapes
            if sum(shape) in counts
            and len(shape) <= len(nodes)
            and all(a <= b for a, b in zip(sorted(shape, reverse=True), nodes, strict=False))
        }
    return found


def _densest(nodes: Sequence[int], gpus: int) -> Shape:
    shape: list[int] = []
    for there in nodes:
        if gpus > 0:
            shape.append(min(there, gpus))
            gpus -= there
    return tuple(shape)


@click.command()
@scenario_options
@click.option("--seed", default=0, show_default=True, help="Of jobs that are drawn by chance.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(scenario: Scenario, seed: int, as_json: bool) -> None:
    """Bound the average JCT of WORKLOAD from below."""
    found = bound(scenario.setup(seed))
    answer = {
        "avg_jct_s": found.avg_jct_s,
        "alone_s": found.alone_s,
        "queue_s": found.queue_s,
        "priced_s": found.priced_s,
        "p99_jct_s": float(np.percentile(found.jct_s, 99)),
        "makespan_s": found.makespan_s,
        "least_gpu_hours": found.least_gpu_hours,
        "worst_rho": float(found.rho.max()),
        "p95_rho": float(np.percentile(found.rho, 95)),
        "unfair_fraction": float(np.mean(found.rho > UNFAIR)),
    }
    if as_json:
        click.echo(json.dumps(answer))
    else:
        click.echo("  ".join(f"{name} {value:.4g}" for name, value in answer.items()))


if __name__ == "__main__":
    main()
