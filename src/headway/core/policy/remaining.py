"""How long jobs still run alone at their requested size, as far as they declare and report it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headway.core.model.efficiency import assumed_noise_scale, gain
from headway.core.model.throughput import stack, step_time_s
from headway.core.plans import BatchPlan, Regime
from headway.core.types import Float64, FloatArray, Int64, IntArray, JobReport, JobView

ASSUMED_S = 3_600.0  # a whole job, until any job has shown how long it takes
LEAST_LEFT_S = 1.0  # an active job is not done, whatever it declared

Key = tuple[str, int, int]  # model, batch size, GPUs
Speeds = Mapping[Key, float]  # seconds for each sample, as measured by any job so far


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What lies behind and ahead of each job, in regimes of one batch size each."""

    done_s: Float64[FloatArray, " jobs"]  # run time alone of the work that is done
    regime_s: Float64[FloatArray, "jobs regimes"]  # of the work that is left
    share: Float64[FloatArray, "jobs regimes"]  # of the whole work, that each of these is

    @property
    def left_s(self) -> Float64[FloatArray, " jobs"]:
        """Run time alone that is left."""
        return np.asarray(self.regime_s.sum(axis=1))

    @property
    def exclusive_s(self) -> Float64[FloatArray, " jobs"]:
        """Run time alone from start to end."""
        return self.done_s + self.left_s


def measured(speeds: Speeds, jobs: Sequence[JobView]) -> dict[Key, float]:
    """With what the jobs have measured since; the latest counts."""
    found = dict(speeds)
    for job in jobs:
        plan = job.spec.plan
        if plan is not None and job.report is not None:
            for regime in job.report.regimes:
                if regime.epoch_s is not None and regime.gpus:
                    key = (plan.model, regime.batch_size, regime.gpus)
                    found[key] = regime.epoch_s / plan.samples_per_epoch
    return found


def ahead(jobs: Sequence[JobView], speeds: Speeds, per_node: int) -> Ahead:
    """Of each job; one of which nothing is known takes as long as others do on average."""
    known = [_lengths(job, speeds, per_node) for job in jobs]
    totals = [done_s + sum(one[0] for one in left) for done_s, left in filter(None, known)]
    usual_s = float(np.mean(totals)) if totals else ASSUMED_S
    width = max([1, *(len(each[1]) for each in known if each is not None)])
    done_s, table = np.zeros(len(jobs)), np.zeros((2, len(jobs), width))
    for row, each in enumerate(known):
        before_s, left = each if each is not None else (0.0, [(usual_s, 1.0)])
        done_s[row] = before_s
        table[:, row, : len(left)] = np.array(left, dtype=np.float64).reshape(-1, 2).T
    short = table[0].sum(axis=1) < LEAST_LEFT_S
    table[0, short], table[1, short] = 0.0, 0.0
    table[0, short, 0] = LEAST_LEFT_S
    table[1, short, 0] = LEAST_LEFT_S / (LEAST_LEFT_S + done_s[short])
    return Ahead(done_s=done_s, regime_s=table[0], share=table[1])


Lengths = tuple[float, list[tuple[float, float]]]  # seconds done; (seconds, share of work) to come


def _lengths(job: JobView, speeds: Speeds, per_node: int) -> Lengths | None:
    plan, report = job.spec.plan, job.report
    if plan is not None:
        return _planned(job, plan, speeds, per_node)
    left = steps_left(job)
    if report is None or left is None:
        return None
    gpus = np.array([job.spec.requested_gpus], dtype=np.int64)
    step_s = float(step_times_s(job, report, gpus, per_node, job.spec.requested_batch_size)[0])
    done = _steps_done(job, report)
    return done * step_s, [(left * step_s, left / max(done + left, 1e-12))]


