"""Whole runs: the same input gives the same bytes, and the published workload its figures."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.core.control.events import (
    JobFinished,
    JobReferenced,
    JobReported,
    JobStarted,
    NodeLost,
    RoundDecided,
    RunOpened,
)
from headway.core.errors import InvalidInputError
from headway.core.metrics import per_job
from headway.core.policy import make
from headway.core.types import BatchMode
from headway.protocol.eventlog import encode
from headway.sim.driver import Setup, fitted, opening, simulate

SMALL = "pollux-mix:jobs=8,hours=1"
SCRIPT = """
import hashlib, sys
from headway.core.policy import make
from headway.protocol.eventlog import encode
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup, opening, simulate
from headway.sim.egalitarian import references
from headway.sim.generate import generate
from headway.traces.catalogue import CATALOGUE

cluster = parse_cluster("4x4")
for name in ("pollux", "las", "fifo"):
    setup = Setup(workload=generate(sys.argv[1], CATALOGUE, 3), cluster=cluster, seed=3, noise=0.05)
    found = hashlib.sha256()
    simulate(
        setup,
        make(name),
        opening(setup, name, {}),
        references(setup.workload, cluster),
        lambda event: found.update(encode(event) + b"\\n"),
    )
    print(name, found.hexdigest())
"""


def digests(hash_seed: str) -> str:
    env = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, SMALL], env=env, capture_output=True, text=True, check=True
    ).stdout


def test_the_log_is_the_same_in_every_process_whatever_the_hash_seed() -> None:
    first = digests("1")
    assert len(set(first.split())) == 6, "three policies, three different logs"
    assert digests("2") == first


def log_of(kit: Any, seed: int, **kwargs: Any) -> bytes:
    jobs = [
        kit.job(name, rigid=False, mode=BatchMode.ADAPTIVE, work_examples=200_000.0)
        for name in "abc"
    ]
    workload = kit.workload(*jobs, profile=kit.toy(sync_s=0.1, noise=3000.0))
    setup = Setup(workload=workload, cluster=kit.cluster("4x4"), seed=seed, **kwargs)
    log, _ = kit.run(setup, make("pollux"), "pollux")
    return b"\n".join(encode(event) for event in log)


def test_without_noise_the_seed_changes_nothing_but_its_own_record(kit: Any) -> None:
    one, two = log_of(kit, 1), log_of(kit, 2)
    assert one.split(b"\n", 1)[1] == two.split(b"\n", 1)[1]


def test_with_noise_it_does(kit: Any) -> None:
    one, two = log_of(kit, 1, noise=0.1), log_of(kit, 2, noise=0.1)
    assert one.split(b"\n", 1)[1] != two.split(b"\n", 1)[1]


def test_a_log_opens_with_what_was_run_and_the_references(kit: Any) -> None:
    setup = Setup(workload=kit.workload(kit.job("a")), cluster=kit.cluster(), seed=7, round_s=30.0)
    log, _ = kit.run(setup, make("fifo"), "fifo")
    simulated = {
        "restart_s": 30.0,
        "restart_spread": 0.0,
        "declared_error": 0.0,
        "noise": 0.0,
        "interference": 0.0,
        "provision_s": 120.0,
        "models": "learned",
        "throughput": "linear",
    }
    assert log[0] == RunOpened(
        at_s=0.0, policy="fifo", round_s=30.0, seed=7, settings={}, simulated=simulated
    )
    references = [event for event in log if isinstance(event, JobReferenced)]
    assert [event.job_id for event in references] == ["a"]
    assert not references[0].estimated


def test_jobs_may_differ_in_their_restart_delay_and_report_their_own(kit: Any) -> None:
    setup = Setup(
        workload=kit.workload(*(kit.job(name, work_examples=50_000.0) for name in "abcd")),
        cluster=kit.cluster("1x4"),
        restart_spread=0.5,
    )
    log, _ = kit.run(setup, make("pollux"))
    reported = {event.report.restart_s for event in log if isinstance(event, JobReported)}
    took_s = {event.at_s for event in log if isinstance(event, JobStarted)}
    assert len(reported) == 4
    assert took_s == reported  # all are given their GPUs at time 0
    again, _ = kit.run(setup, make("pollux"))
    assert again == log
    other, _ = kit.run(replace(setup, seed=1), make("pollux"))
    assert took_s.isdisjoint(event.at_s for event in other if isinstance(event, JobStarted))


def test_a_lost_node_stops_its_jobs_and_they_go_on_elsewhere(kit: Any) -> None:
    """120 s of work: 30 s restart, 30 s of running to 60 s, then the node is lost at 90 s; the
    next round is at 120 s, 30 s restart, and 60 s of work are left: it ends at 210 s."""
    cluster = kit.cluster("2x4")
    jobs = kit.job("a")
    setup = Setup(workload=kit.workload(jobs), cluster=cluster)
    log, _ = kit.run(setup, make("fifo"), "fifo")
    assert [event.at_s for event in log if isinstance(event, JobFinished)] == [150.0]
    where = next(e for e in log if type(e).__name__ == "RoundDecided").changes[0].allocation
    lost = NodeLost(at_s=90.0, node_id=where.per_node[0][0])
    log, _ = kit.run(replace(setup, cluster=replace(cluster, changes=(lost,))), make("fifo"))
    assert [event.at_s for event in log if isinstance(event, JobFinished)] == [pytest.approx(210.0)]


def test_an_elastic_job_wider_than_the_cluster_is_made_to_fit(kit: Any) -> None:
    job = replace(kit.job("wide", rigid=False, mode=BatchMode.ADAPTIVE), requested_gpus=8)
    workload = fitted(kit.workload(job), kit.cluster("1x4"))
    assert workload.jobs[0].gpus.max_gpus == workload.jobs[0].requested_gpus == 4
    assert workload.notes == ("job wide asks for 8 GPUs; 4 fit the cluster",)


def test_a_rigid_one_is_refused_by_name(kit: Any) -> None:
    with pytest.raises(InvalidInputError, match="job wide needs at least 8 GPUs and the cluster"):
        fitted(kit.workload(kit.job("wide", gpus=8)), kit.cluster("1x4"))


def test_a_job_gets_no_more_gpus_than_come_with_what_it_asks_for(kit: Any) -> None:
    cluster = kit.cluster("1x4")
    cluster = replace(cluster, nodes=(replace(cluster.nodes[0], cpus=8.0),))
    asks = replace(kit.job("a", gpus=4), cpus_per_gpu=4.0)
    asks = replace(asks, gpus=replace(asks.gpus, min_gpus=1))
    assert fitted(kit.workload(asks), cluster).jobs[0].requested_gpus == 2
    with pytest.raises(InvalidInputError, match="job a: cpus_per_gpu: it needs 1 GPU with 16 CPU"):
        fitted(kit.workload(replace(asks, cpus_per_gpu=16.0)), cluster)


@pytest.mark.slow
def test_pollux_on_the_published_workload_beats_the_published_figure(
    kit: Any, shared_data: Path
) -> None:
    """BASELINES.md 1: 2,446 s average JCT on workload-6, 16 nodes of 4 GPUs, restart 30 s."""
    from headway.traces.sniff import read_profiles, read_workload

    data = shared_data / "pollux"
    profiles = read_profiles(data / "profiles")
    workload = read_workload(data / "workloads" / "workload-6.csv", profiles)
    setup = Setup(workload=workload, cluster=kit.cluster("16x4"))
    log: list[Any] = []
    run = simulate(setup, make("pollux"), opening(setup, "pollux", {}), (), log.append)
    outcomes = per_job(log)
    published = json.loads((data / "results" / "results-jobload__pollux-1.0.json").read_text())
    jcts = next(each for name, each in published["jcts"].items() if "workload-6" in name)
    assert {outcome.job_id for outcome in outcomes} == set(jcts)
    average_s = sum(outcome.jct_s or 1e9 for outcome in outcomes) / len(outcomes)
    assert sum(jcts.values()) / len(jcts) == pytest.approx(2446, abs=1)
    assert average_s < 2446
    assert run.outside == (), "everything it asked for was measured"


def test_the_paper_s_search_runs_and_is_the_same_again(kit: Any) -> None:
    jobs = [
        kit.job(name, rigid=False, mode=BatchMode.ADAPTIVE, work_examples=100_000.0)
        for name in "abc"
    ]
    setup = Setup(
        workload=kit.workload(*jobs, profile=kit.toy(sync_s=0.1, noise=3000.0)),
        cluster=kit.cluster("3x4"),
    )
    policy = make("pollux", {"search": "genetic", "population": "20", "generations": "10"})
    first, second = (kit.run(setup, policy)[0] for _ in range(2))
    assert first == second
    assert sum(isinstance(event, JobFinished) for event in first) == 3
    decided = [event for event in first if isinstance(event, RoundDecided)]
    assert all(event.gap is None and event.solver["generations"] == 10 for event in decided)


def test_a_run_of_too_many_rounds_is_stopped(kit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no job alone takes too long, but all of them after each other do."""
    monkeypatch.setattr("headway.sim.driver.MOST_ROUNDS", 3)
    setup = Setup(workload=kit.workload(kit.job("a")), cluster=kit.cluster(), round_s=0.1)
    with pytest.raises(InvalidInputError, match="did not end within 3 rounds"):
        simulate(setup, make("fifo"), opening(setup, "fifo", {}), (), lambda event: None)
