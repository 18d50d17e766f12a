"""Forecasts as a policy makes them in a simulated run: from reports alone, round by round.

``python benchmarks/foresight.py WORKLOAD --profiles PATH --cluster 32x1 [--json]``: at every round
of a run under ``las`` each job that has run is forecast on its own GPUs; the truth is its run time
from there on. Speeds of sizes that no job has run come from the agents' own fits.
"""

import json
import time
from bisect import bisect_right
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, final

import click
import numpy as np

from headway.core.control.events import Event
from headway.core.ids import JobId
from headway.core.policy import Policy, Traits, make
from headway.core.predict.calibration import calibration
from headway.core.predict.foresight import Foresight
from headway.core.types import Decision, Snapshot
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup, fitted, opening, simulate
from headway.traces.base import Workload
from headway.traces.sniff import read_profiles, read_workload

BANDS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)  # a forecast belongs to the last that it has passed
MET = 0.01  # a truth so near counts as inside the error bar


@final
@dataclass
class Watched:
    """A policy around which every job is forecast at every round."""

    inner: Policy[Any]
    rows: list[tuple[JobId, float, float, float]] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    @property
    def traits(self) -> Traits:
        """Reports are read."""
        return Traits(reads_reports=True)

    def start(self) -> tuple[Any, Foresight]:
        """Its own memory beside that of the policy inside."""
        return self.inner.start(), Foresight()

    def decide(
        self, snapshot: Snapshot, memory: tuple[Any, Foresight], rng: np.random.Generator
    ) -> tuple[Decision, tuple[Any, Foresight]]:
        """Forecast, then decide as the policy inside."""
        began_s = time.process_time()
        foresight = memory[1].updated(snapshot.jobs)
        seen = [job for job in snapshot.jobs if job.report is not None]
        found = foresight.forecast(seen, [job.spec.requested_gpus for job in seen])
        self.cpu_s.append(time.process_time() - began_s)
        for job, left_s, spread_s in zip(seen, found.remaining_s, found.spread_s, strict=True):
            assert job.report is not None
            done = job.report.progress_examples
            self.rows.append((job.spec.job_id, done, float(left_s), float(spread_s)))
        decision, inner = self.inner.decide(snapshot, memory[0], rng)
        return decision, (inner, foresight)


def truth_s(workload: Workload, job_id: JobId, done: float) -> float:
    """Run time from this progress on, at the requested width."""
    trajectory, profile = workload.trajectories[job_id], workload.profile_of(job_id)
    gpus = next(job.requested_gpus for job in workload.jobs if job.job_id == job_id)
    total_s, begin = 0.0, 0.0
    for size, end in zip(trajectory.batch_sizes, trajectory.stage_ends, strict=True):
        left = max(0.0, end - max(done, begin))
        _, step_s = profile.times_s((gpus,), np.array([size / gpus]))
        total_s += left / trajectory.rate_per_s(size, float(step_s[0]))
        begin = end
    return total_s


@click.command()
@click.argument("workload", type=click.Path(path_type=Path))
@click.option("--profiles", required=True, type=click.Path(path_type=Path))
@click.option("--cluster", default="32x1", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(workload: Path, profiles: Path, cluster: str, as_json: bool) -> None:
    """Forecast in a run, and compare."""
    where = parse_cluster(cluster)
    jobs = fitted(read_workload(workload, read_profiles(profiles)), where)
    setup = Setup(workload=jobs, cluster=where, round_s=120.0, restart_s=20.0)
    watched = Watched(make("las", {}))
    log: list[Event] = []
    simulate(setup, watched, opening(setup, "watched", {}), (), log.append)
    bands: dict[float, list[tuple[float, float, float]]] = {band: [] for band in BANDS}
    for job_id, done, left_s, spread_s in watched.rows:
        trajectory = jobs.trajectories[job_id]
        if len(trajectory.stages) > 1:
            band = BANDS[bisect_right(BANDS, done / trajectory.work_examples) - 1]
            bands[band].append((left_s, spread_s, truth_s(jobs, job_id, done)))
    answer: dict[str, object] = {
        "rounds": len(watched.cpu_s),
        "cpu_s": sum(watched.cpu_s),
        "cpu_s_max": max(watched.cpu_s),
    }
    for band, rows in bands.items():
        found = calibration(*np.array(rows).reshape(-1, 3).T, tolerance=MET)
        answer[f"from_{band:g}"] = None if found is None else asdict(found)
    click.echo(json.dumps(answer, indent=None if as_json else 2))


if __name__ == "__main__":
    main()
