"""What agents choose: (m, s) by goodput, asked for one job at a time and remembered."""

from typing import final

from headway.core.model.goodput import Best, JobModels, best, goodput_at, keep_unless_better
from headway.core.types import BatchContract, JobReport, Placement, ThroughputParams
from headway.sim.truth import Choice, split


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
            found = best(
                _models(batch, params, noise_scale), [at.gpus], [at.locality], nodes=[at.nodes]
            )
            # where no legal batch can be split so, the least that gives each GPU something
            chosen = _choice(found) or split(batch, batch.initial_batch_size, at.gpus)
            self._best[key] = chosen
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
            self._kept[key] = _kept_or_better(_models(batch, params, noise_scale), at, now)
        return self._kept[key]


def _kept_or_better(models: JobModels, at: Placement, now: Choice) -> tuple[Choice, float]:
    gpus, locality, nodes = [at.gpus], [at.locality], [at.nodes]
    m, s = now.batch_per_gpu, now.accum_steps
    found = keep_unless_better(models, gpus, locality, m, s, nodes=nodes)
    chosen = _choice(found)
    if chosen is None or chosen[:2] == now[:2]:
        return now, 1.0
    present_per_s = float(goodput_at(models, gpus, locality, m, s, nodes=nodes)[0, 0])
    gain = float(found.goodput_per_s[0, 0]) / present_per_s if present_per_s > 0 else 1.0
    return chosen, gain


def _choice(found: Best) -> Choice | None:
    batch_size = int(found.batch_size[0, 0])
    if not batch_size:
        return None
    return Choice(int(found.batch_per_gpu[0, 0]), int(found.accum_steps[0, 0]), batch_size)


def _models(batch: BatchContract, params: ThroughputParams, noise_scale: float | None) -> JobModels:
    """One job as the model sees it; of the report only speed and noise scale count."""
    report = JobReport(
        throughput=params,
        noise_scale=noise_scale,
        progress_examples=0.0,
        batch_per_gpu=0,
        accum_steps=0,
        batch_size=0,
    )
    return JobModels.of([(batch, report)])
