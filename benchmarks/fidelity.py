"""The simulator against the physical runs published with Shockwave: 32 GPUs, 120 jobs.

``python benchmarks/fidelity.py --data DIR [--json]``: each run is simulated with the schedule that
was recorded, round by round, so that only the simulator's account of rounds, restarts and speeds is
compared. A job that is not done after its last recorded round goes on until it is. Forms:
``table``: speeds of the TACC table; ``speeds``: those that the run recorded at each batch size
(median; at sizes without a record the table, times what the recorded ones differ from it);
``run times``: the table, times what each job's recorded time on its GPUs differs from it;
``... and rounds``: the same, and a round of 120 s takes as long as it did (a parabola through the
recorded ends of jobs against their last rounds, which also says when the run began).
"""

import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, final

import click
import numpy as np

from headway.core.control.events import Event
from headway.core.metrics.meter import Meter
from headway.core.policy import Traits
from headway.core.policy.admission import admit, place, requested_gpus
from headway.core.policy.grid import Grid
from headway.core.types import Decision, Float64, FloatArray, Snapshot
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup, opening, simulate
from headway.sim.egalitarian import references
from headway.traces.base import JobProfile, Shape, Workload
from headway.traces.sniff import read_profiles, read_workload

RUNS = {
    "themis": "finish_time_fairness",
    "gavel": "max_min_fairness",
    "mst": "max_sum_throughput_perf",
    "shockwave": "shockwave",
}
ROUND_S, RESTART_S = 120.0, 20.0
BEYOND = 100  # rounds
CLUSTER = parse_cluster("32x1")


@final
@dataclass(frozen=True)
class Recorded:
    """A profile whose speeds are multiplied by batch size."""

    name: str  # of its own, for speeds are remembered by name
    inner: JobProfile
    factors: Mapping[int, float]  # of a step time, by batch size of a GPU

    def __getattr__(self, name: str) -> Any:
        """All else is as it is."""
        return getattr(self.inner, name)

    def times_s(
        self, shape: Shape, batches_per_gpu: Float64[FloatArray, " batches"]
    ) -> tuple[FloatArray, FloatArray]:
        """Seconds of a pass without and with synchronisation."""
        usual = float(np.median(list(self.factors.values()))) if self.factors else 1.0
        sizes = batches_per_gpu.round().astype(np.int64).tolist()
        factor = np.array([self.factors.get(size, usual) for size in sizes])
        pass_s, step_s = self.inner.times_s(shape, batches_per_gpu)
        return pass_s * factor, step_s * factor


@final
@dataclass(frozen=True)
class Replayed:
    """Runs in each round who ran in it, and who is not done though its last round is over."""

    rounds: Sequence[Sequence[str]]  # numbers of jobs in the order of submission
    round_s: float

    @cached_property
    def last(self) -> Mapping[str, int]:
        """The last round of each job."""
        return {name: number for number, names in enumerate(self.rounds) for name in names}

    @property
    def traits(self) -> Traits:
        """Nothing is read."""
        return Traits()

    def start(self) -> None:
        """Nothing to remember."""

    def decide(
        self, snapshot: Snapshot, memory: None, rng: np.random.Generator
    ) -> tuple[Decision, None]:
        """The recorded jobs of this round."""
        grid = Grid.of(snapshot, at_requested_size=True)
        need, index = requested_gpus(grid), round(snapshot.now_s / self.round_s)
        told = self.rounds[index] if index < len(self.rounds) else ()
        names = [str(int(job.spec.job_id.split("-")[0])) for job in grid.jobs]
        late = [row for row, name in enumerate(names) if self.last[name] < index]
        now = [row for row, name in enumerate(names) if name in told]
        alloc = place(grid, admit(grid, late + now, need), need)
        return grid.decision(alloc), None


@dataclass(frozen=True, slots=True, kw_only=True)
class Physical:
    """A recorded run."""

    rounds: tuple[tuple[str, ...], ...]
    jct_s: FloatArray
    speeds: Mapping[str, Mapping[int, float]]  # median steps a second by job and batch of a GPU
    gpu_s: Mapping[str, float]  # of each job
    starts_s: FloatArray  # of each round, and of some that would come after the last

    @property
    def round_s(self) -> float:
        """The mean."""
        rounds = len(self.rounds)
        return float(self.starts_s[rounds] - self.starts_s[0]) / rounds

    @classmethod
    def of(cls, path: Path, submitted_s: FloatArray) -> "Physical":
        """From its file."""
        found = json.loads(gzip.decompress(path.read_bytes()))
        last: dict[int, int] = {}
        for number, jobs in enumerate(found["per_round_schedule"], start=1):
            last.update(dict.fromkeys(map(int, jobs), number))
        jct_s = np.array(found["jct_list"])
        rounds = np.array([last[job] for job in sorted(last)])
        # a job ends in the middle of its last round
        line = np.polyfit(rounds - 0.5, submitted_s + jct_s, 2)
        return cls(
            rounds=tuple(tuple(jobs) for jobs in found["per_round_schedule"]),
            jct_s=jct_s,
            speeds={
                job: _medians(seen.values()) for job, seen in found["throughput_timeline"].items()
            },
            gpu_s={job: sum(held.values()) for job, held in found["job_run_time"].items()},
            starts_s=np.polyval(line, np.arange(len(found["per_round_schedule"]) + BEYOND)),
        )


