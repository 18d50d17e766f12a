"""Error of the forecast of remaining run time, on jobs that change their batch size by a rule.

``python benchmarks/forecast.py --data DIR [--json]``: DIR is the data of Shockwave (traces/ and
throughput tables). Every job whose batch size changes is forecast after 0, 10, 25, 50, 75 and 90 %
of its epochs; the error is |forecast - truth| / truth of the run time that remains at its own
width. Jobs run one epoch after the other from their submission, so it is known what other jobs of
the same trace had shown by then. All contenders are told the speeds of the same table.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import click
import numpy as np

from headway.core.adaptation import Adaptation, Regime
from headway.core.predict.calibration import Calibration, calibration
from headway.core.predict.forecast import forecast
from headway.core.predict.history import History, Past, past
from headway.core.predict.outlook import outlook
from headway.traces.base import JobProfile, Workload
from headway.traces.sniff import read_profiles, read_workload
from headway.traces.trajectory import Trajectory

TRACES = (
    ("120jobs", "tacc"),
    ("220jobs", "wisr"),
    ("900jobs_durations1000", "wisr"),
)
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
MET = 0.01  # a truth so near counts as inside the error bar: the bar of a certain forecast is 0
PRIORS = ("uniform", "ended", "seen")


@dataclass(frozen=True)
class Job:
    """A job of a trace with its truth, in whole epochs as the published forecasts count them."""

    trace: str
    submitted_s: float
    adaptation: Adaptation
    trajectory: Trajectory
    profile: JobProfile
    gpus: int

    def epoch_s(self, batch_size: int) -> float:
        """Seconds of an epoch at this batch size, by the table."""
        batch = np.array([batch_size / self.gpus])
        _, step_s = self.profile.times_s((self.gpus,), batch)
        return self.trajectory.steps_per_epoch(batch_size) * float(step_s[0])

    @cached_property
    def sizes(self) -> list[int]:
        """The batch size of each epoch."""
        lengths = map(round, self.trajectory.stage_epochs)
        stages = zip(self.trajectory.batch_sizes, lengths, strict=True)
        return [size for size, length in stages for _ in range(length)]

    @cached_property
    def ends_s(self) -> np.ndarray:
        """When each epoch ends, from the start of the job, after a zero."""
        times_s = {size: self.epoch_s(size) for size in self.trajectory.batch_sizes}
        return np.concatenate([[0.0], np.cumsum([times_s[size] for size in self.sizes])])

    @property
    def epochs(self) -> int:
        """Whole ones."""
        return len(self.sizes)

    @property
    def changes(self) -> bool:
        """Whether its batch size changes at all."""
        return len(self.trajectory.stages) > 1

    def left_s(self, epoch: int) -> float:
        """The truth."""
        return float(self.ends_s[-1] - self.ends_s[epoch])

    def regimes(self, epoch: int) -> list[Regime]:
        """What it has shown after so many epochs."""
        return [
            Regime(batch_size=size, began_epoch=float(first))
            for first, size in self.trajectory.stages
            if first <= epoch
        ]

    def shown_at(self, now_s: float, *, ended: bool) -> Past | None:
        """What others may know of it: all up to now, or nothing before it has ended."""
        done = int(np.searchsorted(self.ends_s, now_s - self.submitted_s, side="right")) - 1
        if done < (self.epochs if ended else 0):
            return None
        return past(self.adaptation, self.regimes(done), float(done))


Contender = Callable[[Job, int], float]


def jobs_of(data: Path) -> list[Job]:
    """The jobs of all three traces."""
    found = []
    for trace, table in TRACES:
        profiles = read_profiles(data / f"{table}_throughputs.json.gz")
        workload = read_workload(data / "traces" / f"{trace}.trace.gz", profiles)
        found += [_job(trace, workload, index) for index in range(len(workload.jobs))]
    return found


def _job(trace: str, workload: Workload, index: int) -> Job:
    spec = workload.jobs[index]
    trajectory = workload.trajectories[spec.job_id]
    whole = float(math.ceil(trajectory.epochs))
    assert spec.adaptation is not None
    return Job(
        trace=trace,
        submitted_s=spec.submitted_s,
        adaptation=replace(spec.adaptation, epochs=whole),
        trajectory=replace(trajectory, epochs=whole),
        profile=workload.profile_of(spec.job_id),
        gpus=spec.requested_gpus,
    )


def current_rate_s(job: Job, epoch: int) -> float:
    """Yardstick: all that is left at the speed of now."""
    return (job.epochs - epoch) * job.epoch_s(job.sizes[epoch])


def restatement_s(job: Job, epoch: int) -> float:
    """Yardstick: the paper's rule over the regimes that the job will really have, in order."""
    begun = sum(first <= epoch for first, _ in job.trajectory.stages) - 1
    ahead = job.trajectory.batch_sizes[begun:]
    began = job.trajectory.stages[begun][0]
    each = (job.epochs - began) / len(ahead)
    epochs = np.array([max(each - (epoch - began), 0.0), *[each] * (len(ahead) - 1)])
    total = epochs.sum()
    share = (job.epochs - epoch) / total if total > 0 else 0.0
    times_s = [job.epoch_s(size) for size in ahead]
    return float(share * epochs @ times_s) if total > 0 else current_rate_s(job, epoch)


