"""What agents choose: (m, s) by goodput, asked for one job at a time and remembered."""

from typing import NamedTuple, final

import numpy as np

from headway.core.model.refine import Measured
from headway.core.model.retune import models_of, retune
from headway.core.model.split import Choice, split_batch
from headway.core.types import BatchContract, Placement, ThroughputParams


class Known(NamedTuple):
    """What an agent knows when it chooses; equal knowledge leads to equal choices."""

    batch: BatchContract
    params: ThroughputParams
    noise_scale: float | None
    at: Placement
    passes: tuple[tuple[int, float, float, float], ...]  # m, seconds without and with
    # synchronisation, and their relative error
    noise: float = 0.0  # relative error of what is measured once


@final
class Tuner:
    """``core.model.retune`` for single jobs; equal questions are asked once."""

    def __init__(self) -> None:
        self._chosen: dict[tuple[Known, Choice | None], tuple[Choice, float]] = {}

    def choose(self, known: Known, now: Choice | None = None) -> tuple[Choice, float]:
        """The choice of the greatest goodput, or the present one, and the gain it promises."""
        key = (known, now)
        if key not in self._chosen:
            self._chosen[key] = _choose(known, now)
        return self._chosen[key]


def _choose(known: Known, now: Choice | None) -> tuple[Choice, float]:
    models = models_of(known.batch, known.params, known.noise_scale)
    found = retune(models, known.at, _measured(known), now, noise_scale_error=known.noise)
    if found is not None:
        return found.choice, found.gain
    # where no legal batch can be split so, the least that gives each GPU something
    return now or split_batch(known.batch, known.batch.initial_batch_size, known.at.gpus), 1.0


def _measured(known: Known) -> Measured:
    rows = np.array(sorted(known.passes), dtype=np.float64).reshape(-1, 4)
    return Measured(
        batch_per_gpu=rows[:, 0],
        grad_s=rows[:, 1],
        last_s=rows[:, 2],
        error=rows[:, 3] if known.noise else None,
        visit_error=known.noise,
    )
