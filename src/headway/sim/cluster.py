"""The cluster of a simulated run: ``16x4``, or a YAML file with node groups and what befalls them.

::

    nodes:
      - {count: 16, gpus: 4, gpu_type: t4, rack: r1}
    changes:                       # optional
      - {at_s: 3600, lost: node-03}
      - {at_s: 7200, joined: node-03}
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from headway.core.control.events import NodeJoined, NodeLost
from headway.core.errors import InvalidInputError
from headway.core.ids import NodeId
from headway.core.policy.probe import usual
from headway.core.types import Node, total_gpus

MAX_NODES = 10_000
MAX_GPUS = 4096  # of a node: policies keep a column for each
MOST_S = 1e12


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes that are there from the start, and those that come and go later."""

    name: str
    nodes: tuple[Node, ...]
    changes: tuple[NodeJoined | NodeLost, ...] = ()

    @property
    def gpus(self) -> int:
        return total_gpus(self.nodes)

    def grown(self, most_nodes: int) -> tuple[Node, ...]:
        """Its nodes once a policy has scaled it to so many; those added are of the usual kind."""
        more = max(most_nodes - len(self.nodes), 0)
        return (*self.nodes, *[usual(self.nodes)] * more)


def parse_cluster(text: str) -> Cluster:
    """A cluster from ``NODESxGPUS`` or from the path of a YAML file.

    Raises:
        InvalidInputError: neither, or a file that cannot be used.
    """
    simple = re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9})", text)
    if simple:
        nodes, gpus = int(simple[1]), int(simple[2])
        if not (1 <= nodes <= MAX_NODES and 1 <= gpus <= MAX_GPUS):
            raise InvalidInputError(
                f"--cluster {text} needs 1 to {MAX_NODES} nodes and 1 to {MAX_GPUS} GPUs on each"
            )
        return Cluster(name=text, nodes=_named([(nodes, {"gpus": gpus})]))
    path = Path(text)
    try:
        if not path.is_file():
            raise InvalidInputError(
                f"--cluster {text!r} is neither NODESxGPUS, as in 16x4, nor a file"
            )
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"--cluster {text[:80]}: {error.strerror}") from None
    except RecursionError:
        raise InvalidInputError(f"{path} is nested too deep; list nodes and changes") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: not UTF-8, or a 13th month
        raise InvalidInputError(f"{path} is not YAML: {error}") from None
    return _from_yaml(path, found)


def _from_yaml(path: Path, found: object) -> Cluster:
    fields = _mapping(found, {"nodes", "changes"}, str(path))
    groups = _list(fields.get("nodes"), f"{path}: nodes")
    if not groups:
        raise InvalidInputError(f"{path}: nodes is missing; list at least one group of nodes")
    read = [_group(group, f"{path}: nodes[{at}]") for at, group in enumerate(groups)]
    if sum(count for count, _ in read) > MAX_NODES:
        raise InvalidInputError(f"{path}: nodes are more than {MAX_NODES}; lower a count")
    nodes = _named(read)
    by_id = {node.node_id: node for node in nodes}
    changes = [
        _change(change, by_id, f"{path}: changes[{at}]")
        for at, change in enumerate(_list(fields.get("changes") or [], f"{path}: changes"))
    ]
    changes.sort(key=lambda change: change.at_s)
    return Cluster(name=path.stem, nodes=nodes, changes=tuple(changes))


def _group(found: object, where: str) -> tuple[int, dict[str, Any]]:
    fields = _mapping(found, {"count", "gpus", "gpu_type", "rack"}, where)
    group: dict[str, Any] = {"gpus": _count(fields.get("gpus"), f"{where}: gpus", MAX_GPUS)}
    for name in ("gpu_type", "rack"):
        if name in fields:
            group[name] = str(fields[name])
    return _count(fields.get("count", 1), f"{where}: count", MAX_NODES), group


def _named(groups: Sequence[tuple[int, Mapping[str, Any]]]) -> tuple[Node, ...]:
    """Numbered through, with as many digits as it takes to sort them as text."""
    total = sum(count for count, _ in groups)
    digits = len(str(total - 1))
    each = [fields for count, fields in groups for _ in range(count)]
    return tuple(
        Node(node_id=NodeId(f"node-{number:0{digits}}"), **fields)
        for number, fields in enumerate(each)
    )


def _change(found: object, nodes: Mapping[NodeId, Node], where: str) -> NodeJoined | NodeLost:
    fields = _mapping(found, {"at_s", "lost", "joined"}, where)
    at_s = fields.get("at_s")
    if isinstance(at_s, bool) or not isinstance(at_s, int | float) or not 0 < at_s <= MOST_S:
        raise InvalidInputError(f"{where}: at_s must be seconds after the start, not {at_s!r}")
    if ("lost" in fields) == ("joined" in fields):
        raise InvalidInputError(f"{where}: name a node as either lost or joined")
    node = nodes.get(NodeId(str(fields.get("lost", fields.get("joined")))))
    if node is None:
        raise InvalidInputError(f"{where}: no such node; they are {min(nodes)} to {max(nodes)}")
    if "lost" in fields:
        return NodeLost(at_s=float(at_s), node_id=node.node_id)
    return NodeJoined(at_s=float(at_s), node=node)


def _mapping(found: object, known: set[str], where: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise InvalidInputError(f"{where} must be a mapping with {', '.join(sorted(known))}")
    unknown = sorted(str(key) for key in found if key not in known)
    if unknown:
        raise InvalidInputError(
            f"{where}: unknown field {unknown[0]!r}; known are {', '.join(sorted(known))}"
        )
    return found


def _list(found: object, where: str) -> Sequence[object]:
    if not isinstance(found, list):
        raise InvalidInputError(f"{where} must be a list")
    return found


def _count(found: object, where: str, most: int) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= most:
        raise InvalidInputError(f"{where} must be a whole number from 1 to {most}, not {found!r}")
    return found
