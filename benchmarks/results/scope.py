"""What a run of the benchmarks covers, and what its sections ask of the answers alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan
from pathlib import Path

import numpy as np

from benchmarks.results.command import CLUSTER, Command
from benchmarks.results.fairness import rho_pollux
from benchmarks.results.figures import Results
from benchmarks.results.published import LOADS, WORKLOADS, jobload
from benchmarks.results.store import JobRow
from headway.core.types import Float64, FloatArray
from headway.sim.cluster import parse_cluster
from headway.traces.base import Workload
from headway.traces.sniff import read_profiles, read_workload

GPUS = parse_cluster(CLUSTER).gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The published data, and how much of it is run."""

    data: Path
    workloads: tuple[int, ...] = WORKLOADS
    most_gpus: int = 16_384  # of a cluster whose rounds are solved

    @property
    def named(self) -> str:
        """The workloads, for a title."""
        return "workload" + ("s " if len(self.workloads) > 1 else " ") + _listed(self.workloads)

    def rho_pollux(self, results: Results, command: Command) -> Float64[FloatArray, " jobs"] | None:
        """Of the jobs of a simulation; None where it has not run."""
        record = results.get(command)
        if record is None:
            return None
        path = next(word for word in command.words if word.endswith(".csv"))
        return rho_pollux(record.jobs, self._jobs(path.partition("/")[2]), GPUS)

    def published_rho(self, policy: str, workload: int) -> Float64[FloatArray, " jobs"]:
        """The same of a published run at load 1."""
        jobs = self._jobs(f"{LOADS['1.0']}/workload-{workload}.csv")
        jct_s = jobload(self.data, policy, workload).jct_s
        rows = [
            JobRow(
                name=job.name,
                submitted_s=job.submitted_s,
                jct_s=jct_s[job.name],
                restarts=0,
                rho=nan,
            )
            for job in jobs.jobs
        ]
        return rho_pollux(rows, jobs, GPUS)

    def _jobs(self, path: str) -> Workload:
        return read_workload(self.data / path, read_profiles(self.data / "profiles"))

    def measures(self, results: Results, command: Command) -> Mapping[str, float | None]:
        """A simulation's figures by name, and those that are made from its jobs."""
        rho = self.rho_pollux(results, command)
        if rho is None:
            return {}
        names = ("avg_jct_s", "mean_rho", "worst_rho")
        return {
            **{name: number(results, command, name) for name in names},
            "restarts_per_job": restarts(results, command),
            **fairness(rho),
        }


def fairness(rho: Float64[FloatArray, " jobs"]) -> Mapping[str, float]:
    """``rho_pollux`` of many jobs in a few figures."""
    return {
        "mean_rho_pollux": float(rho.mean()),
        "worst_rho_pollux": float(rho.max()),
        "rho_pollux_above_2": float(np.mean(rho > 2)),
        "rho_pollux_above_4": float(np.mean(rho > 4)),
    }


def number(results: Results, command: Command, *path: str) -> float | None:
    """A figure of a command's answer; None where there is none."""
    record = results.get(command)
    return None if record is None else record.number(*path)


def restarts(results: Results, command: Command) -> float | None:
    """For each job of a simulation."""
    total, jobs = number(results, command, "restarts"), number(results, command, "jobs")
    return None if total is None or not jobs else total / jobs


def _listed(numbers: tuple[int, ...]) -> str:
    *first, last = map(str, numbers)
    return f"{', '.join(first)} and {last}" if first else last
