"""Clusters from text and from YAML, and what is said about bad ones."""

from pathlib import Path

import pytest

from headway.core.control.events import NodeJoined, NodeLost
from headway.core.errors import InvalidInputError
from headway.sim.cluster import parse_cluster


def test_nodes_times_gpus() -> None:
    cluster = parse_cluster("16x4")
    assert (len(cluster.nodes), cluster.gpus, cluster.name) == (16, 64, "16x4")
    names = [node.node_id for node in cluster.nodes]
    assert names == sorted(names), "as text, too"


def test_groups_and_changes_from_yaml(tmp_path: Path) -> None:
    path = tmp_path / "mixed.yaml"
    path.write_text(
        "nodes:\n- {count: 2, gpus: 4, gpu_type: t4, rack: r1}\n- {gpus: 8}\n"
        "changes:\n- {at_s: 90, joined: node-1}\n- {at_s: 30.5, lost: node-1}\n"
    )
    cluster = parse_cluster(str(path))
    assert [(n.node_id, n.gpus, n.gpu_type, n.rack) for n in cluster.nodes] == [
        ("node-0", 4, "t4", "r1"),
        ("node-1", 4, "t4", "r1"),
        ("node-2", 8, "gpu", None),
    ]
    assert (cluster.name, cluster.gpus) == ("mixed", 16)
    lost, joined = cluster.changes
    assert isinstance(lost, NodeLost)
    assert (lost.at_s, lost.node_id) == (30.5, "node-1")
    assert isinstance(joined, NodeJoined)
    assert joined.node == cluster.nodes[1]


@pytest.mark.parametrize("text", ["0x4", "4x0", "x4", "4x", "-1x4", "4x4x4", "no/such.yaml", ""])
def test_text_that_is_no_cluster(text: str) -> None:
    with pytest.raises(InvalidInputError, match="--cluster"):
        parse_cluster(text)


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("nodes: [", "is not YAML"),
        ("- 1", "must be a mapping"),
        ("nodes: []", "nodes is missing"),
        ("nodes: 3", "nodes must be a list"),
        ("nodes: [{gpus: 0}]", r"nodes\[0\]: gpus must be a whole number from 1"),
        ("nodes: [{gpus: 4, disks: 2}]", "unknown field 'disks'"),
        ("nodes: [{count: true, gpus: 4}]", "count must be a whole number"),
        ("nodes: [{gpus: 4}]\nchanges: [{at_s: 0, lost: node-0}]", "at_s must be seconds"),
        ("nodes: [{gpus: 4}]\nchanges: [{at_s: 5}]", "either lost or joined"),
        ("nodes: [{gpus: 4}]\nchanges: [{at_s: 5, lost: node-9}]", "no such node"),
    ],
)
def test_bad_yaml_is_named_with_its_place(tmp_path: Path, yaml: str, said: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(yaml)
    with pytest.raises(InvalidInputError, match=said):
        parse_cluster(str(path))


def test_cpus_and_memory_of_nodes(tmp_path: Path) -> None:
    path = tmp_path / "with.yaml"
    path.write_text("nodes:\n- {gpus: 4, cpus: 32, memory_gb: 256.5}\n- {gpus: 4}\n")
    first, second = parse_cluster(str(path)).nodes
    assert (first.cpus, first.memory_gb) == (32.0, 256.5)
    assert (second.cpus, second.memory_gb) == (None, None)


@pytest.mark.parametrize("field", ["cpus: 0", "memory_gb: -1", "cpus: many", "memory_gb: .inf"])
def test_an_amount_that_is_none_is_refused_by_name(tmp_path: Path, field: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(f"nodes:\n- {{gpus: 4, {field}}}\n")
    name = field.split(":")[0]
    with pytest.raises(InvalidInputError, match=rf"nodes\[0\]: {name} must be a number"):
        parse_cluster(str(path))