def ancestor_s(job: Job, epoch: int) -> float:
    """Yardstick: the published predictor, as its arithmetic is: no order, whole seconds.

    It knows which sizes the job will have. Epochs run are added to a uniform prior, the sum is
    scaled back to the job's epochs, the epochs run are taken away, and what is left is scaled to
    the epochs that are left (uw-mad-dash/shockwave, scheduler/JobMetaData.py).
    """
    modes = sorted(set(job.sizes))
    seen = job.sizes[: epoch + 1]
    counts = np.array([job.epochs / len(modes) + seen.count(size) for size in modes])
    counts *= job.epochs / counts.sum()
    for place, size in enumerate(modes):
        counts[place] -= min(seen.count(size), int(counts[place]))
    times_s = [max(1.0, round(job.epoch_s(size))) for size in modes]
    left = job.epochs - epoch
    return float(counts @ times_s) * left / max(int(counts.sum() + 1), left)


YARDSTICKS: Mapping[str, Contender] = {
    "ancestor": ancestor_s,
    "restatement": restatement_s,
    "current rate": current_rate_s,
}


def yardstick(name: str, jobs: Sequence[Job]) -> list[float]:
    """Mean error at each share."""
    return [
        float(np.mean([_error(YARDSTICKS[name], job, int(share * job.epochs)) for job in jobs]))
        for share in SHARES
    ]


def _error(contender: Contender, job: Job, epoch: int) -> float:
    truth_s = job.left_s(epoch)
    return abs(contender(job, epoch) - truth_s) / truth_s


def history(job: Job, epoch: int, others: Sequence[Job], prior: str) -> History:
    """What jobs of the same trace, model and rule have shown when this one has come so far."""
    if prior == "uniform":
        return History()
    now_s = job.submitted_s + float(job.ends_s[epoch])
    shown = (other.shown_at(now_s, ended=prior == "ended") for other in others if other is not job)
    return History.of(one for one in shown if one is not None)


def measured(jobs: Sequence[Job], prior: str) -> list[Calibration]:
    """Error and calibration of the forecast at each share."""
    groups: dict[tuple[str, str, str], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.trace, job.adaptation.model, job.adaptation.rule), []).append(job)
    found_at = []
    for share in SHARES:
        rows = []
        for job in (job for job in jobs if job.changes):
            epoch = int(share * job.epochs)
            others = groups[job.trace, job.adaptation.model, job.adaptation.rule]
            ahead = outlook(job.adaptation, job.regimes(epoch), history(job, epoch, others, prior))
            times_s = [job.epoch_s(size) for size in ahead.batch_sizes]
            found = forecast([ahead], np.array([float(epoch)]), [times_s])
            rows.append((found.remaining_s[0], found.spread_s[0], job.left_s(epoch)))
        quality = calibration(*np.array(rows).T, tolerance=MET)
        assert quality is not None
        found_at.append(quality)
    return found_at


@click.command()
@click.option("--data", required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(data: Path, as_json: bool) -> None:
    """Measure the forecast against its yardsticks."""
    jobs = jobs_of(data)
    changing = [job for job in jobs if job.changes]
    yardsticks = {name: yardstick(name, changing) for name in YARDSTICKS}
    bar = [min(column) for column in zip(*yardsticks.values(), strict=True)]
    found = {prior: measured(jobs, prior) for prior in PRIORS}
    errors = {prior: [each.mean_error for each in row] for prior, row in found.items()}
    if as_json:
        answer = {
            "jobs": len(jobs),
            "changing": len(changing),
            "shares": SHARES,
            "yardsticks": yardsticks,
            "bar": bar,
            "forecast": {
                prior: {"error": errors[prior], "calibration": [asdict(each) for each in row]}
                for prior, row in found.items()
            },
        }
        click.echo(json.dumps(answer))
        return
    click.echo(f"{len(changing)} of {len(jobs)} jobs change; mean error in %")
    for name, row in {**yardsticks, "best of these": bar, **errors}.items():
        _say(f"forecast, {name} prior" if name in errors else name, row)
    click.echo("truths inside one and inside two spreads, in %")
    for prior, qualities in found.items():
        _say(f"{prior} prior, one", [each.within_one for each in qualities])
        _say(f"{prior} prior, two", [each.within_two for each in qualities])


def _say(name: str, shares: Sequence[float]) -> None:
    click.echo(f"{name:24}" + "".join(f"{100 * share:7.1f}" for share in shares))


if __name__ == "__main__":
    main()
