"""The surface that a training script sees; one implementation under the scheduler, one without."""

import sys
from collections.abc import Iterable, Iterator
from numbers import Integral
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, Dataset

from headway.agent.tracking import Tracker
from headway.core.errors import InvalidInputError

MOST_SHOWN = 100  # letters of a wrong value


class Stateful(Protocol):
    """Anything whose state can be saved; its values must be tensors and plain Python values."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any], /) -> object: ...


S = TypeVar("S", bound=Stateful)


class Paced(Protocol):
    """What is left of a learning-rate scheduler for the script to call."""

    def step(self) -> None: ...

    def get_last_lr(self) -> list[float | Tensor]: ...


class LossScaler(Protocol):
    """What is left of a GradScaler for the script to call."""

    def scale(self, outputs: Tensor) -> Tensor: ...

    def unscale_(self, optimizer: Optimizer) -> None: ...

    def step(self, optimizer: Optimizer) -> object: ...

    def update(self) -> None: ...

    def get_scale(self) -> float: ...

    def is_enabled(self) -> bool: ...


class MisuseError(InvalidInputError):
    """The training script calls the agent in a way that cannot be right."""


def whole_epochs(count: object) -> int:
    """How many epochs a script asks for.

    Raises:
        MisuseError: no whole number, such as the text of a variable, or below 0.
    """
    whole = None if isinstance(count, bool) or not isinstance(count, Integral) else int(count)
    if whole is not None and 0 <= whole <= sys.maxsize:
        return whole
    shown = repr(count)[:MOST_SHOWN] if whole is None or whole < 0 else "as many as that"
    raise MisuseError(
        f"job.epochs: count must be a whole number from 0 on, not {shown}; "
        "give the epochs of the whole training, as in job.epochs(30)"
    )


def whole_seed(seed: object) -> int:
    """What the order of the data is drawn from.

    Raises:
        MisuseError: no whole number, or below 0.
    """
    if isinstance(seed, Integral) and int(seed) >= 0:
        return int(seed)
    shown = repr(seed)[:MOST_SHOWN]
    raise MisuseError(f"job.loader: seed must be a whole number from 0 on, not {shown}")


class Job(Protocol):
    """A training run as its script sees it."""

    @property
    def device(self) -> torch.device:
        """Where this worker computes."""
        ...

    @property
    def worker(self) -> int:
        """Which worker this is, from 0."""
        ...

    @property
    def workers(self) -> int:
        """How many workers the job has now."""
        ...

    @property
    def last_pass(self) -> bool:
        """Whether this pass ends its step, so that ``optimizer.step()`` really steps.

        Clip gradients only then: ``if job.last_pass: clip_grad_norm_(...)``.
        """
        ...

    @property
    def progress_share(self) -> float:
        """How far the training is, in [0, 1]: scale-invariant examples done over those to do.

        A learning-rate schedule that follows it stays right whatever the batch size::

            cosine = lambda _: 0.5 * (1 + math.cos(math.pi * job.progress_share))
            scheduler = job.state("scheduler", LambdaLR(optimizer, cosine))
            ...
            scheduler.step()  # after every job.step()
        """
        ...

    def model(
        self, model: nn.Module, *, name: str = "model", find_unused_parameters: bool = False
    ) -> nn.Module:
        """The model to call: DistributedDataParallel where there are several workers.

        Freeze parameters before. ``find_unused_parameters`` is for a model some of whose
        trainable parameters take no part in the loss.
        """
        ...

    def optimizer(
        self, optimizer: Optimizer, *, lr_rule: str = "adascale", name: str = "optimizer"
    ) -> Optimizer:
        """The optimizer to use: it steps at the last pass, with the learning rate that the rule
        gives for the batch size.

        Rules: adascale (SGD), adam_scale, sqrt (with betas and epsilon for Adam), linear, legw
        (with a longer warm-up where ``job.lr_scheduler`` knows of one), hold.
        """
        ...

    def scaler(self, scaler: GradScaler, *, name: str = "scaler") -> "LossScaler":
        """The gradient scaler to use, in every pass and as in any script::

            scaler = job.scaler(torch.amp.GradScaler("cuda"))
            ...
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

        It acts at the last pass of a step, and its scale is in the checkpoint. A step that
        overflows counts as read, moves nothing, and is neither measured nor heard by the guard.
        """
        ...

    def lr_scheduler(
        self, scheduler: LRScheduler, *, warmup_steps: int = 0, name: str = "lr_scheduler"
    ) -> "Paced":
        """A learning-rate scheduler that is stepped once a step and was written for M0::

            scheduler = job.lr_scheduler(OneCycleLR(optimizer, 0.1, total_steps=steps_at_m0))
            ...
            job.step(loss=loss)
            scheduler.step()

        It goes by samples, so it ends with the training whatever the batch size. Its first
        ``warmup_steps`` last longer with the rule legw.
        """
        ...

    def loader(
        self,
        source: Dataset[Any] | DataLoader[Any],
        *,
        batch_size: int | None = None,
        seed: int = 0,
    ) -> Iterable[Any]:
        """What to iterate: each item is one pass of this worker.

        ``batch_size`` is M0, the global batch that the learning rate was tuned for. A DataLoader
        brings its own, and its order: shuffled or not. A loader with a state of its own over data
        without index is made for this worker, with batches of ``job.share(M0)``.
        """
        ...

    def share(self, batch_size: int) -> int:
        """What one worker reads of a global batch in one pass, for a loader that batches itself."""
        ...

    def state(self, name: str, part: S) -> S:
        """Keep the state of something else (a scheduler, an average) in the checkpoint."""
        ...

    def tracker(self, tracker: Tracker) -> None:
        """Tell an experiment tracker how the job is doing, keyed by samples, resizes marked."""
        ...

    def epochs(self, count: int) -> Iterator[int]:
        """The epochs still to do of ``count``.

        With an adaptive batch size the training ends when it has made the progress of ``count``
        epochs at M0, so there may be more of them.
        """
        ...

    def step(self, *, loss: Tensor | float | None = None) -> None:
        """This pass is done; call it once a pass, after ``optimizer.step()``."""
        ...

    def metric(self, value: float) -> None:
        """The owner's own metric, for the report."""
        ...

    def finish(self) -> None:
        """The training is complete: last report, last checkpoint. Every worker calls it."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
