"""Published rules for the size of a cluster: by goodput (Pollux), by throughput (Or et al.)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, final

from headway.core.errors import InvalidInputError
from headway.core.policy.base import Traits, contract_under
from headway.core.policy.probe import Probe
from headway.core.scale import ScaleCode, Scaling
from headway.core.types import JobView, Snapshot

MOST_NODES = 10_000
EVERY_EXAMPLE_COUNTS = 1e9  # noise scale, in initial batches, at which goodput is throughput


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What is there, what was asked for, and between what it may change."""

    present: int  # nodes
    asked: int  # those that are still to come included
    least: int
    most: int
    needed: int = 0  # by the job that needs most

    @property
    def settled(self) -> bool:
        """Whether all that was asked for has come and all that is to go has gone."""
        return self.present == self.asked

    def bounded(self, nodes: int) -> int:
        """The nearest size that is allowed."""
        return min(max(nodes, self.least), self.most)


class Scaler(Protocol):
    """Says how many nodes the cluster should have."""

    @property
    def min_nodes(self) -> int:
        """Fewer are never wanted."""
        ...

    @property
    def max_nodes(self) -> int:
        """More are never wanted."""
        ...

    @property
    def batch_per_gpu(self) -> bool:
        """Whether a job's batch grows with its GPUs, whatever the larger batch is worth."""
        ...

    @property
    def out_rounds(self) -> int:
        """Rounds in a row that must want more nodes before they are asked for."""
        ...

    @property
    def in_rounds(self) -> int:
        """Rounds in a row that must want fewer nodes before some are given back."""
        ...

    def view(self, snapshot: Snapshot) -> Snapshot:
        """The jobs as the rule sees them, and the policy inside too."""
        ...

    def want(self, probe: Probe, size: Size, gain: float) -> Scaling:
        """The wanted number of nodes; ``gain`` is the sum of speedups on those that are there."""
        ...


@final
@dataclass(frozen=True)
class GoodputScaler:
    """Keep UTILITY = sum of speedups / GPUs inside a band (Pollux, section 5.4.1).

    A speedup is the best goodput on what a job gets over that on one GPU, so the utility is the
    share of perfect scaling that the whole cluster reaches. Outside of [low, high] the cluster
    moves to the size whose utility is nearest to ``target``, found by binary search; a target of
    0 is the middle of the band. As the noise scale of a job grows, so does its goodput on many
    GPUs, hence the utility, hence the cluster.
    """

    min_nodes: int = 1
    max_nodes: int = 16
    low: float = 1 / 2
    high: float = 2 / 3
    target: float = 0.0
    out_rounds: int = 1
    in_rounds: int = 5

    def __post_init__(self) -> None:
        """Raise InvalidInputError for settings that contradict each other."""
        check_nodes("goodput", self)
        if not 0 <= self.low <= self.high <= 1:
            raise InvalidInputError(
                f"goodput.low and goodput.high must be 0 <= low <= high <= 1, "
                f"not {self.low:g} and {self.high:g}"
            )
        if not self.low <= self._target <= self.high:
            raise InvalidInputError(
                f"goodput.target must be from {self.low:g} to {self.high:g}, not {self.target:g}"
            )

    @property
    def batch_per_gpu(self) -> bool:
        """Agents choose their batch by goodput."""
        return False

    @property
    def _target(self) -> float:
        return self.target or (self.low + self.high) / 2

    def view(self, snapshot: Snapshot) -> Snapshot:
        """Jobs as they report."""
        return snapshot

    def want(self, probe: Probe, size: Size, gain: float) -> Scaling:
        """The same as before inside the band, else the size nearest to the target."""
        nodes, settled = size.asked, size.settled
        now = gain / probe.gpus(size.present) if settled else probe.utility(nodes)
        out, back = now > self.high and nodes < size.most, now < self.low and nodes > size.least
        if out or back or nodes != size.bounded(nodes):
            nodes = nearest(probe.utility, self._target, size)
        code = ScaleCode.UTILITY_HIGH if nodes > size.asked else ScaleCode.UTILITY_LOW
        numbers = {"utility": now}
        if nodes != size.asked:
            numbers["utility_after"] = probe.utility(nodes)
        return scaling(size, nodes, code, numbers)


