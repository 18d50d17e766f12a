"""How a job changes its batch size by itself: what its owner declares, and what it has run so far.

A *regime* is a stretch of training at one batch size (Shockwave's R = (c, f)): its configuration
is known from the job's rule, its length is not, unless the owner declares that too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

STATIC = "static"  # the name of the rule of a job that keeps its batch size
DECLARED = "declared"  # and of one whose owner says when each batch size begins


class Unit(StrEnum):
    """What the beginnings of a declared schedule are counted in."""

    EPOCHS = "epochs"
    SAMPLES = "samples"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """What an owner can say before training starts; never how long an adaptive regime will be."""

    rule: str  # a name that ``core.predict.rules`` knows: static, accordion, gns, declared, ...
    model: str  # what is trained: jobs of one model and rule resemble each other
    configurations: tuple[int, ...]  # global batch sizes that the rule can reach, in order
    epochs: float  # to the end; the last one may be a part
    samples_per_epoch: int  # read by all workers together
    starts: tuple[float, ...] = ()  # epoch in which each configuration begins, where declared


def declared(
    schedule: Sequence[tuple[float, int]],
    *,
    unit: Unit,
    model: str,
    epochs: float,
    samples_per_epoch: int,
    tokens_per_sample: int = 1,
) -> Adaptation:
    """That of a schedule of (first, batch size): from so many epochs, samples or tokens on."""
    per_epoch = {
        Unit.EPOCHS: 1,
        Unit.SAMPLES: samples_per_epoch,
        Unit.TOKENS: samples_per_epoch * tokens_per_sample,
    }[unit]
    return Adaptation(
        rule=DECLARED,
        model=model,
        configurations=tuple(size for _, size in schedule),
        epochs=epochs,
        samples_per_epoch=samples_per_epoch,
        starts=tuple(first / per_epoch for first, _ in schedule),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """A stretch of training that has begun, as the job's agent reports it."""

    batch_size: int
    began_epoch: float
    epoch_s: float | None = None  # seconds that an epoch takes in it; None: not measured
    gpus: int = 0  # on so many it was measured
