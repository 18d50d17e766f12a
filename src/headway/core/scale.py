"""The wanted size of the cluster as a value: how many nodes, which may go, and why."""

from dataclasses import dataclass
from enum import StrEnum

from headway.core.ids import NodeId


class ScaleCode(StrEnum):
    """Why the cluster has the size it has. Stable: scripts and dashboards read these."""

    KEPT = "SizeKept"
    UTILITY_HIGH = "UtilityHigh"  # its GPUs are used so well that more would be
    UTILITY_LOW = "UtilityLow"
    GAIN_HIGH = "ThroughputGain"  # of the next nodes; they are worth having
    GAIN_LOW = "NoThroughputGain"  # of the last nodes
    COST_LOWER = "CostLower"  # progress costs less, time and nodes together
    JOB_NEEDS = "JobNeedsNodes"  # a job waits that no smaller cluster can run
    OUT_OF_BOUNDS = "OutOfBounds"  # more or fewer nodes than the settings allow


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """The nodes that a policy wants, with the numbers that led to it."""

    nodes: int  # in all, those that are still to come included
    leaving: tuple[NodeId, ...] = ()  # empty from this decision on; they are given back
    code: ScaleCode = ScaleCode.KEPT
    numbers: tuple[tuple[str, float], ...] = ()