@final
@dataclass(frozen=True)
class ThroughputScaler:
    """Scale out while throughput per added GPU stays high (Or et al., MLSys'20).

    It sees throughput alone: what a larger batch is worth does not count, and each GPU keeps the
    initial batch size. One node more is worth having where each of its GPUs adds at least
    ``least_gain`` of the throughput of one GPU; the last one is given back where it adds less.
    """

    min_nodes: int = 1
    max_nodes: int = 16
    least_gain: float = 1 / 2
    out_rounds: int = 1
    in_rounds: int = 5

    def __post_init__(self) -> None:
        """Raise InvalidInputError for settings beyond sense."""
        check_nodes("throughput", self)
        if not 0 <= self.least_gain <= 1:
            raise InvalidInputError(
                f"throughput.least_gain must be from 0 to 1, not {self.least_gain:g}"
            )

    @property
    def batch_per_gpu(self) -> bool:
        """The batch size is M0 times the GPUs."""
        return True

    def view(self, snapshot: Snapshot) -> Snapshot:
        """Jobs for which every example counts in full, with a batch of M0 on each GPU."""
        return replace(snapshot, jobs=tuple(map(_blind, snapshot.jobs)))

    def want(self, probe: Probe, size: Size, gain: float) -> Scaling:
        """A step out, a step in, or neither; none before the last one is done."""
        now = size.bounded(size.asked)
        if now != size.asked or not size.settled:
            return scaling(size, now, ScaleCode.KEPT, {})
        more, fewer = size.bounded(now + 1), size.bounded(now - 1)
        ahead, behind = _per_gpu(probe, now, more), _per_gpu(probe, fewer, now)
        numbers = {"gain_ahead": ahead, "gain_behind": behind}
        if more > now and ahead >= self.least_gain:
            return scaling(size, more, ScaleCode.GAIN_HIGH, numbers)
        if fewer < now and behind < self.least_gain:
            return scaling(size, fewer, ScaleCode.GAIN_LOW, numbers)
        return scaling(size, now, ScaleCode.KEPT, numbers)


def nearest(value: Callable[[int], float], target: float, size: Size) -> int:
    """The allowed size whose value, which falls as the size grows, is nearest to the target.

    Of two that are equally near the smaller one.
    """
    low, high = size.least, size.most
    tried = {low, high}
    while low + 1 < high:
        middle = (low + high) // 2
        tried.add(middle)
        if value(middle) < target:
            high = middle
        else:
            low = middle
    return min(sorted(tried), key=lambda nodes: round(abs(value(nodes) - target), 9))


def scaling(size: Size, nodes: int, code: ScaleCode, numbers: dict[str, float]) -> Scaling:
    """A wanted size with its reason: the one that was led to, or that bounds leave no choice."""
    if nodes == size.asked:
        code = ScaleCode.KEPT
    elif size.asked < size.needed:
        code = ScaleCode.JOB_NEEDS
    elif size.asked != size.bounded(size.asked):
        code = ScaleCode.OUT_OF_BOUNDS
    figures = {"nodes_before": float(size.asked), "nodes_after": float(nodes), **numbers}
    return Scaling(nodes=nodes, code=code, numbers=tuple(figures.items()))


def _per_gpu(probe: Probe, fewer: int, more: int) -> float:
    """Speedup that each GPU of the nodes between two sizes adds; 0 where there is none between."""
    if more <= fewer:
        return 0.0
    added = probe.gpus(more) - probe.gpus(fewer)
    return (probe.gain(more) - probe.gain(fewer)) / added


def _blind(job: JobView) -> JobView:
    keeps = Traits(adapts_batch_size=True, batch_per_gpu=True)
    batch = contract_under(keeps, job.spec.batch)
    report = job.report
    if report is not None:
        infinite = EVERY_EXAMPLE_COUNTS * batch.initial_batch_size
        report = replace(report, noise_scale=infinite)
    return replace(job, spec=replace(job.spec, batch=batch), report=report)


def check_nodes(name: str, scaler: Scaler) -> None:
    """Raise InvalidInputError for bounds and rounds that contradict each other."""
    if not 1 <= scaler.min_nodes <= scaler.max_nodes <= MOST_NODES:
        raise InvalidInputError(
            f"{name}.min_nodes and {name}.max_nodes must be 1 <= min <= max <= {MOST_NODES}, "
            f"not {scaler.min_nodes} and {scaler.max_nodes}"
        )
    for key in ("out_rounds", "in_rounds"):
        rounds: int = getattr(scaler, key)
        if rounds < 1:
            raise InvalidInputError(f"{name}.{key} must be at least 1, not {rounds}")
