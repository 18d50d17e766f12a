"""The records of the decision log: what a turn of the batch means, in numbers."""

import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from torch import Tensor
from torch.optim import Optimizer

from headway.agent.job import MisuseError
from headway.agent.plan import Split
from headway.agent.steering import Course, Steering, Turn
from headway.core.model.lr import LearningRateScale, LrRule
from headway.core.types import BatchChange, ChangeCode


class Place(Protocol):
    """Where in the training it happens."""

    samples: int
    epoch: int


def record(
    turn: Turn,
    old: Split,
    at: Place,
    *,
    steering: Steering,
    optimizer: Optimizer | None,
    noise_scale_error: float | None,
    measured_per_s: float | None,
    seed: int | None,
) -> BatchChange:
    """The record of a turn that was just taken."""
    split, rule = turn.course.split, steering.rule
    scale = steering.scale(split.batch_size)
    group = {} if optimizer is None else optimizer.param_groups[0]
    return BatchChange(
        samples=at.samples,
        epoch=at.epoch,
        old_gpus=old.workers,
        gpus=split.workers,
        batch_per_gpu=split.batch_per_gpu,
        accum_steps=split.accum_steps,
        old_batch_size=old.batch_size,
        new_batch_size=split.batch_size,
        halve_every=turn.course.halve_every,
        lr=float(group["lr"]) * scale.rate if "lr" in group else None,
        betas=_betas(group.get("betas"), scale),
        lr_factor=scale.rate,
        lr_rule=str(rule),
        noise_scale=turn.course.noise_scale,
        noise_scale_error=noise_scale_error,
        predicted_gain=turn.gain,
        goodput_per_s=turn.goodput_per_s,
        measured_per_s=measured_per_s,
        code=turn.code,
        why=turn.why,
        seed=seed,
        version=_version(),
        at_s=time.time(),
    )


def opening(
    saved: Mapping[str, Any] | None, now: Course, *, lost: int
) -> Iterator[tuple[Split, Turn]]:
    """The turn with which a generation begins, and what was before; nothing if all is as it was.

    ``lost``: how many samples more than what was saved had been read before, at most.
    """
    if saved is None:
        again = f"; up to {lost:,} samples are read again" if lost > 0 else ""
        yield now.split, Turn(now, ChangeCode.BEGAN, f"the training begins{again}")
        return
    old = Split(saved["batch_size"], saved["workers"], saved["batch_per_gpu"])
    if lost > 0:
        why = f"training goes on from a checkpoint: up to {lost:,} samples are read again"
        yield old, Turn(now, ChangeCode.CHECKPOINT, why)
    elif old != now.split:
        yield old, Turn(now, ChangeCode.ALLOCATION, "another allocation")


def check_log(log: Sequence[BatchChange], rule: LrRule, seed: int) -> None:
    """That a log which is replayed can lead to what it led to.

    Raises:
        MisuseError: the script differs from the one that wrote it.
    """
    for one in log:
        if one.lr_rule != rule:
            raise MisuseError(
                f"replay: the log was written with lr_rule={one.lr_rule!r}, the script has "
                f"{str(rule)!r}: make them equal"
            )
        if one.seed not in (None, seed):
            raise MisuseError(
                f"replay: the log was written with seed={one.seed}, the script's job.loader has "
                f"{seed}: make them equal"
            )


def _betas(
    betas: tuple[float | Tensor, ...] | None, scale: LearningRateScale
) -> tuple[float, ...] | None:
    return None if betas is None else tuple(scale.beta(float(beta)) for beta in betas)


def _version() -> str:
    try:
        return version("headway")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return ""
