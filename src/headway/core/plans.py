"""How a job changes its batch size by itself: what its owner declares, and what it has run so far.

A *regime* is a stretch of training at one batch size (Shockwave's R = (c, f)): its configuration
is known from the job's rule, its length is not, unless the owner declares that too.
"""

from dataclasses import dataclass

STATIC = "static"  # the name of the rule of a job that keeps its batch size


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """What an owner can say before training starts; never how long an adaptive regime will be."""

    rule: str  # a name that ``core.predict.rules`` knows: static, accordion, gns, declared, ...
    model: str  # what is trained: jobs of one model and rule resemble each other
    configurations: tuple[int, ...]  # global batch sizes that the rule can reach, in order
    epochs: float  # to the end; the last one may be a part
    samples_per_epoch: int  # read by all workers together
    starts: tuple[float, ...] = ()  # epoch in which each configuration begins, where declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """A stretch of training that has begun, as the job's agent reports it."""

    batch_size: int
    began_epoch: float
    epoch_s: float | None = None  # seconds that an epoch takes in it; None: not measured
    gpus: int = 0  # on so many it was measured
