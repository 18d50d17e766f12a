"""How long jobs still run alone at their requested size, as far as they declare and report it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.core.adaptation import Adaptation
from headway.core.model.efficiency import assumed_noise_scale, gain
from headway.core.model.schedule import present_batch_size
from headway.core.model.split import fewest_passes
from headway.core.model.sync import Theta
from headway.core.model.throughput import stack, step_time_s
from headway.core.policy.grid import Grid
from headway.core.predict.alike import StepTimes
from headway.core.predict.foresight import Foresight
from headway.core.predict.speed import steps_per_epoch
from headway.core.types import Float64, FloatArray, Int64, IntArray, JobReport, JobView

ASSUMED_S = 3_600.0  # a whole job, until any job has shown how long it takes
LEAST_LEFT_S = 1.0  # an active job is not done, whatever it declared


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


Lengths = tuple[float, Sequence[float], Sequence[float]]  # done_s, regime_s, share


def ahead(jobs: Sequence[JobView], foresight: Foresight, per_node: int) -> Ahead:
    """Of each job. One of which nothing is known counts as short as the shortest, so it runs.

    With the mean of the others instead, short jobs that had never run waited for ever: on Pollux's
    workload-6 the worst rho of ``srtf`` was 32, now it is 3.7.
    """
    planned = iter(_planned([job for job in jobs if job.spec.adaptation is not None], foresight))
    lengths = [
        _plain(job, per_node) if job.spec.adaptation is None else next(planned) for job in jobs
    ]
    totals = [one[0] + sum(one[1]) for one in lengths if one is not None]
    shortest_s = float(min(totals)) if totals else ASSUMED_S
    each = [one or (0.0, [shortest_s], [1.0]) for one in lengths]
    done_s = np.array([one[0] for one in each])
    regime_s, share = _table([one[1] for one in each]), _table([one[2] for one in each])
    short = regime_s.sum(axis=1) < LEAST_LEFT_S
    regime_s[short], share[short] = 0.0, 0.0
    regime_s[short, 0] = LEAST_LEFT_S
    share[short, 0] = LEAST_LEFT_S / (LEAST_LEFT_S + done_s[short])
    return Ahead(done_s=done_s, regime_s=regime_s, share=share)


def foreseen(grid: Grid, foresight: Foresight) -> tuple[Foresight, Ahead]:
    """What is known of jobs with what they report now, and what lies ahead of them."""
    foresight = foresight.updated(grid.jobs)
    return foresight, ahead(grid.jobs, foresight, grid.largest)


def _table(rows: Sequence[Sequence[float]]) -> FloatArray:
    """Rows of different lengths, zeros behind the shorter ones; at least one column."""
    table = np.zeros((len(rows), max([1, *map(len, rows)])))
    for index, row in enumerate(rows):
        table[index, : len(row)] = row
    return table


def _planned(jobs: Sequence[JobView], foresight: Foresight) -> list[Lengths | None]:
    """Jobs that say how many epochs they train, by the forecast of their regimes."""
    if not jobs:
        return []
    made = foresight.forecast(jobs, [job.spec.requested_gpus for job in jobs])
    epochs_done = foresight.epochs_done(jobs)
    measured = {model for model, _, _ in foresight.step_s}
    found: list[Lengths | None] = []
    for row, job in enumerate(jobs):
        adaptation = foresight.known[job.spec.job_id].adaptation
        if job.report is None and adaptation.model not in measured:
            found.append(None)  # nobody knows how fast it is
            continue
        epoch_s = made.epoch_s[row]
        done_s = _done_s(
            job, adaptation, foresight.step_s, float(epochs_done[row]), float(epoch_s[0])
        )
        left = made.epochs[row]
        found.append((done_s, left * epoch_s, left / adaptation.epochs))
    return found


def _done_s(
    job: JobView, adaptation: Adaptation, step_s: StepTimes, epochs_done: float, epoch_s: float
) -> float:
    """Run time of the epochs that are done, each at the speed of its regime."""
    regimes = () if job.report is None else job.report.regimes
    if not regimes:
        return epochs_done * epoch_s
    ends = [*(regime.began_epoch for regime in regimes[1:]), epochs_done]
    done_s = 0.0
    for regime, end in zip(regimes, ends, strict=True):
        key = (adaptation.model, regime.batch_size, job.spec.requested_gpus)
        took_s = (
            steps_per_epoch(adaptation, regime.batch_size) * step_s[key]
            if key in step_s
            else epoch_s
        )
        done_s += max(end - regime.began_epoch, 0.0) * took_s
    return done_s


def _plain(job: JobView, per_node: int) -> Lengths | None:
    """A job without regimes, by its declared samples or work."""
    left, report = steps_left(job), job.report
    if report is None or left is None:
        return None
    gpus = np.array([job.spec.requested_gpus], dtype=np.int64)
    theta = stack([report.throughput])
    step_s = float(step_times_s(job, theta, gpus, per_node, batch_size_of(job))[0])
    done = _steps_done(job, report)
    return done * step_s, [left * step_s], [left / max(done + left, 1e-12)]


def step_times_s(
    job: JobView, theta: Theta, gpus: Int64[IntArray, " sizes"], per_node: int, batch_size: int
) -> Float64[FloatArray, " sizes"]:
    """T_iter of a batch of this size on as few nodes as possible, in as few passes as fit."""
    size = np.full(len(gpus), float(batch_size))
    limit = np.full(len(gpus), float(job.spec.batch.max_batch_per_gpu))
    batch_per_gpu, passes = fewest_passes(size, gpus.astype(np.float64), limit)
    nodes = -(-gpus // max(per_node, 1))
    return step_time_s(theta, gpus, nodes > 1, batch_per_gpu, passes - 1, nodes=nodes)


def batch_size_of(job: JobView) -> int:
    """What was requested, or what the job has by itself now."""
    batch = job.spec.batch
    return present_batch_size(batch, job.report) if batch.follows else job.spec.requested_batch_size


def steps_left(job: JobView) -> float | None:
    """From the declared samples; else from the declared work, at the present noise scale."""
    spec, report = job.spec, job.report
    if report is None:
        return None
    if spec.work_samples is not None:
        return max(spec.work_samples - report.samples, 0.0) / batch_size_of(job)
    if job.work_examples is None:
        return None
    return max(job.work_examples - report.progress_examples, 0.0) / _worth(job, report)


def _steps_done(job: JobView, report: JobReport) -> float:
    if job.spec.work_samples is not None:
        return report.samples / batch_size_of(job)
    return report.progress_examples / _worth(job, report)


def _worth(job: JobView, report: JobReport) -> float:
    """Scale-invariant examples of a step; of its own where a job sets its batch by itself."""
    batch, size = job.spec.batch, batch_size_of(job)
    if batch.follows:
        return float(size)
    noise_scale = assumed_noise_scale(report.noise_scale)
    return float(batch.initial_batch_size * gain(noise_scale, batch.initial_batch_size, size))
