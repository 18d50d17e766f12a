"""Dominant resource fairness: the next job is of the tenant who holds least (NSDI'11)."""

from dataclasses import dataclass
from typing import final

import numpy as np

from headway.core.policy.admission import admit, place, requested_gpus
from headway.core.policy.base import Traits
from headway.core.policy.grid import Grid
from headway.core.types import Decision, Int64, IntArray, Snapshot


@final
@dataclass(frozen=True)
class Drf:
    """Progressive filling: of the tenant with the least share over weight the oldest job is next.

    GPUs are the only resource that jobs ask for here, so they are everybody's dominant one. A
    tenant's weight is the greatest of its jobs. Within a tenant who runs goes on first, then by
    submission; a job that does not fit is passed over.
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
        alloc = place(grid, admit(grid, admitted, need), need)
        share = np.array([shares[job.spec.tenant] for job in grid.jobs])
        numbers = {"gpus_wanted": need.astype(np.float64), "tenant_share": share}
        return grid.decision(alloc, numbers=numbers), None


def _filled(grid: Grid, need: Int64[IntArray, " jobs"]) -> tuple[list[int], dict[str, float]]:
    """Rows in the order in which they are admitted, and the share of each tenant then."""
    gpus = int(grid.capacity.sum())
    queues: dict[str, list[int]] = {}
    weights: dict[str, float] = {}
    for row in np.lexsort((np.arange(len(need)), ~grid.running, ~grid.pinned)).tolist():
        spec = grid.jobs[row].spec
        queues.setdefault(spec.tenant, []).append(row)
        weights[spec.tenant] = max(weights.get(spec.tenant, 0.0), spec.weight)
    admitted = [int(row) for row in np.flatnonzero(grid.pinned)]
    held = dict.fromkeys(queues, 0)
    for row in admitted:
        tenant = grid.jobs[row].spec.tenant
        queues[tenant].remove(row)
        held[tenant] += int(need[row])
    left = gpus - sum(held.values())
    while True:
        next_up = {
            tenant: row
            for tenant, rows in queues.items()
            if (row := next((row for row in rows if need[row] <= left), None)) is not None
        }
        if not next_up:
            break
        tenant = min(next_up, key=lambda name: (held[name] / weights[name], name))
        row = next_up[tenant]
        queues[tenant].remove(row)
        admitted.append(row)
        held[tenant] += int(need[row])
        left -= int(need[row])
    return admitted, {tenant: count / max(gpus, 1) for tenant, count in held.items()}
