"""Which (m, s) a job runs at on the allocation it holds: fits its speed, asks the goodput model."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any, final

from headway.agent.plan import Split
from headway.agent.timing import History
from headway.core.errors import InvalidInputError
from headway.core.model.choice import FITTERS
from headway.core.model.fit import OPTIMISM, Fit, StepErrors
from headway.core.model.goodput import JobModels
from headway.core.model.refine import Measured, refine
from headway.core.types import (
    BatchContract,
    BatchMode,
    JobReport,
    Placement,
    ThroughputKind,
    ThroughputParams,
)

GROWTH = 4  # at most this much in one change: phi far above the measured batch is a guess
LEAST_STEPS = 20  # between two changes, so that the present choice was measured
FIT_SHARE = 0.02  # of the time that fitting may take


@dataclass(frozen=True, slots=True)
class Change:
    """A better choice, and how much better the model says it is."""

    split: Split
    gain: float


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

    def start(self, batch_size: int) -> Split:
        """Keep this batch size on the present allocation, as far as the contract lets it.

        Raises:
            InvalidInputError: a fixed batch does not fit in the passes that the contract allows.
        """
        contract = self._contract
        most = self._workers * contract.max_batch_per_gpu * (contract.max_accum_steps + 1)
        if contract.adapts:
            least = max(contract.initial_batch_size, self._workers * contract.min_batch_per_gpu)
            batch_size = min(max(batch_size, least), contract.max_batch_size, most)
        if batch_size > most:
            raise InvalidInputError(
                f"a batch of {batch_size} needs more than {contract.max_accum_steps} accumulation "
                f"steps of {contract.max_batch_per_gpu} on {self._workers} GPUs: allow more of "
                "either, or ask for more GPUs"
            )
        share = -(-batch_size // self._workers)
        passes = -(-share // contract.max_batch_per_gpu)
        return Split(batch_size, self._workers, -(-share // passes))

    def refit(self, history: History) -> None:
        """Fit theta_sys if something changed and the last fit is long enough ago."""
        now_s = self._clock()
        if now_s < self._next_fit_s or not history.news:
            return
        observations = history.observations()
        if observations is None:
            return
        self._measured = Measured.of(observations, self._at, self._gpu_type)
        last = self.fit if isfinite(self.fit.error) else None
        self.fit = self._fitter(observations, last, optimism=OPTIMISM)
        self.fits += 1
        history.fitted()
        after_s = self._clock()
        self._next_fit_s = after_s + (after_s - now_s) / FIT_SHARE

    def choose(
        self, split: Split, noise_scale: float | None, *, samples: int | None = None
    ) -> Change | None:
        """A choice that is predicted to be better than the present one by enough, if any.

        ``samples`` of an epoch: no step reads more.
        """
        if not self.tunes or not isfinite(self.fit.error):
            return None
        contract, m, s = self._contract, split.batch_per_gpu, split.accum_steps
        most = min(contract.max_batch_size, GROWTH * split.batch_size)
        if samples is not None:
            most = max(min(most, samples), contract.initial_batch_size)
        within = replace(contract, max_batch_size=most)
        models = JobModels.of([(within, self._as_report(split, noise_scale))], self._gpu_type)
        found = refine(models, self._at, self._measured, (m, s))
        if found is None or found[:2] == (m, s):
            return None
        batch_per_gpu, accum_steps, gain = found
        size = self._workers * batch_per_gpu * (accum_steps + 1)
        return Change(Split(size, self._workers, batch_per_gpu), gain)

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

    def _as_report(self, split: Split, noise_scale: float | None) -> JobReport:
        return JobReport(
            throughput=self.fit.params,
            noise_scale=noise_scale,
            progress_examples=0.0,
            batch_per_gpu=split.batch_per_gpu,
            accum_steps=split.accum_steps,
            batch_size=split.batch_size,
            grad_by_type=self.fit.grad_by_type,
        )


def wanted_batch_size(contract: BatchContract, *, tunes: bool, requested: int) -> int:
    """The batch size of a job that has not trained yet."""
    if contract.mode is BatchMode.ADAPTIVE and not tunes:
        return requested  # the policy leaves the batch to the owner's request
    return contract.initial_batch_size
