"""The law behind the efficiency: examples to a target grow with the batch as c (phi + M).

That is Eqn. 6 of Pollux (OSDI'21) solved for the examples: at M they are those at M0 over the
efficiency. Fitted to trainings that were run at several batch sizes it gives the noise scale that
they imply, whatever was measured while they ran.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.optimize import nnls

from headway.core.errors import InvalidInputError
from headway.core.types import BoolArray, Float64, FloatArray

FAR = 0.3  # relative; of a point from the law of all others
LEAST_OTHERS = 3  # points for a law that may call another one an outlier


@dataclass(frozen=True, slots=True, kw_only=True)
class ExamplesLaw:
    """Examples to the target at batch size M: ``at_none + each * M``."""

    at_none: float  # c phi: where the batch would cost nothing
    each: float  # c

    @property
    def noise_scale(self) -> float:
        """phi; infinite where the batch makes no difference."""
        return self.at_none / self.each if self.each > 0 else inf

    def examples(
        self, batch_sizes: Float64[FloatArray, " points"]
    ) -> Float64[FloatArray, " points"]:
        """To the target."""
        return self.at_none + self.each * batch_sizes

    def errors(
        self,
        batch_sizes: Float64[FloatArray, " points"],
        examples: Float64[FloatArray, " points"],
    ) -> Float64[FloatArray, " points"]:
        """Relative, with sign: above 0 where the law says more than was needed."""
        return self.examples(batch_sizes) / examples - 1


def fit_examples_law(
    batch_sizes: Float64[FloatArray, " points"], examples: Float64[FloatArray, " points"]
) -> ExamplesLaw:
    """Least squares of the relative errors, with c and phi not below 0.

    Raises:
        InvalidInputError: fewer than two batch sizes, or a value that is not positive.
    """
    if np.unique(batch_sizes).size < 2:
        raise InvalidInputError("efficiency law: two different batch sizes are needed")
    if not (np.all(batch_sizes > 0) and np.all(np.isfinite(examples)) and np.all(examples > 0)):
        raise InvalidInputError("efficiency law: batch sizes and examples must be above 0")
    columns = np.stack([1 / examples, batch_sizes / examples], axis=1)
    size = columns.max(axis=0)  # of very different sizes, which a solver does not like
    solution, _ = nnls(columns / size, np.ones_like(examples))
    at_none, each = (solution / size).tolist()
    return ExamplesLaw(at_none=at_none, each=each)


def outliers(
    batch_sizes: Float64[FloatArray, " points"], examples: Float64[FloatArray, " points"]
) -> BoolArray:
    """Points that the law of all others misses by far; the one first without which that law holds
    best, since it would make others look odd."""
    found = np.zeros(batch_sizes.size, dtype=np.bool_)
    while found.size - found.sum() > LEAST_OTHERS:
        odd, error = _oddest(batch_sizes, examples, ~found)
        if error <= FAR:
            break
        found[odd] = True
    return found


def _oddest(sizes: FloatArray, examples: FloatArray, among: BoolArray) -> tuple[int, float]:
    """The point without which the others follow a law best, and how far off theirs it is."""
    fits = []
    for index in np.flatnonzero(among).tolist():
        rest = among.copy()
        rest[index] = False
        errors = np.abs(fit_examples_law(sizes[rest], examples[rest]).errors(sizes, examples))
        fits.append((float(errors[rest].mean()), index, float(errors[index])))
    _, odd, error = min(fits)
    return odd, error
