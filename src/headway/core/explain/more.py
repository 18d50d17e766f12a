"""What more GPUs would be worth to a job that runs, by what it has reported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headway.core.ids import NodeId
from headway.core.model.goodput import JobModels, best
from headway.core.model.schedule import fixed_at
from headway.core.policy.base import Traits, contract_under
from headway.core.policy.needs import asked, beside, counting, in_words, room_for
from headway.core.policy.waiting import waiting
from headway.core.types import Allocation, JobView, Node, Snapshot, placement_on
from headway.core.words import counted, number

UNASKED = 1 << 40  # GPUs that no cluster has: so the answer is about one job alone


@dataclass(frozen=True, slots=True, kw_only=True)
class More:
    """How fast a job would be on more GPUs than it holds, if it had them."""

    gpus: int
    times: float  # goodput over that on what it holds, each at the best batch for it
    tried: bool  # whether it has ever held so many
    short: str = ""  # what there is too little of beside GPUs that are free

    def __str__(self) -> str:
        """A sentence without its end."""
        guess = "" if self.tried else ", where it was never tried"
        return (
            f"{counted(self.gpus, 'GPU')} would make it {self.times:.2f} times as fast by its "
            f"model{guess}{self.short and '; '}{self.short}"
        )


def more(job: JobView, now: Snapshot, traits: Traits) -> More | str:
    """What more would be worth; in a few words why there is no more; nothing where none is known.

    Of the sizes that it may hold, the largest that is no more than twice what it holds, for no
    policy doubles twice at once; else the next one.
    """
    held, spec = job.allocation, job.spec
    if not held or not traits.resizes or not spec.preemptible:
        return ""
    larger = [gpus for gpus in spec.gpus.allowed(spec.gpus.max_gpus) if gpus > held.gpus]
    if not larger:
        return f"It may hold no more than {held.gpus}" if spec.gpus.elastic else ""
    there = _alike(held, now.nodes)
    room = room_for(spec, there)
    larger = [gpus for gpus in larger if gpus <= room]
    if not larger:
        each = f" with {in_words(spec)}" if any(asked(spec)) else ""
        return f"No more{each} are to be had: the cluster has room for {room} of these"
    if job.report is None:
        return ""
    gpus = max([one for one in larger if one <= 2 * held.gpus] or larger[:1])
    nodes = {node.node_id: node for node in now.nodes}
    times = _times(job, nodes, _packed(job, there, gpus), traits)
    if times is None:
        return ""
    short = _short(job, now, gpus, there)
    return More(gpus=gpus, times=times, tried=gpus <= job.max_gpus_held, short=short)


def _alike(held: Allocation, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The nodes of the GPU type that is held."""
    on = {node_id for node_id, _ in held.per_node}
    types = {node.gpu_type for node in nodes if node.node_id in on}
    return tuple(node for node in nodes if node.gpu_type in types)


def _short(job: JobView, now: Snapshot, gpus: int, there: Sequence[Node]) -> str:
    """What is short where GPUs enough are free, its own among them, but not what goes with them."""
    row = [one.spec.job_id for one in now.jobs].index(job.spec.job_id)
    specs = [one.spec for one in now.jobs]
    alloc = np.array([[one.allocation.on(node.node_id) for node in there] for one in now.jobs])
    alloc[row] = 0
    need = np.where(np.arange(len(specs)) == row, gpus, UNASKED)
    capacity = np.array([node.gpus for node in there])
    resources = counting(specs, there)
    waits = waiting(
        alloc,
        need,
        capacity,
        np.ones((1, len(there)), dtype=np.bool_),
        resources,
        beside(specs, there, resources),
    ).get(row)
    if waits is None:
        return ""
    code, amounts = waits
    needed, free = amounts.values()
    unit = next(one.unit for one in resources if one.waits is code)
    return f"they would need {counted(needed, unit)}, and nodes with free GPUs have {number(free)}"


def _packed(job: JobView, there: Sequence[Node], gpus: int) -> Allocation:
    """So many GPUs on as few nodes as can be, were they all free."""
    within = beside((job.spec,), there).most()[0].tolist()
    fits = {node.node_id: min(node.gpus, most) for node, most in zip(there, within, strict=True)}
    taken: dict[NodeId, int] = {}
    for node_id, most in sorted(fits.items(), key=lambda one: (-one[1], one[0])):
        taken[node_id] = min(most, gpus - sum(taken.values()))
    return Allocation.of(taken)


def _times(
    job: JobView, nodes: Mapping[NodeId, Node], larger: Allocation, traits: Traits
) -> float | None:
    contract = contract_under(traits, job.spec.batch)
    if contract.adapts and not traits.adapts_batch_size:
        contract = fixed_at(contract, job.spec.requested_batch_size)
    places = [placement_on(nodes, one) for one in (job.allocation, larger)]
    kind = nodes[job.allocation.per_node[0][0]].gpu_type
    found = best(
        JobModels.of([(contract, job.report)], kind),
        [one.gpus for one in places],
        [one.locality for one in places],
        nodes=[one.nodes for one in places],
    )
    now_per_s, then_per_s = found.goodput_per_s[0].tolist()
    return then_per_s / now_per_s if now_per_s > 0 and then_per_s > 0 else None
