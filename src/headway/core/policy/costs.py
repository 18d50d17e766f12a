"""The size of a cluster at which progress costs least: nodes and the time of jobs together."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from headway.core.errors import InvalidInputError
from headway.core.policy.probe import Probe
from headway.core.policy.scalers import MOST_NODES, Size, check_nodes, scaling
from headway.core.scale import ScaleCode, Scaling
from headway.core.types import Snapshot


@final
@dataclass(frozen=True)
class CostScaler:
    """The size at which progress costs least, where time costs as well as nodes.

    So many nodes N cost N node-hours an hour and each job's time ``job_hour`` more; what they buy
    is the sum of speedups G(N). The size sought is the least (N + job_hour x jobs) / G(N). For one
    job that is the plan that nobody beats who knows the whole run beforehand: among those that
    take as long, the least node-hours choose each epoch's size by such a price (Lagrange). A band
    of utility does not: it stays small for as long as that pays by GPU, whatever is lost by time.
    """

    min_nodes: int = 1
    max_nodes: int = 16
    job_hour: float = 16.0  # node-hours that an hour less of one job is worth
    least_saving: float = 0.03  # share of the cost that another size must save
    out_rounds: int = 1
    in_rounds: int = 5

    def __post_init__(self) -> None:
        """Raise InvalidInputError for settings beyond sense."""
        check_nodes("cost", self)
        if not 0 <= self.job_hour <= MOST_NODES:
            raise InvalidInputError(
                f"cost.job_hour must be from 0 to {MOST_NODES}, not {self.job_hour:g}"
            )
        if not 0 <= self.least_saving < 1:
            raise InvalidInputError(
                f"cost.least_saving must be at least 0 and below 1, not {self.least_saving:g}"
            )

    @property
    def batch_per_gpu(self) -> bool:
        """Agents choose their batch by goodput."""
        return False

    def view(self, snapshot: Snapshot) -> Snapshot:
        """Jobs as they report."""
        return snapshot

    def want(self, probe: Probe, size: Size, gain: float) -> Scaling:
        """The cheapest size, if it saves enough; the same as before while no job makes progress."""
        now, time = size.bounded(size.asked), self.job_hour * len(probe.seen.jobs)

        def cost(nodes: int) -> float:
            reached = probe.gain(nodes)
            return (nodes + time) / reached if reached > 0 else math.inf

        if not probe.seen.jobs:
            return scaling(size, now, ScaleCode.KEPT, {})
        nodes = descend(cost, now, size)
        before, after = cost(now), cost(nodes)
        if not after < (1 - self.least_saving) * before:
            nodes = now
        numbers = {"cost": before, "cost_after": after} if math.isfinite(after) else {}
        return scaling(size, nodes, ScaleCode.COST_LOWER, numbers)


def descend(cost: Callable[[int], float], start: int, size: Size) -> int:
    """An allowed size than which none that is one node, a quarter, a half away costs less.

    Costs fall and then rise with the size as long as each node more adds less, so that this is the
    cheapest of all.
    """
    best = start
    while True:
        steps = {1, best // 4, best // 2}
        near = {size.bounded(to) for step in steps for to in (best - step, best + step)}
        near |= {size.bounded(2 * best), best}
        cheapest = min(sorted(near), key=cost)
        if not cost(cheapest) < cost(best):
            return best
        best = cheapest
