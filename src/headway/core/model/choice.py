"""Which throughput model a job's own runs speak for: that of the least held-out error.

A model with more parameters always fits what it has seen better. So each is fitted without some
of the placements, and judged by those.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from headway.core.model.fit import GAMMAS, Fit, fit, fit_profile, relative_errors
from headway.core.model.observations import Observations
from headway.core.model.sync import KINDS, MODELS
from headway.core.types import Float64, FloatArray, Locality, ThroughputKind

FOLDS = 5
ENOUGH = 8  # placements of several GPUs; with fewer nothing but the linear model is tried
MARGIN = 0.1  # share of the linear model's held-out error by which another must do better

Fitter = Callable[[Observations], Fit]


def held_out_error(seen: Observations, fitter: Fitter) -> float:
    """Mean relative error of the step times of placements that the fitter was not shown.

    Each placement is left out once, together with a fifth of the others; which ones depends on
    the placements alone.
    """
    off = held_out_errors(seen, fitter)
    return float(np.average(np.abs(off), weights=seen.weight))


def held_out_errors(seen: Observations, fitter: Fitter) -> Float64[FloatArray, " observations"]:
    """Predicted over measured step time less 1, each predicted without its placement."""
    placements = seen.placements
    turn = {place: index % FOLDS for index, place in enumerate(sorted(set(placements)))}
    fold = np.array([turn[place] for place in placements])
    off = np.zeros(fold.size)
    for left_out in range(FOLDS):
        shown, hidden = np.flatnonzero(fold != left_out), np.flatnonzero(fold == left_out)
        if shown.size and hidden.size:
            found = fitter(seen.only(shown))
            off[hidden] = relative_errors(found.params, seen.only(hidden), found.grad_by_type)
    return off


def candidates(seen: Observations) -> tuple[ThroughputKind, ...]:
    """The kinds that these observations can tell apart; the linear one is always the first."""
    together = seen.only(seen.gpus > 1)
    if len(set(together.placements)) < ENOUGH:
        return KINDS[:1]
    at = (together.gpus.astype(np.float64), together.locality, together.nodes)
    return tuple(kind for kind in KINDS if MODELS[kind].told_by(*at))


def fit_best(seen: Observations, previous: Fit | None = None, *, optimism: float = 0.0) -> Fit:
    """``fit`` by the model of the least held-out error; linear unless another is clearly better."""

    def again(whole: Fit, part: Observations) -> Fit:
        return fit(part, whole, kind=whole.params.kind, optimism=optimism)

    return _best(seen, partial(fit, seen, previous, optimism=optimism), again)


def fit_profile_best(seen: Observations) -> Fit:
    """``fit_profile`` by the model of the least held-out error."""

    def again(whole: Fit, part: Observations) -> Fit:
        return fit_profile(part, kind=whole.params.kind, gammas=GAMMAS)

    return _best(seen, partial(fit_profile, seen), again)


def fit_linear(seen: Observations, previous: Fit | None = None, *, optimism: float = 0.0) -> Fit:
    """``fit`` by the linear model; with a pair of its own for racks once a job has spanned some."""
    spanned = bool((seen.locality == Locality.SEVERAL_RACKS).any())
    kind = ThroughputKind.RACKED if spanned else ThroughputKind.LINEAR
    return fit(seen, previous, kind=kind, optimism=optimism)


# how an agent comes by its model: always the same, or the best of all
FITTERS: Mapping[str, Callable[..., Fit]] = {
    "linear": fit_linear,
    "collective": partial(fit, kind=ThroughputKind.COLLECTIVE),
    "best": fit_best,
}


def _best(
    seen: Observations, fitted: Callable[..., Fit], again: Callable[[Fit, Observations], Fit]
) -> Fit:
    """The best of the candidates; ``again`` fits a part of the observations by the same model."""
    linear, *others = candidates(seen)
    found = fitted(kind=linear)
    if not others or found.trouble:
        return found
    found = replace(found, held_out_error=held_out_error(seen, partial(again, found)))
    least = (found.held_out_error or 0.0) * (1 - MARGIN)
    for kind in others:
        other = fitted(kind=kind)
        error = held_out_error(seen, partial(again, other))
        if error < least:
            found, least = replace(other, held_out_error=error), error
    return found
