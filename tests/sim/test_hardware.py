"""What GPU types and racks do to a job's true speed, reckoned by hand on the toy profile."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.core.control.events import Event, RoundDecided
from headway.core.errors import InvalidInputError
from headway.core.ids import NodeId
from headway.core.policy import make
from headway.core.types import Allocation, Node, placement_on
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup, fitted, opening, simulate
from headway.sim.egalitarian import references
from headway.sim.generate import generate
from headway.sim.hardware import Hardware, Site
from headway.traces.catalogue import CATALOGUE

NODES = {
    NodeId(name): Node(node_id=NodeId(name), gpus=4, gpu_type=gpu_type, rack=rack)
    for name, gpu_type, rack in (
        ("a0", "t4", "r0"),
        ("a1", "t4", "r0"),
        ("a2", "t4", "r1"),
        ("b0", "a100", None),
        ("b1", "a100", None),
    )
}


def site(**gpus: int) -> Site:
    held = Allocation.of({NodeId(name): count for name, count in gpus.items()})
    return Hardware().site(held, NODES)


def test_a_site_is_shape_type_and_how_far_apart_its_nodes_are() -> None:
    assert site(a0=3) == Site((3,), "t4", 1)
    assert site(a0=1, a1=2) == Site((1, 2), "t4", 1)
    assert site(a0=1, a1=2, a2=1) == Site((1, 2, 1), "t4", 2)
    assert site(b0=1, b1=1) == Site((1, 1), "a100", 1), "unknown racks are one rack"


def test_racks_of_which_nobody_is_told_are_there_all_the_same() -> None:
    hidden = Hardware(racks={NodeId("b0"): "r0", NodeId("b1"): "r1"})
    held = Allocation.of({NodeId("b0"): 1, NodeId("b1"): 1})
    assert hidden.site(held, NODES).racks == 2
    assert placement_on(NODES, held).racks == 1


def test_a_pass_is_shorter_by_the_ratio_and_what_synchronisation_adds_stays(kit: Any) -> None:
    """64 examples at 100 a second are 0.64 s, and 0.1 s of synchronisation come on top."""
    hardware = Hardware(
        speeds={"t4": 1.0, "a100": 3.0},
        measured_on="t4",
        ratios={"a100": {"toy": 4.0}},
        cross_rack_sync=2.5,
    )
    profile, batch = kit.toy(sync_s=0.1), np.array([64.0])

    def times(where: Site) -> list[float]:
        return [float(part[0]) for part in hardware.times_s(profile, where, batch)]

    assert times(site(a0=2)) == pytest.approx([0.64, 0.74])
    assert times(site(b0=2)) == pytest.approx([0.16, 0.26])
    assert times(site(a0=1, a2=1)) == pytest.approx([0.64, 0.89])


def test_a_model_without_a_ratio_is_as_fast_as_the_nominal_speeds_say() -> None:
    hardware = Hardware(
        speeds={"t4": 0.5, "a100": 3.0}, measured_on="t4", ratios={"a100": {"bert": 4.4}}
    )
    assert hardware.ratio("bert", "a100") == 4.4
    assert hardware.ratio("ncf", "a100") == 6.0
    assert hardware.ratio("bert", "t4") == 1.0
    assert Hardware(speeds={"t4": 0.5}).ratio("ncf", "t4") == 0.5, "measured at nominal speed 1"
    assert Hardware().ratio("ncf", "gpu") == 1.0


def test_a_ratio_of_no_profile_is_most_likely_misspelt() -> None:
    hardware = Hardware(measured_on="t4", ratios={"a100": {"bret": 4.4}})
    with pytest.raises(InvalidInputError, match=r"c.yaml: the ratio of 'bret' on a100"):
        hardware.check(["bert"], "c.yaml")
    hardware.check(["bret"], "c.yaml")


def test_a_fair_share_is_the_same_share_of_each_type(kit: Any, tmp_path: Path) -> None:
    """Four GPUs of 100 examples a second and twelve of 300: 250 on average, so 12 s on four.

    Eight GPUs are more than there are of the slower type, which then gives what its four give:
    (4 x 400 + 12 x 2,400) / 16 = 1,900 a second.
    """
    path = tmp_path / "mixed.yaml"
    path.write_text(
        "nodes: [{gpus: 4, gpu_type: t4}, {count: 3, gpus: 4, gpu_type: a100}]\n"
        "gpu_types: {a100: {speed: 3}}\ntruth: {measured_on: t4}"
    )
    cluster = parse_cluster(str(path))
    narrow, wide = (
        references(kit.workload(kit.job("a", rigid=False, gpus=gpus)), cluster)[0].exclusive_s
        for gpus in (4, 8)
    )
    assert narrow == pytest.approx(12.0)
    assert wide == pytest.approx(12_000 / 1_900)


def test_names_of_one_type_and_one_rack_change_no_decision(tmp_path: Path) -> None:
    """What a type is called, and how fast it is called, is of no matter where there is only one."""
    path = tmp_path / "named.yaml"
    path.write_text(
        "nodes: [{count: 2, gpus: 4, gpu_type: a100, rack: r7}]\n"
        "gpu_types: {a100: {speed: 7}}\ntruth: {measured_on: a100, cross_rack_sync: 5}"
    )
    jobs = generate("pollux-mix:jobs=12,hours=0.5", CATALOGUE, 1)
    logs = []
    for text in ("2x4", str(path)):
        cluster, log = parse_cluster(text), list[Event]()
        setup = Setup(workload=fitted(jobs, cluster), cluster=cluster)
        simulate(setup, make("pollux"), opening(setup, "pollux", {}), (), log.append)
        logs.append([event for event in log if isinstance(event, RoundDecided)])
    assert len(logs[0]) > 20
    assert logs[0] == logs[1]


def test_the_reference_of_a_run_is_the_same_whether_racks_are_told_or_not(
    kit: Any, tmp_path: Path
) -> None:
    """Past bug: without racks in the nodes the fair cluster had no slow links: rho was larger."""
    path = tmp_path / "racks.yaml"
    path.write_text(
        "nodes: [{gpus: 4, rack: r0}, {gpus: 4, rack: r1}]\ntruth: {cross_rack_sync: 9}"
    )
    told = parse_cluster(str(path))
    untold = replace(
        told,
        nodes=tuple(replace(node, rack=None) for node in told.nodes),
        hardware=replace(told.hardware, racks={node.node_id: node.rack for node in told.nodes}),
    )
    jobs = kit.workload(kit.job("a", gpus=8), profile=kit.toy(sync_s=0.1))
    assert references(jobs, told) == references(jobs, untold)
    assert references(jobs, told) != references(jobs, parse_cluster("2x4"))
