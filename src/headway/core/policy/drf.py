"""Dominant resource fairness: the next job is of the tenant who holds least (NSDI'11)."""

from dataclasses import dataclass
from typing import final

import numpy as np

from headway.core.policy.admission import requested_gpus
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.policy.seating import seat
from headway.core.types import Decision, Int64, IntArray, Snapshot


@final
@dataclass(frozen=True)
class Drf:
    """Progressive filling: of the tenant with the least share over weight the oldest job is next.

    A tenant's share is that of its dominant resource, the one of which it has the greatest part of
    the cluster: GPUs, CPUs or memory; GPUs where jobs ask for nothing else. Its weight is the
    greatest of its jobs. Within a tenant who runs goes on first, then by submission; a job that
    does not fit is passed over.
    """

    @property
    def traits(self) -> Traits:
        """What this policy can do."""
        return Traits()

    def start(self) -> None:
        """Nothing to remember."""

    def decide(
        self, snapshot: Snapshot, memory: None, rng: np.random.Generator
    ) -> tuple[Decision, None]:
        """Fill the cluster job by job."""
        grid = Grid.of(snapshot, at_requested_size=True)
        need = requested_gpus(grid)
        admitted, shares = _filled(grid, need)
        alloc = seat(grid, admitted, need)
        share = np.array([shares[job.spec.tenant] for job in grid.jobs])
        numbers = {"gpus_wanted": need.astype(np.float64), "tenant_share": share}
        return grid.decision(alloc, numbers=numbers), None


def _filled(grid: Grid, need: Int64[IntArray, " jobs"]) -> tuple[list[int], dict[str, float]]:
    """Rows in the order in which they are admitted, and the share of each tenant then.

    Where CPUs or memory count, those that do not fit the cluster's sum follow: another one that
    does may find no node.
    """
    queues, weights = _queues(grid, need)
    wants = np.column_stack([need, need[:, None] * grid.beside.each])
    whole = np.array([grid.capacity.sum(), *grid.beside.room.sum(axis=0)], dtype=np.int64)
    admitted = [int(row) for row in np.flatnonzero(grid.pinned)]
    held = {tenant: np.zeros_like(whole) for tenant in queues}
    for pinned in admitted:
        tenant = grid.jobs[pinned].spec.tenant
        queues[tenant].remove(pinned)
        held[tenant] += wants[pinned]
    left = whole - sum(held.values())
    while True:
        next_up = {
            tenant: row
            for tenant, rows in queues.items()
            if (row := next((row for row in rows if (wants[row] <= left).all()), None)) is not None
        }
        if not next_up:
            break
        tenant = min(next_up, key=lambda name: (_dominant(held[name], whole) / weights[name], name))
        row = next_up[tenant]
        queues[tenant].remove(row)
        admitted.append(row)
        held[tenant] += wants[row]
        left -= wants[row]
    if grid.beside:
        admitted += sorted(row for rows in queues.values() for row in rows)
    gpus = max(int(whole[0]), 1)
    return admitted, {name: _dominant(have, whole) / gpus for name, have in held.items()}


def _queues(
    grid: Grid, need: Int64[IntArray, " jobs"]
) -> tuple[dict[str, list[int]], dict[str, float]]:
    """Each tenant's rows in its order, and its weight."""
    queues: dict[str, list[int]] = {}
    weights: dict[str, float] = {}
    for row in np.lexsort((np.arange(len(need)), ~grid.running, ~grid.pinned)).tolist():
        spec = grid.jobs[row].spec
        queues.setdefault(spec.tenant, []).append(row)
        weights[spec.tenant] = max(weights.get(spec.tenant, 0.0), spec.weight)
    return queues, weights


def _dominant(held: Int64[IntArray, " resources"], whole: Int64[IntArray, " resources"]) -> float:
    """The greatest share of a resource, as so many of the cluster's GPUs."""
    return float((held / np.maximum(whole, 1)).max() * whole[0]) if len(held) > 1 else int(held[0])
