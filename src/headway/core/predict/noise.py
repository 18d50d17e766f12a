"""How the noise scale of a job will go on: from what it and its like have reported so far.

The gradient noise scale phi grows along a training, often a hundredfold and most of it early, and
goodput with it; with the present phi for good a job would seem to take several times as long.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headway.core.ids import JobId
from headway.core.model.efficiency import assumed_noise_scale, efficiency
from headway.core.model.split import fewest_passes
from headway.core.model.throughput import UNREPORTED, stack, step_time_s
from headway.core.predict.kinds import MOST_KINDS, Kind
from headway.core.types import Float64, FloatArray, Int64, IntArray, JobView

MARKS = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0])  # shares of a job's work
BATCHES = 12  # sizes that are tried at each
MOST_REPORTS = 200.0  # that the mean at a mark counts, so that it ages
LEAST_REPORTS = 0.3  # near a mark, below which it was not seen
MOST_LOG = 40.0  # of phi + M0; an infinite phi counts as this


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Mean of log(phi + M0) at each mark over the reports near it, and how many they are."""

    mean: Float64[FloatArray, " marks"]
    count: Float64[FloatArray, " marks"]

    def with_report(self, share: float, value: float) -> "Seen":
        """One more report, split between the two marks that it lies between."""
        mean, count = self.mean.copy(), self.count.copy()
        right = max(int(np.searchsorted(MARKS, share)), 1)
        part = (share - MARKS[right - 1]) / (MARKS[right] - MARKS[right - 1])
        for mark, weight in ((right - 1, 1.0 - part), (right, part)):
            if weight > 0:
                count[mark] = min(count[mark] + weight, MOST_REPORTS)
                mean[mark] += (value - mean[mark]) * weight / count[mark]
        return Seen(mean, count)

    @property
    def steps(self) -> Float64[FloatArray, " steps"]:
        """From mark to mark; nan where one of the two was hardly seen."""
        known = self.count >= LEAST_REPORTS
        return np.where(known[1:] & known[:-1], np.diff(self.mean), np.nan)


NEVER = Seen(np.zeros(len(MARKS)), np.zeros(len(MARKS)))


@dataclass(frozen=True, slots=True)
class NoiseCourse:
    """A value: ``updated`` with each snapshot's jobs it gives the next one."""

    seen: Mapping[Kind, Seen] = field(default_factory=dict)
    counted: Mapping[JobId, tuple[int, float]] = field(default_factory=dict)  # how far each was

    def updated(self, jobs: Sequence[JobView]) -> "NoiseCourse":
        """With what these jobs report anew: one that waits has its last report each round."""
        seen, counted = dict(self.seen), {}
        for job in jobs:
            report, job_id = job.report, job.spec.job_id
            if report is None or report.noise_scale is None or not self.follows(job):
                continue
            counted[job_id] = (report.samples, report.progress_examples)
            if counted[job_id] != self.counted.get(job_id):
                kind = Kind.of(job)
                before = seen.pop(kind, NEVER)  # so that the latest are the last
                seen[kind] = before.with_report(_share(job), _level(job))
        return NoiseCourse(dict(list(seen.items())[-MOST_KINDS:]), counted)

    @staticmethod
    def follows(job: JobView) -> bool:
        """Whether a job's goodput depends on its noise scale, and its end is declared."""
        spec = job.spec
        return bool(spec.adaptation is None and spec.batch.adapts and job.work_examples)

    def ahead(self, jobs: Sequence[JobView]) -> Float64[FloatArray, "jobs marks"]:
        """The noise scale of jobs that follow it, at each mark; where each is now, its present.

        Of a step that no job of its kind has gone, the mean of the other kinds is taken.
        """
        pooled = self._pooled()
        rows = np.zeros((len(jobs), len(MARKS)))
        for row, job in enumerate(jobs):
            seen = self.seen.get(Kind.of(job), NEVER)
            steps = np.where(np.isnan(seen.steps), pooled, seen.steps)
            course = np.concatenate([[0.0], np.cumsum(steps)])
            unmeasured = job.report is None or job.report.noise_scale is None
            first = unmeasured and seen.count[0] > 0
            now = float(seen.mean[0]) if first else _level(job)
            level = now + course - np.interp(_share(job), MARKS, course)
            initial = job.spec.batch.initial_batch_size
            rows[row] = np.maximum(np.exp(np.minimum(level, MOST_LOG)) - initial, 0.0)
        return rows

    def _pooled(self) -> Float64[FloatArray, " steps"]:
        """Mean step between marks over all kinds that have one; 0 where none has."""
        steps = np.array([NEVER.steps, *(seen.steps for seen in self.seen.values())])
        known = ~np.isnan(steps)
        total = np.where(known, steps, 0.0).sum(axis=0)
        return np.asarray(total / np.maximum(known.sum(axis=0), 1))


def times_over_present(
    jobs: Sequence[JobView],
    ahead: Float64[FloatArray, "jobs marks"],
    gpus: Int64[IntArray, " jobs"],
    per_node: int,
) -> Float64[FloatArray, "jobs marks"]:
    """Time that a unit of progress takes at each mark, over what it takes at present.

    Each at the best of some batch sizes in equal ratios, on so many GPUs.
    """
    contracts = [job.spec.batch for job in jobs]
    initial = np.array([float(batch.initial_batch_size) for batch in contracts])
    most = np.array([float(batch.max_batch_size) for batch in contracts])
    memory = np.array([float(batch.max_batch_per_gpu) for batch in contracts])
    passes = np.array([batch.max_accum_steps + 1.0 for batch in contracts])
    largest = np.maximum(np.minimum(most, gpus * memory * passes), initial)
    size = initial[:, None] * (largest / initial)[:, None] ** np.linspace(0.0, 1.0, BATCHES)
    count = gpus[:, None].astype(np.float64)
    m, n = fewest_passes(np.ceil(size), count, memory[:, None])
    nodes = -(-gpus // max(per_node, 1))[:, None]
    theta = stack([UNREPORTED if job.report is None else job.report.throughput for job in jobs])
    step_s = step_time_s(theta[:, None, :], count, nodes > 1, m, n - 1, nodes=nodes)
    present = [None if job.report is None else job.report.noise_scale for job in jobs]
    now = np.array([assumed_noise_scale(phi) for phi in present])
    phi = np.hstack([now[:, None], ahead])[:, :, None]
    worth = efficiency(phi, initial[:, None, None], size[:, None, :])
    best = ((size / step_s)[:, None, :] * worth).max(axis=2)
    return np.asarray(best[:, :1] / best[:, 1:])


def _share(job: JobView) -> float:
    """Of its declared work, that is done."""
    done = 0.0 if job.report is None else job.report.progress_examples
    return min(done / (job.work_examples or np.inf), 1.0)


def _level(job: JobView) -> float:
    """log(phi + M0), all that efficiency depends on."""
    phi = assumed_noise_scale(None if job.report is None else job.report.noise_scale)
    return min(float(np.log(phi + job.spec.batch.initial_batch_size)), MOST_LOG)
