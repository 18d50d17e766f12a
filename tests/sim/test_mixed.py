"""Whole runs on a cluster of two GPU types and two racks: what the log says of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.core.control.events import Event, JobFinished, JobReported, RoundDecided
from headway.core.policy import POLICIES, make
from headway.sim.cluster import Cluster, parse_cluster
from headway.sim.driver import Setup, fitted, opening, simulate
from headway.sim.egalitarian import references
from headway.sim.generate import generate
from headway.traces.catalogue import CATALOGUE

FILE = """
nodes:
  - {count: 2, gpus: 4, gpu_type: t4, rack: r0}
  - {count: 1, gpus: 4, gpu_type: t4, rack: r1}
  - {count: 2, gpus: 2, gpu_type: a100, rack: r1}
gpu_types: {a100: {speed: 2}}
truth: {measured_on: t4, ratios: {a100: {cifar10: 4}}, cross_rack_sync: 3}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    path = tmp_path / "mixed.yaml"
    path.write_text(FILE)
    return parse_cluster(str(path))


def log_of(
    cluster: Cluster,
    policy: str,
    jobs: str = "pollux-mix:jobs=14,hours=0.3",
    **settings: str,
) -> list[Event]:
    workload = fitted(generate(jobs, CATALOGUE, 5), cluster)
    short = [replace(job, work_examples=(job.work_examples or 0) / 8) for job in workload.jobs]
    setup = Setup(workload=replace(workload, jobs=tuple(short)), cluster=cluster, seed=5)
    log: list[Event] = []
    fair = references(setup.workload, cluster)
    simulate(setup, make(policy, settings), opening(setup, policy, settings), fair, log.append)
    return log


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_job_finishes_and_none_ever_holds_two_types(cluster: Cluster, policy: str) -> None:
    log = log_of(cluster, policy)
    gpu_types = {node.node_id: node.gpu_type for node in cluster.nodes}
    given = [
        {gpu_types[node_id] for node_id, _ in change.allocation.per_node}
        for event in log
        if isinstance(event, RoundDecided)
        for change in event.changes
        if change.allocation
    ]
    assert all(len(types) == 1 for types in given)
    assert {"a100", "t4"} == set().union(*given)
    assert sum(isinstance(event, JobFinished) for event in log) == 14


def test_agents_report_what_a_type_is_really_worth_to_their_model(cluster: Cluster) -> None:
    """A cifar10 is four times as fast on an a100, not twice as its nominal speed says."""
    both = [
        {one.gpu_type: one for one in event.report.grad_by_type}
        for event in log_of(cluster, "pollux", kinds="false")  # each job finds out for itself
        if isinstance(event, JobReported)
        and event.job_id.startswith("cifar10")
        and len(event.report.grad_by_type) == 2
    ]
    assert both
    for pairs in both:
        pass_s = {name: one.alpha_grad_s + 256 * one.beta_grad_s for name, one in pairs.items()}
        assert pass_s["t4"] / pass_s["a100"] == pytest.approx(4.0, rel=0.25)
