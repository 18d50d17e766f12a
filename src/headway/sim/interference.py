"""Who is slowed down by whom: jobs that span nodes and share one, as published with Pollux."""

from collections.abc import Mapping

from headway.core.ids import JobId, NodeId
from headway.core.types import Allocation


def disturbed(allocations: Mapping[JobId, Allocation]) -> frozenset[JobId]:
    """Jobs on several nodes of which at least one carries another job on several nodes.

    Each of them makes a given share less progress (Pollux, section 5.3.2, and its simulator's
    ``interference``). That hidden contention is in no step time that an agent measures there, and
    so it is in none here.
    """
    spanning: dict[NodeId, list[JobId]] = {}
    for job_id, allocation in allocations.items():
        if len(allocation.per_node) > 1:
            for node_id, _ in allocation.per_node:
                spanning.setdefault(node_id, []).append(job_id)
    return frozenset(
        job_id for sharing in spanning.values() if len(sharing) > 1 for job_id in sharing
    )
