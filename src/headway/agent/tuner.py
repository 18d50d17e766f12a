"""Which (m, s) a job runs at on the allocation it holds: fits its speed, asks the goodput model."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, final

from headway.agent.context import Context
from headway.agent.plan import Split
from headway.agent.timing import History
from headway.core.model.choice import FITTERS
from headway.core.model.fit import OPTIMISM, Fit, StepErrors
from headway.core.model.refine import Measured
from headway.core.model.retune import models_of, retune
from headway.core.model.schedule import first_batch_size
from headway.core.model.split import Choice, split_batch
from headway.core.types import (
    BatchContract,
    BatchMode,
    Placement,
    ThroughputKind,
    ThroughputParams,
)

GROWTH = 4  # at most this much in one change: phi far above the measured batch is a guess
FIT_SHARE = 0.02  # of the time that fitting may take


@dataclass(frozen=True, slots=True)
class Change:
    """A better choice, and how much better the model says it is."""

    split: Split
    gain: float
    goodput_per_s: float


@final
class Tuner:
    """The batch contract at work on one allocation."""

    def __init__(
        self,
        contract: BatchContract,
        *,
        tunes: bool,
        workers: int,
        nodes: int,
        clock: Callable[[], float],
        gpu_type: str | None = None,
        throughput: str = "linear",
    ) -> None:
        self.tunes = tunes and contract.adapts
        self.fit = Fit()
        self.fits = 0  # how often one was made, or tried
        self._fitter = FITTERS[throughput]
        self._contract = contract
        self._workers = workers
        self._gpu_type = gpu_type
        self._at = Placement(workers, nodes)
        self._measured = Measured.of(None, self._at)
        self._clock = clock
        self._next_fit_s = 0.0

    def start(self, batch_size: int, *, frozen: bool = False) -> Split:
        """Keep this batch size on the present allocation, as far as the contract lets it.

        Raises:
            InvalidInputError: it may not change and does not fit in the passes that are allowed.
        """
        choice = split_batch(self._contract, batch_size, self._workers, frozen=frozen)
        return Split(choice.batch_size, self._workers, choice.batch_per_gpu)

    def refit(self, history: History) -> None:
        """See what was measured; fit theta_sys if it is news and the last fit long enough ago."""
        observations, error = history.observations(), history.visit_error
        if observations is None:
            return
        self._measured = Measured.of(observations, self._at, self._gpu_type, visit_error=error)
        now_s = self._clock()
        if now_s < self._next_fit_s or not history.news:
            return
        last = self.fit if isfinite(self.fit.error) else None
        self.fit = self._fitter(observations, last, optimism=OPTIMISM)
        self.fits += 1
        history.fitted()
        after_s = self._clock()
        self._next_fit_s = after_s + (after_s - now_s) / FIT_SHARE

    def choose(
        self,
        split: Split,
        noise_scale: float | None,
        *,
        noise_scale_error: float | None = None,
        samples: int | None = None,
    ) -> Change | None:
        """A choice that is predicted to be better than the present one by enough, if any.

        ``samples`` of an epoch: no step reads more.
        """
        if not self.tunes or not isfinite(self.fit.error):
            return None
        now = Choice(split.batch_per_gpu, split.accum_steps, split.batch_size)
        most = GROWTH * split.batch_size
        if samples is not None:
            most = min(most, samples)
        models = models_of(
            self._contract,
            self.fit.params,
            noise_scale,
            gpu_type=self._gpu_type,
            grad_by_type=self.fit.grad_by_type,
            most_batch_size=most,
        )
        error = noise_scale_error / noise_scale if noise_scale and noise_scale_error else 0.0
        found = retune(models, self._at, self._measured, now, noise_scale_error=error)
        if found is None:
            return None
        better = Split(found.choice.batch_size, self._workers, found.choice.batch_per_gpu)
        return Change(better, found.gain, found.goodput_per_s)

    def step_errors(self, split: Split) -> StepErrors:
        """How well the time of such a step is known, here and on twice the GPUs."""
        return self.fit.step_errors(
            self._at, batch_per_gpu=split.batch_per_gpu, accum_steps=split.accum_steps
        )

    def state_dict(self) -> dict[str, Any]:
        params = asdict(self.fit.params)
        # plain values only: a checkpoint holds nothing that must be imported to be read
        return {"params": params | {"kind": str(params["kind"])}, "error": self.fit.error}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        kind = ThroughputKind(state["params"].get("kind", ThroughputKind.LINEAR))
        params = ThroughputParams(**state["params"] | {"kind": kind})
        self.fit = Fit(params=params, error=state["error"], message="from the checkpoint")


def tuner_of(context: Context, clock: Callable[[], float]) -> Tuner:
    """For a worker that was told all this."""
    return Tuner(
        context.orders.batch,
        tunes=context.orders.adapts,
        workers=context.workers,
        nodes=context.nodes,
        clock=clock,
        gpu_type=context.gpu_type,
        throughput=context.throughput,
    )


def wanted_batch_size(contract: BatchContract, *, tunes: bool, requested: int) -> int:
    """The batch size of a job that has not trained yet."""
    if contract.mode is BatchMode.ADAPTIVE and not tunes and not contract.replay:
        return requested  # the policy leaves the batch to the owner's request
    return first_batch_size(contract)
