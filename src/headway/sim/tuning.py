"""What agents choose: (m, s) by goodput, asked for one job at a time and remembered."""

from typing import final

from headway.core.model.goodput import JobModels, best
from headway.core.model.retune import chosen, retune
from headway.core.model.schedule import thawed
from headway.core.model.split import Choice, split_batch
from headway.core.types import BatchContract, JobReport, Placement, ThroughputParams


@final
class Tuner:
    """The searches of ``core.model.goodput`` for single jobs; equal questions are asked once."""

    def __init__(self) -> None:
        self._best: dict[object, Choice] = {}
        self._kept: dict[object, tuple[Choice, float]] = {}

    def best(
        self,
        batch: BatchContract,
        params: ThroughputParams,
        noise_scale: float | None,
        at: Placement,
    ) -> Choice:
        """The choice of the greatest goodput by this model."""
        key = (batch, params, noise_scale, at)
        if key not in self._best:
            models = JobModels.of([(thawed(batch), _report(params, noise_scale))])
            found = best(models, [at.gpus], [at.locality], nodes=[at.nodes])
            # where no legal batch can be split so, the least that gives each GPU something
            least = split_batch(batch, batch.initial_batch_size, at.gpus)
            self._best[key] = chosen(found) or least
        return self._best[key]

    def kept_or_better(
        self,
        batch: BatchContract,
        params: ThroughputParams,
        noise_scale: float | None,
        at: Placement,
        now: Choice,
    ) -> tuple[Choice, float]:
        """The present choice, or one that promises at least 5 % more; and the gain it promises."""
        key = (batch, params, noise_scale, at, now)
        if key not in self._kept:
            found = retune(batch, _report(params, noise_scale), at, now)
            self._kept[key] = (now, 1.0) if found is None else (found.choice, found.gain)
        return self._kept[key]


def _report(params: ThroughputParams, noise_scale: float | None) -> JobReport:
    """What the model needs to know: of a report only speed and noise scale count."""
    return JobReport(
        throughput=params,
        noise_scale=noise_scale,
        progress_examples=0.0,
        batch_per_gpu=0,
        accum_steps=0,
        batch_size=0,
    )