def _planned(job: JobView, plan: BatchPlan, speeds: Speeds, per_node: int) -> Lengths | None:
    """A job that changes its batch size by itself, epoch by epoch."""
    report = job.report
    begun = report.regimes if report is not None else ()
    begun = begun or (Regime(batch_size=plan.configurations[0], began_epoch=0.0),)
    epochs = 0.0 if report is None else report.progress_examples / plan.samples_per_epoch
    stages = stages_ahead(plan, begun, epochs)
    sizes = [regime.batch_size for regime in begun]
    times = {
        size: epoch_s(job, plan, size, speeds, per_node)
        for size in {*sizes, *(size for size, _ in stages)}
    }
    ends = [regime.began_epoch for regime in begun[1:]] + [epochs]
    if any(one is None for one in times.values()):
        return None
    known = {size: one for size, one in times.items() if one is not None}
    done_s = sum(
        max(end - regime.began_epoch, 0.0) * known[regime.batch_size]
        for regime, end in zip(begun, ends, strict=True)
    )
    return done_s, [(count * known[size], count / plan.epochs) for size, count in stages]


def stages_ahead(
    plan: BatchPlan, begun: Sequence[Regime], epochs: float
) -> list[tuple[int, float]]:
    """Batch sizes to come and the epochs at each: what is declared, else the present one."""
    left = max(plan.epochs - epochs, 0.0)
    if not plan.starts:
        return [(begun[-1].batch_size, left)]
    edges = pairwise([*plan.starts, plan.epochs])
    stages = [
        (size, max(end - max(start, epochs), 0.0))
        for size, (start, end) in zip(plan.configurations, edges, strict=True)
    ]
    return [stage for stage in stages if stage[1] > 0] or [(begun[-1].batch_size, left)]


def epoch_s(
    job: JobView, plan: BatchPlan, batch_size: int, speeds: Speeds, per_node: int
) -> float | None:
    """Seconds of an epoch at a batch size: measured, by it or another job; else by the model."""
    gpus, report = job.spec.requested_gpus, job.report
    sample_s = speeds.get((plan.model, batch_size, gpus))
    if sample_s is not None:
        return sample_s * plan.samples_per_epoch
    if report is not None and report.batch_size:
        steps = np.ceil(plan.samples_per_epoch / batch_size)
        counts = np.array([gpus], dtype=np.int64)
        return float(steps * step_times_s(job, report, counts, per_node, batch_size)[0])
    alike = [
        sample_s * other_gpus / gpus
        for (model, _, other_gpus), sample_s in sorted(speeds.items())
        if model == plan.model
    ]
    return float(np.mean(alike)) * plan.samples_per_epoch if alike else None


def step_times_s(
    job: JobView, report: JobReport, gpus: Int64[IntArray, " sizes"], per_node: int, batch_size: int
) -> Float64[FloatArray, " sizes"]:
    """T_iter of a batch of this size on as few nodes as possible, in as few passes as fit."""
    passes = np.ceil(batch_size / (gpus * job.spec.batch.max_batch_per_gpu))
    batch_per_gpu = np.ceil(batch_size / (gpus * passes))
    nodes = -(-gpus // max(per_node, 1))
    theta = stack([report.throughput])
    return step_time_s(theta, gpus, nodes > 1, batch_per_gpu, passes - 1, nodes=nodes)


def steps_left(job: JobView) -> float | None:
    """From the declared samples; else from the declared work, at the present noise scale."""
    spec, report = job.spec, job.report
    if report is None:
        return None
    if spec.work_samples is not None:
        return max(spec.work_samples - report.samples, 0.0) / spec.requested_batch_size
    if spec.work_examples is None:
        return None
    return max(spec.work_examples - report.progress_examples, 0.0) / _worth(job, report)


def _steps_done(job: JobView, report: JobReport) -> float:
    if job.spec.work_samples is not None:
        return report.samples / job.spec.requested_batch_size
    return report.progress_examples / _worth(job, report)


def _worth(job: JobView, report: JobReport) -> float:
    """Scale-invariant examples of a step at the requested batch size."""
    initial = job.spec.batch.initial_batch_size
    noise_scale = assumed_noise_scale(report.noise_scale)
    return float(initial * gain(noise_scale, initial, job.spec.requested_batch_size))
