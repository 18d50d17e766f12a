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

    An hour on N nodes costs N node-hours, and ``job_hour`` more for each job, running or waiting.
    It buys G(N), the sum of the jobs' speedups. The size sought is that of the least
    (N + job_hour x jobs) / G(N). For one job this is the plan of somebody who knows the whole run
    beforehand: such a size in each epoch makes node-hours + job_hour x hours least, so that,
    restarts aside, no other plan takes fewer of both. All jobs count alike: of weights only ratios
    mean something, and the policy inside heeds them.
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
        """The cheapest size, if it saves enough; the same as before where no size buys anything."""
        now, worth_nodes = size.bounded(size.asked), self.job_hour * len(probe.seen.jobs)
        if (
            not probe.seen.jobs
            or size.least == size.most
            or self._full(probe, size, worth_nodes, gain=gain)
        ):
            return scaling(size, now, ScaleCode.KEPT, {})

        def cost(nodes: int) -> float:
            reached = probe.gain(nodes)
            return (nodes + worth_nodes) / reached if reached > 0 else math.inf

        nodes = descend(cost, now, size)
        if not cost(nodes) < (1 - self.least_saving) * cost(now):
            nodes = now
        numbers = {"cost": cost(now)} | ({"cost_after": cost(nodes)} if nodes != now else {})
        finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
        return scaling(size, nodes, ScaleCode.COST_LOWER, finite)

    def _full(self, probe: Probe, size: Size, worth_nodes: float, *, gain: float) -> bool:
        """Whether all nodes are there, and even perfect scaling on fewer would save too little.

        Then no size is asked about: on a crowded cluster each of them costs a long decision.
        """
        fewest = max(size.least, gain / max(node.gpus for node in probe.seen.nodes))
        saves = fewest + worth_nodes < (1 - self.least_saving) * (size.most + worth_nodes)
        return size.settled and size.present == size.most and not saves


def descend(cost: Callable[[int], float], start: int, size: Size) -> int:
    """An allowed size such that none 1, a quarter or a half of it away, or twice it, costs less.

    Where each node more adds less than the one before, costs fall, then rise, and this is the
    cheapest of all. A start that buys nothing says nothing of which way to go; then it is the
    largest size.
    """
    best = start if math.isfinite(cost(start)) else size.most
    while True:
        steps = {1, best // 4, best // 2}
        near = {to for step in steps for to in (best - step, best + step)} | {2 * best}
        allowed = sorted(map(size.bounded, near))
        cheaper = [nodes for nodes in allowed if cost(nodes) < cost(best)]  # none is NaN
        if not cheaper:
            return best
        best = min(cheaper, key=cost)
