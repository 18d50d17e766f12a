"""How the learning rate follows the batch size: Pollux's SCALE_LR, as pure functions.

Every rule has one interface: from M0, M and phi to the factors of a ``LearningRateScale``. At
M = M0 all factors are 1. A factor that does not concern an optimizer (betas for SGD) is ignored
by whoever applies them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil
from types import MappingProxyType

from headway.core.model.efficiency import assumed_noise_scale, gain

MOST_FORGETTING = 0.5  # bound of 1 - beta after scaling: a moment remembers two steps at least


class LrRule(StrEnum):
    """The rules by name."""

    ADASCALE = "adascale"
    ADAM_SCALE = "adam_scale"
    SQRT = "sqrt"
    LINEAR = "linear"
    LEGW = "legw"
    HOLD = "hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRateScale:
    """Factors to apply to what the user tuned for M0."""

    rate: float = 1.0  # of the learning rate
    warmup: float = 1.0  # of the warm-up, counted in epochs or samples
    forgetting: float = 1.0  # of 1 - beta, for each of Adam's betas
    epsilon: float = 1.0  # of Adam's epsilon

    def beta(self, beta: float) -> float:
        """Adam's beta for the new batch size; never above 1 nor below a bound."""
        if self.forgetting == 1.0:
            return beta
        return 1.0 - min((1.0 - beta) * self.forgetting, max(MOST_FORGETTING, 1.0 - beta))


def scale_lr(
    rule: LrRule,
    *,
    initial_batch_size: float,
    batch_size: float,
    noise_scale: float | None = None,
    most: float | None = None,
) -> LearningRateScale:
    """SCALE_LR(M0, M) (Pollux, section 3.2). Without a noise scale, phi-driven rules hold.

    ``most``: the owner's bound on the factor of the rate.
    """
    growth = batch_size / initial_batch_size
    worth = float(gain(assumed_noise_scale(noise_scale), initial_batch_size, batch_size))
    scale = _RULES[rule](growth, worth)
    return scale if most is None else replace(scale, rate=min(scale.rate, most))


def steps_at_initial(examples: float, *, epoch_samples: int, initial_batch_size: int) -> int:
    """Steps that training at M0 has made after so many examples, the short last one of each epoch
    counted: where a learning-rate schedule that was written for M0 should be by then."""
    epochs, rest = divmod(examples, epoch_samples)
    whole = -(-epoch_samples // initial_batch_size)
    return int(epochs) * whole + ceil(rest / initial_batch_size)


def with_longer_warmup(steps: int, *, warmup_steps: int, warmup: float) -> int:
    """Where the schedule should be if its warm-up is longer by this factor, and only that."""
    return int(steps / warmup) if steps < warmup_steps * warmup else steps


def _adascale(growth: float, worth: float) -> LearningRateScale:
    """Johnson et al. 2020, for SGD: the rate grows by r = (phi/M0 + 1) / (phi/M + 1)."""
    return LearningRateScale(rate=worth)


def _adam_scale(growth: float, worth: float) -> LearningRateScale:
    """For Adam and AdamW: the root of AdaScale's r."""
    return LearningRateScale(rate=worth**0.5)


def _linear(growth: float, worth: float) -> LearningRateScale:
    """Goyal et al. 2017: k times the batch, k times the rate."""
    return LearningRateScale(rate=growth)


def _sqrt(growth: float, worth: float) -> LearningRateScale:
    """Krizhevsky 2014; for Adam with betas and epsilon as in Malladi et al. 2022."""
    return LearningRateScale(rate=growth**0.5, forgetting=growth, epsilon=growth**-0.5)


def _legw(growth: float, worth: float) -> LearningRateScale:
    """You et al. 2019: the root of the growth, and a warm-up longer in epochs by the growth."""
    return LearningRateScale(rate=growth**0.5, warmup=growth)


def _hold(growth: float, worth: float) -> LearningRateScale:
    return LearningRateScale()


_RULES: Mapping[LrRule, Callable[[float, float], LearningRateScale]] = MappingProxyType(
    {
        LrRule.ADASCALE: _adascale,
        LrRule.ADAM_SCALE: _adam_scale,
        LrRule.SQRT: _sqrt,
        LrRule.LINEAR: _linear,
        LrRule.LEGW: _legw,
        LrRule.HOLD: _hold,
    }
)
