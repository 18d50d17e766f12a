"""The cluster of a simulated run: ``16x4``, or a YAML file with node groups and what befalls them.

::

    nodes:
      - {count: 16, gpus: 4, gpu_type: t4, rack: r1}
      - {count: 2, gpus: 8, gpu_type: a100, cpus: 96, memory_gb: 768}
    gpu_types:                     # optional: what everybody is told of them
      a100: {speed: 2.5}
    truth:                         # optional: how jobs really behave, see ``sim.hardware_file``
      measured_on: t4
    changes:                       # optional
      - {at_s: 3600, lost: node-03}
      - {at_s: 7200, joined: node-03}
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.core.control.events import NodeJoined, NodeLost
from headway.core.errors import InvalidInputError
from headway.core.ids import NodeId
from headway.core.policy.probe import usual
from headway.core.types import Node, total_gpus
from headway.sim.fields import count, listed, mapping, named, number, read_yaml, shown, text
from headway.sim.hardware import Hardware
from headway.sim.hardware_file import MOST_SPEED, read_truth

MAX_NODES = 10_000
MAX_GPUS = 4096  # of a node: policies keep a column for each
MOST_S = 1e12
MOST_BESIDE = 1e6  # CPUs or GB of a node
UNNAMED = Node(node_id=NodeId("any"), gpus=1).gpu_type


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes that are there from the start, and those that come and go later."""

    name: str
    nodes: tuple[Node, ...]
    changes: tuple[NodeJoined | NodeLost, ...] = ()
    hardware: Hardware = field(default_factory=Hardware)  # what no policy is told

    @property
    def gpus(self) -> int:
        return total_gpus(self.nodes)

    def grown(self, most_nodes: int) -> tuple[Node, ...]:
        """Its nodes once a policy has scaled it to so many; those added are of the usual kind."""
        more = max(most_nodes - len(self.nodes), 0)
        return (*self.nodes, *[usual(self.nodes)] * more)


def parse_cluster(name: str) -> Cluster:
    """A cluster from ``NODESxGPUS`` or from the path of a YAML file.

    Raises:
        InvalidInputError: neither, or a file that cannot be used.
    """
    simple = re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9})", name)
    if simple:
        nodes, gpus = int(simple[1]), int(simple[2])
        if not (1 <= nodes <= MAX_NODES and 1 <= gpus <= MAX_GPUS):
            raise InvalidInputError(
                f"--cluster {name} needs 1 to {MAX_NODES} nodes and 1 to {MAX_GPUS} GPUs on each"
            )
        return Cluster(name=name, nodes=_named([(nodes, {"gpus": gpus})]))
    path = Path(name)
    try:
        if not path.is_file():
            raise InvalidInputError(
                f"--cluster {name!r} is neither NODESxGPUS, as in 16x4, nor a file"
            )
    except OSError as error:
        raise InvalidInputError(f"--cluster {name[:80]}: {error.strerror}") from None
    return _from_yaml(path, read_yaml(path, str(path)))


def _from_yaml(path: Path, found: object) -> Cluster:
    fields = mapping(found, {"nodes", "gpu_types", "truth", "changes"}, str(path))
    groups = listed(fields.get("nodes") or [], f"{path}: nodes")
    if not groups:
        raise InvalidInputError(f"{path}: nodes is missing; list at least one group of nodes")
    read = [_group(group, f"{path}: nodes[{at}]") for at, group in enumerate(groups)]
    if sum(times for times, _ in read) > MAX_NODES:
        raise InvalidInputError(f"{path}: nodes are more than {MAX_NODES}; lower a count")
    speeds = _speeds(fields.get("gpu_types") or {}, read, f"{path}: gpu_types")
    nodes = _named([(times, group | _speed(group, speeds)) for times, group in read])
    by_id = {node.node_id: node for node in nodes}
    changes = [
        _change(change, by_id, f"{path}: changes[{at}]")
        for at, change in enumerate(listed(fields.get("changes") or [], f"{path}: changes"))
    ]
    changes.sort(key=lambda change: change.at_s)
    types = {node.gpu_type: node.speed for node in nodes}
    hardware = read_truth(fields.get("truth") or {}, types, path)
    return Cluster(name=path.stem, nodes=nodes, changes=tuple(changes), hardware=hardware)


def _group(found: object, where: str) -> tuple[int, dict[str, Any]]:
    fields = mapping(found, {"count", "gpus", "gpu_type", "rack", "cpus", "memory_gb"}, where)
    group: dict[str, Any] = {"gpus": count(fields.get("gpus"), f"{where}: gpus", MAX_GPUS)}
    for name in ("gpu_type", "rack"):
        if name in fields:
            group[name] = text(fields[name], f"{where}: {name}")
    for name in ("cpus", "memory_gb"):
        if name in fields:
            group[name] = number(fields[name], f"{where}: {name}", least=0.001, most=MOST_BESIDE)
    return count(fields.get("count", 1), f"{where}: count", MAX_NODES), group


def _speeds(
    found: object, groups: Sequence[tuple[int, Mapping[str, Any]]], where: str
) -> Mapping[str, float]:
    """The nominal speed of each GPU type that has one."""
    there = {group.get("gpu_type", UNNAMED) for _, group in groups}
    speeds = {}
    for name, each in named(found, where, "GPU type").items():
        if name not in there:
            raise InvalidInputError(
                f"{where}: no node has GPUs of type {name!r}; there are {', '.join(sorted(there))}"
            )
        fields = mapping(each, {"speed"}, f"{where}.{name}")
        speeds[name] = number(
            fields.get("speed"), f"{where}.{name}.speed", least=1 / MOST_SPEED, most=MOST_SPEED
        )
    return speeds


def _speed(group: Mapping[str, Any], speeds: Mapping[str, float]) -> dict[str, float]:
    gpu_type = group.get("gpu_type", UNNAMED)
    return {"speed": speeds[gpu_type]} if gpu_type in speeds else {}


def _named(groups: Sequence[tuple[int, Mapping[str, Any]]]) -> tuple[Node, ...]:
    """Numbered through, with as many digits as it takes to sort them as text."""
    total = sum(times for times, _ in groups)
    digits = len(str(total - 1))
    each = [fields for times, fields in groups for _ in range(times)]
    return tuple(
        Node(node_id=NodeId(f"node-{number:0{digits}}"), **fields)
        for number, fields in enumerate(each)
    )


def _change(found: object, nodes: Mapping[NodeId, Node], where: str) -> NodeJoined | NodeLost:
    fields = mapping(found, {"at_s", "lost", "joined"}, where)
    at_s = fields.get("at_s")
    if isinstance(at_s, bool) or not isinstance(at_s, int | float) or not 0 < at_s <= MOST_S:
        raise InvalidInputError(f"{where}: at_s must be seconds after the start, not {shown(at_s)}")
    if ("lost" in fields) == ("joined" in fields):
        raise InvalidInputError(f"{where}: name a node as either lost or joined")
    node_id = text(fields.get("lost", fields.get("joined")), f"{where}: the node")
    node = nodes.get(NodeId(node_id))
    if node is None:
        raise InvalidInputError(f"{where}: no such node; they are {min(nodes)} to {max(nodes)}")
    if "lost" in fields:
        return NodeLost(at_s=float(at_s), node_id=node.node_id)
    return NodeJoined(at_s=float(at_s), node=node)
