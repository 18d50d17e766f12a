"""What a simulation costs, by size: CPU seconds of the whole, and per job and round.

A workload of ``pollux-mix`` under one policy. ``--rounds`` ends a long run early.

    python benchmarks/simulate.py --jobs 160 --cluster 16x4 --json
    python benchmarks/simulate.py --jobs 5000 --hours 4 --cluster 1024x4 --rounds 60 --json
"""

import argparse
import contextlib
import json
import resource
import time
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from headway.core.metrics.meter import Meter
from headway.core.policy import Policy, Traits, make
from headway.core.types import Decision, Snapshot
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup, fitted, opening, simulate
from headway.sim.egalitarian import references
from headway.sim.generate import generate
from headway.traces.catalogue import CATALOGUE


class EnoughError(Exception):
    """As many rounds as were asked for."""


@final
@dataclass
class Counted:
    """A policy with a count of what it was asked, and how long it thought."""

    inner: Policy[Any]
    most_rounds: int
    rounds: int = 0
    job_rounds: int = 0
    cpu_s: float = 0.0
    jobs: list[int] = field(default_factory=list)

    @property
    def traits(self) -> Traits:
        """Those of the policy inside."""
        return self.inner.traits

    def start(self) -> Any:
        """The memory of the policy inside."""
        return self.inner.start()

    def decide(
        self, snapshot: Snapshot, memory: Any, rng: np.random.Generator
    ) -> tuple[Decision, Any]:
        """The decision of the policy inside."""
        if self.rounds == self.most_rounds:
            raise EnoughError
        self.rounds += 1
        self.job_rounds += len(snapshot.jobs)
        self.jobs.append(len(snapshot.jobs))
        began_s = time.process_time()
        decision = self.inner.decide(snapshot, memory, rng)
        self.cpu_s += time.process_time() - began_s
        return decision


def measure(args: argparse.Namespace) -> dict[str, float | str]:
    """One run."""
    began_s = time.process_time()
    cluster = parse_cluster(args.cluster)
    name = f"pollux-mix:jobs={args.jobs},hours={args.hours:g}"
    workload = fitted(generate(name, CATALOGUE, args.seed), cluster)
    setup = Setup(workload=workload, cluster=cluster, seed=args.seed)
    fair = references(workload, cluster)
    prepared_s = time.process_time()
    policy, meter = Counted(make(args.policy, {}), args.rounds), Meter()
    with contextlib.suppress(EnoughError):
        simulate(setup, policy, opening(setup, args.policy, {}), fair, meter.add)
    cpu_s = time.process_time() - prepared_s
    return {
        "policy": args.policy,
        "jobs": args.jobs,
        "cluster": args.cluster,
        "rounds": policy.rounds,
        "job_rounds": policy.job_rounds,
        "jobs_most": max(policy.jobs),
        "cpu_s": cpu_s,
        "cpu_ms_per_job_round": 1e3 * cpu_s / policy.job_rounds,
        "decide_ms_per_job_round": 1e3 * policy.cpu_s / policy.job_rounds,
        "prepare_cpu_s": prepared_s - began_s,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Print one run's figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=160)
    parser.add_argument("--hours", type=float, default=8.0, help="in which they arrive")
    parser.add_argument("--cluster", default="16x4", help="NODESxGPUS")
    parser.add_argument("--policy", default="pollux")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=-1, help="at most; all by default")
    parser.add_argument("--json", action="store_true", help="one object, nothing else")
    args = parser.parse_args()
    found = measure(args)
    if args.json:
        print(json.dumps(found))
    else:
        print("\n".join(f"{name:24} {value}" for name, value in found.items()))


if __name__ == "__main__":
    main()
