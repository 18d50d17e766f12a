"""This machine as a node: its GPUs, and the CPUs and memory that this process may use."""

import os
import socket
from contextlib import suppress
from pathlib import Path

from headway.core.ids import NodeId
from headway.core.types import Node

GB = 1e9  # bytes
LIMIT = Path("/sys/fs/cgroup/memory.max")  # of the container that we are in, if we are in one


def this_node(gpus: int, gpu_type: str) -> Node:
    """This machine, with so many slots."""
    return Node(
        node_id=NodeId(socket.gethostname()),
        gpus=gpus,
        gpu_type=gpu_type,
        cpus=cpus(),
        memory_gb=memory_gb(),
    )


def cpus() -> float:
    """As many as the operating system lets this process run on."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return float(len(os.sched_getaffinity(0)))
    return float(os.cpu_count() or 1)


def memory_gb(limit: Path = LIMIT) -> float | None:
    """All of it, or what a container is given; None where the system does not say."""
    found: list[int] = []
    with suppress(ValueError, OSError):  # a name that the system does not know
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ValueError, OSError):  # no such file, or "max"
        found.append(int(limit.read_text()))
    return round(min(found) / GB, 3) if found else None
