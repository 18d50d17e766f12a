"""The last population of a search, by names, so that jobs and nodes may come and go."""

from dataclasses import dataclass, field

import numpy as np

from headway.core.ids import JobId, NodeId
from headway.core.policy.grid import Grid
from headway.core.types import Int64, IntArray


def _none() -> IntArray:
    return np.zeros((0, 0, 0), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Plans:
    """Placements of the jobs of one round."""

    jobs: tuple[JobId, ...] = ()
    nodes: tuple[NodeId, ...] = ()
    alloc: Int64[IntArray, "plans jobs nodes"] = field(default_factory=_none, compare=False)

    @classmethod
    def of(cls, grid: Grid, alloc: Int64[IntArray, "plans jobs nodes"]) -> "Plans":
        """What a search found for a grid."""
        return cls(
            tuple(job.spec.job_id for job in grid.jobs),
            tuple(node.node_id for node in grid.nodes),
            alloc,
        )

    def on(self, grid: Grid) -> Int64[IntArray, "plans jobs nodes"]:
        """The same for the jobs and nodes of now; who is new holds nothing."""
        now = np.zeros((len(self.alloc), len(grid.jobs), len(grid.nodes)), dtype=np.int64)
        rows = _matches([job.spec.job_id for job in grid.jobs], self.jobs)
        columns = _matches([node.node_id for node in grid.nodes], self.nodes)
        if len(rows) and len(columns):
            new, old = np.array(rows).T, np.array(columns).T
            now[:, new[0][:, None], old[0]] = self.alloc[:, new[1][:, None], old[1]]
        return now


def _matches(now: list[JobId] | list[NodeId], before: tuple[str, ...]) -> list[tuple[int, int]]:
    """Positions now and before of what was there then too."""
    at = {name: index for index, name in enumerate(before)}
    return [(index, at[name]) for index, name in enumerate(now) if name in at]
