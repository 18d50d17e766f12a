"""A learning-rate scheduler that goes by samples: written for M0, right at any batch size."""

from typing import Any, Protocol, final

from torch import Tensor
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from headway.agent.job import MisuseError
from headway.core.model.lr import LearningRateScale, with_longer_warmup


class Pace(Protocol):
    """What it asks of the loop."""

    def schedule_steps(self) -> int:
        """Steps that training at M0 would have made by now."""
        ...

    def scale(self) -> LearningRateScale:
        """For the batch size of the present step."""
        ...


@final
class PacedScheduler:
    """Steps the scheduler inside as often as training at M0 would have done.

    So its end is the end of the training, however large the batches become. ``warmup_steps`` of it
    last longer where the rule says so (LEGW); it never goes back.
    """

    def __init__(self, inner: LRScheduler, pace: Pace, *, warmup_steps: int = 0) -> None:
        if isinstance(inner, ReduceLROnPlateau):
            raise MisuseError(
                "job.lr_scheduler: ReduceLROnPlateau goes by a metric, not by samples; "
                "keep it with job.state"
            )
        self.inner = inner
        self._pace = pace
        self._warmup_steps = warmup_steps
        self._made = 0

    def step(self) -> None:
        """After ``job.step()``, in every pass; it does what is due."""
        due = with_longer_warmup(
            self._pace.schedule_steps(),
            warmup_steps=self._warmup_steps,
            warmup=self._pace.scale().warmup,
        )
        while self._made < due:
            self.inner.step()
            self._made += 1

    def get_last_lr(self) -> list[float | Tensor]:
        """As the scheduler set them for M0, before the rule's factor."""
        return self.inner.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        return {"inner": self.inner.state_dict(), "made": self._made}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.inner.load_state_dict(state_dict["inner"])
        self._made = state_dict["made"]
