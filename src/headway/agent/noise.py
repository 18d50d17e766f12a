"""The gradient noise scale phi, from squared norms of gradients at two batch sizes.

phi = tr(P Sigma P') / |P g|^2 in examples (Pollux, Eqn. 5). With |G_small|^2 at B_small and
|G_big|^2 at B_big, both unbiased (McCandlish et al. 2018, appendix A.1):

    |G|^2    = (B_big |G_big|^2 - B_small |G_small|^2) / (B_big - B_small)
    tr Sigma = (|G_small|^2 - |G_big|^2) / (1 / B_small - 1 / B_big)

Both are smoothed, then divided: single ratios are useless (values up to 1e18 on live training).
The whole of it in plain words: docs/explanation/noise-scale.md.
"""

from dataclasses import asdict, dataclass, fields
from math import exp, inf, isfinite, log, sqrt
from typing import Any, Self, final

HORIZON = 128.0  # initial batches: what is older than that has lost its weight
LEAST_PAIRS = 8.0  # fewer are no estimate
USUAL_PAIRS = 10.0  # over which the usual size of the gradient is taken
MOST_NEWS = 1 / 8  # share of one pair, so that rarely measured large batches still are enough
MARGIN = 0.5  # standard errors that |G|^2 is taken above its average
TRUSTED_GROWTH = 64.0  # phi is not believed beyond this multiple of the batch it was measured at
MOST_DOUBT = 0.5  # share of the rows of an embedding that a batch may leave untouched


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Squared norms of the same gradient estimated from few and from many examples."""

    small_squared: float
    small_size: float
    big_squared: float
    big_size: float
    doubt: float = 0.0  # from 0 to 1: how little this pair tells of the whole gradient

    @property
    def usable(self) -> bool:
        """A step that overflowed, or without a gradient, or with one micro-batch says nothing."""
        finite = isfinite(self.small_squared) and isfinite(self.big_squared)
        return finite and self.small_squared > 0 and 0 < self.small_size < self.big_size

    def gradient_squared(self) -> float:
        """|G|^2, unbiased; may be negative."""
        excess = self.big_size * self.big_squared - self.small_size * self.small_squared
        return excess / (self.big_size - self.small_size)

    def variance(self) -> float:
        """tr Sigma, unbiased; may be negative."""
        return (self.small_squared - self.big_squared) / (1 / self.small_size - 1 / self.big_size)


@final
@dataclass(slots=True)
class NoiseScale:
    """Bias-corrected moving averages over examples of the two estimates and of their products.

    Gradients shrink by orders of magnitude while a job learns, and plain averages would tell of its
    first epochs for ever: each pair is taken relative to what was usual just before it. Its own
    size is not in that, or large gradients would count less than small ones.

    ``samples``: of the data set; infinite while unknown. Batches are drawn without replacement, so
    two of them differ more than their noise alone would have it, and |G|^2 as it comes out of the
    formula lacks tr Sigma / samples (Cochran, Sampling Techniques, ch. 2, for the mean).
    """

    horizon_examples: float
    samples: float = inf
    usual_log: float | None = None  # of the small batches' squared norm
    taken: int = 0  # pairs in all
    weight: float = 0.0
    weight_squared: float = 0.0
    gradient: float = 0.0
    variance: float = 0.0
    gradient_gradient: float = 0.0
    variance_variance: float = 0.0
    gradient_variance: float = 0.0
    batch_size: float = 0.0
    doubt: float = 0.0

    def add(self, pair: Pair, examples: float) -> None:
        """Take one pair that stands for this many examples of training."""
        if not pair.usable or examples <= 0:
            return
        keep = exp(-min(examples / self.horizon_examples, MOST_NEWS))
        usual = self._usual(pair.small_squared)
        gradient, variance = pair.gradient_squared() / usual, pair.variance() / usual
        products = (gradient * gradient, variance * variance, gradient * variance)
        news = (gradient, variance, *products, pair.big_size, pair.doubt)
        if not all(isfinite(value) for value in news):
            return
        self.taken += 1
        for name, value in zip(_AVERAGES, news, strict=True):
            setattr(self, name, keep * getattr(self, name) + (1 - keep) * value)
        self.weight = keep * self.weight + (1 - keep)
        self.weight_squared = keep**2 * self.weight_squared + (1 - keep) ** 2

    def _usual(self, squared: float) -> float:
        """The geometric mean until now, which one outlier does not move far."""
        now = log(squared)
        before = now if self.usual_log is None else self.usual_log
        self.usual_log = before + (now - before) / USUAL_PAIRS
        return exp(before)

    @property
    def pairs(self) -> float:
        """How many equally weighted pairs the averages are worth."""
        return self.weight**2 / self.weight_squared if self.weight_squared else 0.0

    @property
    def reliable(self) -> bool:
        """Whether what was measured is the gradient that the job learns by: False for embeddings
        most of whose rows a batch does not touch, sparse gradients, unknown optimizers."""
        return self.weight == 0.0 or self.doubt / self.weight <= MOST_DOUBT

    def estimate(self) -> float | None:
        """phi; None while there is no estimate.

        |G|^2 drowns in the noise once the loss is small. It is taken half a standard error above
        its average: too small a phi rather than too large a one. Against phi counted out from every
        sample, early in two small trainings, margins of 0 / 0.5 / 1 give 1.0 / 0.8 / 0.65 and 1.25
        / 1.04 / 0.89 times as much, and half is nearest on the average.
        """
        if self.pairs < LEAST_PAIRS:
            return None
        gradient, variance = self.gradient / self.weight, self.variance / self.weight
        if variance <= 0.0:  # gradients that are all alike; but zeros tell nothing
            return 0.0 if gradient > 0.0 else None
        spread = max(self.gradient_gradient / self.weight - gradient * gradient, 0.0)
        gradient = max(gradient + variance / self.samples, 0.0)
        gradient += MARGIN * sqrt(spread / self.pairs)
        floor = self.weight / (TRUSTED_GROWTH * self.batch_size)
        return 1.0 / max(gradient / variance, floor)

    def error(self) -> float | None:
        """The standard error of phi, together with what phi was taken too small by.

        By the delta method on |G|^2 / tr Sigma, whose error is finite even where |G|^2 may be 0.
        """
        phi = self.estimate()
        if phi is None:
            return None
        share = 1 / self.weight
        gradient, variance = self.gradient * share, self.variance * share
        gradients = max(self.gradient_gradient * share - gradient * gradient, 0.0)
        variances = max(self.variance_variance * share - variance * variance, 0.0)
        if variance <= 0.0:
            return sqrt(variances / self.pairs) / gradient
        ratio = gradient / variance
        both = self.gradient_variance * share - gradient * variance
        spread = max(gradients - 2 * ratio * both + ratio * ratio * variances, 0.0)
        error = phi * (phi / variance) * sqrt((spread + MARGIN**2 * gradients) / self.pairs)
        return error if isfinite(error) else None

    def state_dict(self) -> dict[str, float | None]:
        return asdict(self)

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """From a saved state; what it does not know yet starts anew."""
        known = {f.name for f in fields(cls)}
        return cls(**{name: value for name, value in state.items() if name in known})


_AVERAGES = (
    "gradient",
    "variance",
    "gradient_gradient",
    "variance_variance",
    "gradient_variance",
    "batch_size",
    "doubt",
)
