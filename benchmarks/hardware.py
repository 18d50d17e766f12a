"""What it is worth to know GPU types, or racks: one workload under a policy that does and one not.

Blind to types, a policy takes all GPUs for equally fast, yet keeps each job on one type. Blind to
racks, neither it nor the agents are told where nodes stand; the truth stays what it is. Prints one
JSON object, a line for each run::

    python benchmarks/hardware.py workload-6.csv --cluster benchmarks/clusters/mixed.yaml \\
        --blind types

Measured profiles of nodes with four GPUs say nothing about nodes with eight: there the models of
the built-in catalogue, which know what one more GPU costs, are the better truth.
"""

import argparse
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from headway.core.policy import Policy, Traits, make
from headway.core.types import Decision, JobView, Node, Snapshot
from headway.sim.cluster import Cluster, parse_cluster
from headway.sim.driver import Setup, fitted
from headway.sim.results import Contender, run_all
from headway.traces.catalogue import CATALOGUE
from headway.traces.sniff import read_profiles, read_workload

FIGURES = (
    "jobs",
    "finished",
    "avg_jct_s",
    "p50_jct_s",
    "p99_jct_s",
    "makespan_s",
    "mean_rho",
    "utilisation",
    "restarts",
    "gap_max",
    "cpu_s",
)


@final
@dataclass(frozen=True)
class BlindToTypes:
    """A policy that is not told how types differ in speed."""

    inner: Policy[Any]

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
        """The decision of the policy inside, on the snapshot without speeds of types."""
        nodes = tuple(replace(node, speed=1.0) for node in snapshot.nodes)
        jobs = tuple(_without_types(job) for job in snapshot.jobs)
        return self.inner.decide(replace(snapshot, nodes=nodes, jobs=jobs), memory, rng)


def _without_types(job: JobView) -> JobView:
    if job.report is None:
        return job
    return replace(job, report=replace(job.report, grad_by_type=()))


def without_racks(cluster: Cluster) -> Cluster:
    """The same machines, but nobody is told in which racks they stand."""
    racks = {node.node_id: node.rack for node in cluster.nodes}

    def untold(node: Node) -> Node:
        return replace(node, rack=None)

    return replace(
        cluster,
        nodes=tuple(map(untold, cluster.nodes)),
        hardware=replace(cluster.hardware, racks=racks),
    )


def main() -> None:
    """Two runs, two lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", type=Path)
    parser.add_argument("--profiles", type=Path, help="the built-in catalogue by default")
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--policy", default="pollux")
    parser.add_argument("--blind", choices=("types", "racks"), required=True)
    asked = parser.parse_args()
    known = CATALOGUE if asked.profiles is None else read_profiles(asked.profiles)
    workload = read_workload(asked.workload, known)
    cluster, policy = parse_cluster(asked.cluster), make(asked.policy)
    if asked.blind == "types":
        runs = {"aware": (cluster, policy), "blind": (cluster, BlindToTypes(policy))}
    else:
        runs = {"aware": (cluster, policy), "blind": (without_racks(cluster), policy)}
    for name, (there, who) in runs.items():
        setup = Setup(workload=fitted(workload, there), cluster=there)
        contender = Contender(name=f"{asked.policy}, {name}", policy=who, settings={})
        found = run_all(setup, (contender,))[0].row()
        figures = {key: found[key] for key in FIGURES}
        line = json.dumps({"policy": contender.name, "cluster": there.name, **figures})
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
