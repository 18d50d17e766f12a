"""The guard of an adapted batch: a forecast of the loss that the loss must not leave.

The forecast is an average of the loss that ages with the examples read, and the spread around it.
A loss far above it, several looks in a row, or one that is no number, is a departure. What departs
is not learned from, so that the forecast stays that of the healthy training.
"""

from dataclasses import dataclass, replace
from math import exp, isfinite

from headway.core.types import ChangeCode

HORIZON = 256.0  # initial batches after which a loss has lost most of its weight
LEAST_LOOKS = 16  # that a forecast rests on, however many examples each is of
FAR = 6.0  # mean absolute deviations
LEAST_SPREAD = 0.02  # of the loss: below that a deviation is none
LEAST_RISE = 0.01  # of what the loss has come down; near zero any step is many deviations
IN_A_ROW = 3  # looks: a spike passes
HOLD = 512.0  # initial batches at the base batch after the first fall, doubled with each
MOST_DOUBLINGS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What is remembered of the loss; a value, so that it can be kept in a checkpoint."""

    looks: int = 0
    loss: float = 0.0  # the forecast
    spread: float = 0.0  # mean absolute deviation from it
    most: float = 0.0  # the highest that both a loss and the forecast before it have been
    apart: int = 0  # looks in a row that were far above it
    falls: int = 0
    held_until_samples: float = 0.0

    @property
    def limit(self) -> float:
        """A loss above this has left the forecast."""
        far = FAR * max(self.spread, LEAST_SPREAD * abs(self.loss))
        return self.loss + max(far, LEAST_RISE * (self.most - self.loss))

    @property
    def _learns_most(self) -> bool:
        """Not from one spike at the beginning, nor from what a divergence has left behind: a limit
        so high would never be passed again."""
        return self.looks >= IN_A_ROW and not self.falls

    def heard(self, loss: float, examples: float, initial_batch_size: int) -> "Guard":
        """After the mean loss of some examples."""
        if not isfinite(loss):
            return replace(self, apart=self.apart + 1)
        if self.looks >= LEAST_LOOKS and loss > self.limit:
            return replace(self, apart=self.apart + 1)
        share = 1 - exp(-examples / (HORIZON * initial_batch_size))
        news = max(min(share, 1 / LEAST_LOOKS), 1 / (self.looks + 1))
        off = abs(loss - self.loss) if self.looks else 0.0
        forecast = self.loss + news * (loss - self.loss)
        return replace(
            self,
            looks=self.looks + 1,
            loss=forecast,
            most=max(self.most, min(self.loss, loss)) if self._learns_most else self.most,
            spread=self.spread + news * (off - self.spread),
            apart=0,
        )

    def departed(self, loss: float) -> ChangeCode | None:
        """Why the base batch must come back after this loss, which was heard; None: all is well."""
        if not isfinite(loss):
            return ChangeCode.NOT_A_NUMBER
        return ChangeCode.LOSS_LEFT if self.apart >= IN_A_ROW else None

    def fallen(self, samples: int, initial_batch_size: int) -> "Guard":
        """After a fall back to the base batch; the forecast begins anew."""
        hold = HOLD * initial_batch_size * 2 ** min(self.falls, MOST_DOUBLINGS)
        until = samples + hold
        return Guard(falls=self.falls + 1, most=self.most, held_until_samples=until)
