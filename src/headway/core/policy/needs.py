"""What jobs need beside GPUs and what nodes have of it, as arrays in thousandths.

A resource counts only where a job asks for it and a node says how much it has.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headway.core.solve.beside import BEYOND, Beside
from headway.core.types import Int64, IntArray, Node, ReasonCode, widest
from headway.core.words import counted

PARTS = 1_000  # of a CPU, or of a GB


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Something that a node has beside GPUs."""

    of_node: str  # field of a node
    of_job: str  # field of a job, for each GPU
    unit: str  # as people say it, of one
    waits: ReasonCode  # of a job that waits for it


class Asks(Protocol):
    """Who asks for something beside each GPU."""

    @property
    def cpus_per_gpu(self) -> float:
        """0: not said."""
        ...

    @property
    def memory_gb_per_gpu(self) -> float:
        """0: not said."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """These needs by themselves, without a job."""

    cpus_per_gpu: float = 0.0
    memory_gb_per_gpu: float = 0.0


RESOURCES = (
    Resource(of_node="cpus", of_job="cpus_per_gpu", unit="CPU", waits=ReasonCode.NO_CPUS),
    Resource(
        of_node="memory_gb", of_job="memory_gb_per_gpu", unit="GB", waits=ReasonCode.NO_MEMORY
    ),
)


def counting(jobs: Sequence[Asks], nodes: Sequence[Node]) -> tuple[Resource, ...]:
    """The resources that some job asks for and some node has only so much of."""
    return tuple(
        one
        for one in RESOURCES
        if any(getattr(job, one.of_job) > 0 for job in jobs)
        and any(getattr(node, one.of_node) is not None for node in nodes)
    )


def beside(
    jobs: Sequence[Asks], nodes: Sequence[Node], resources: Sequence[Resource] = RESOURCES
) -> Beside:
    """Needs and room; what a job needs is rounded up, what a node has down."""
    each = np.array(
        [[getattr(job, one.of_job) for one in resources] for job in jobs], dtype=np.float64
    ).reshape(len(jobs), len(resources))
    room = [[_parts(getattr(node, one.of_node)) for one in resources] for node in nodes]
    return Beside(
        each=np.ceil(each * PARTS - 1e-6).astype(np.int64),
        room=np.array(room, dtype=np.int64).reshape(len(nodes), len(resources)),
    )


def room_for(job: Asks, nodes: Iterable[Node]) -> int:
    """The most GPUs of one type that a job could hold, had it the cluster for itself."""
    if not any(asked(job)):
        return widest(nodes)
    there = tuple(nodes)
    most: dict[str, int] = {}
    within = beside((job,), there).most()[0].tolist()
    for node, gpus in zip(there, within, strict=True):
        most[node.gpu_type] = most.get(node.gpu_type, 0) + min(node.gpus, gpus)
    return max(most.values(), default=0)


def asked(job: Asks) -> Iterator[tuple[str, float]]:
    """What a job asks for beside each GPU, by the name of the field."""
    for one in RESOURCES:
        amount = getattr(job, one.of_job)
        if amount > 0:
            yield one.of_job, amount


def in_words(job: Asks) -> str:
    """What a job asks for beside each GPU: 8 CPUs and 64 GB each."""
    units = {one.of_job: one.unit for one in RESOURCES}
    return " and ".join(counted(amount, units[name]) for name, amount in asked(job)) + " each"


def beyond_room(job: Asks, gpus: int, room: int) -> str:
    """What a job needs and the cluster lacks: 2 GPUs with 16 CPUs each and the cluster has ..."""
    return (
        f"{counted(gpus, 'GPU')} with {in_words(job)} and the cluster has room for {room} of these"
    )


def scarcest(job: Asks, nodes: Sequence[Node]) -> str:
    """The field that leaves a job fewest GPUs."""
    rooms = {name: room_for(Needs(**{name: amount}), nodes) for name, amount in asked(job)}
    return min(rooms, key=lambda name: rooms[name])


def summed(
    room: Int64[IntArray, "nodes resources"], kind: Int64[IntArray, " nodes"], kinds: int
) -> Int64[IntArray, "kinds resources"]:
    """What all nodes of each type have together."""
    total = np.zeros((kinds, room.shape[1]), dtype=np.int64)
    np.add.at(total, kind, room)
    return total


def _parts(amount: float | None) -> int:
    """What a node has, rounded down; without limit where it does not say."""
    return BEYOND if amount is None else min(int(amount * PARTS + 1e-6), BEYOND)