def _medians(seen: Any) -> dict[int, float]:
    by_size: dict[int, list[float]] = {}
    for per_s, size in seen:
        if per_s > 0:
            by_size.setdefault(int(size), []).append(per_s)
    return {size: float(np.median(values)) for size, values in by_size.items()}


def as_recorded(jobs: Workload, run: Physical) -> Workload:
    """The workload with a profile for each job."""
    profiles: dict[str, JobProfile] = {}
    for number, job in enumerate(jobs.jobs):
        inner, shape = jobs.profile_of(job.job_id), (1,) * job.requested_gpus
        factors = {
            size: 1.0 / per_s / float(inner.times_s(shape, np.array([float(size)]))[1][0])
            for size, per_s in run.speeds.get(str(number), {}).items()
        }
        profiles[job.job_id] = Recorded(str(job.job_id), inner, factors)
    names = {job.job_id: str(job.job_id) for job in jobs.jobs}
    return replace(jobs, profiles=profiles, profile_names=names)


def as_long(jobs: Workload, run: Physical) -> Workload:
    """The workload with jobs that take as long on their GPUs as they did, restarts apart."""
    alone_s = {one.job_id: one.exclusive_s for one in references(jobs, CLUSTER)}
    profiles: dict[str, JobProfile] = {}
    for number, job in enumerate(jobs.jobs):
        took_s = run.gpu_s[str(number)] / job.requested_gpus
        took_s -= RESTART_S * _starts(
            [
                [one] if one in names else []
                for one, names in ((str(number), names) for names in run.rounds)
            ]
        )
        usual = {0: took_s / alone_s[job.job_id]}
        profiles[job.job_id] = Recorded(str(job.job_id), jobs.profile_of(job.job_id), usual)
    names = {job.job_id: str(job.job_id) for job in jobs.jobs}
    return replace(jobs, profiles=profiles, profile_names=names)


def ends_s(jobs: Workload, run: Physical, starts_s: FloatArray) -> FloatArray:
    """When each job ends in the simulated run, in the order of submission.

    The simulator has rounds of 120 s from time 0; the real ones start at these times.
    """
    ticks_s = ROUND_S * np.arange(len(starts_s))
    specs = [
        replace(job, submitted_s=float(np.interp(job.submitted_s, starts_s, ticks_s)))
        for job in jobs.jobs
    ]
    here = replace(jobs, jobs=tuple(specs))
    setup = Setup(workload=here, cluster=CLUSTER, round_s=ROUND_S, restart_s=RESTART_S)
    log: list[Event] = []
    policy = Replayed(run.rounds, ROUND_S)
    simulate(setup, policy, opening(setup, "recorded", {}), (), log.append)
    by_job = {one.job_id: one.finished_s for one in Meter.of(log).outcomes()}
    ends = [by_job[job.job_id] for job in jobs.jobs]
    return np.asarray(np.interp([end for end in ends if end is not None], ticks_s, starts_s))


@click.command()
@click.option("--data", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(data: Path, as_json: bool) -> None:
    """Simulate each recorded run in five forms."""
    table = read_profiles(data / "tacc_throughputs.json.gz")
    jobs = read_workload(data / "traces" / "120jobs.trace.gz", table)
    submitted_s = np.array([job.submitted_s for job in jobs.jobs])
    answer: dict[str, Any] = {}
    for policy, name in RUNS.items():
        path = data / "results" / f"tacc_32gpus_comparison__{name}__physical.json.gz"
        run = Physical.of(path, submitted_s)
        told, timed = as_recorded(jobs, run), as_long(jobs, run)
        real_s = submitted_s + run.jct_s
        even_s = ROUND_S * np.arange(len(run.starts_s))
        forms = {
            "table": ends_s(jobs, run, even_s),
            "speeds": ends_s(told, run, even_s + run.starts_s[0]),
            "run times": ends_s(timed, run, even_s + run.starts_s[0]),
            "speeds and rounds": ends_s(told, run, run.starts_s),
            "run times and rounds": ends_s(timed, run, run.starts_s),
        }
        answer[policy] = {
            "round_s": run.round_s,
            "began_s": float(run.starts_s[0]),
            "slower": float(np.median([1 / f for f in _factors(told)])),
            "avg_jct_s": float(run.jct_s.mean()),
            "makespan_s": float(real_s.max()),
            "starts": _starts(run.rounds),
        }
        for form, found_s in forms.items():
            answer[policy][form] = {
                "avg_jct_s": float((found_s - submitted_s).mean()),
                "makespan_s": float(found_s.max()),
                "jct_error": float((found_s - submitted_s).mean() / run.jct_s.mean() - 1),
                "makespan_error": float(found_s.max() / real_s.max() - 1),
            }
    click.echo(json.dumps(answer, indent=None if as_json else 2))


def _factors(jobs: Workload) -> list[float]:
    profiles = [jobs.profile_of(job.job_id) for job in jobs.jobs]
    return [f for one in profiles if isinstance(one, Recorded) for f in one.factors.values()]


def _starts(rounds: Sequence[Sequence[str]]) -> int:
    """How often a job ran in a round and not in the one before."""
    return len(rounds[0]) + sum(len(set(now) - set(before)) for before, now in pairwise(rounds))


if __name__ == "__main__":
    main()
