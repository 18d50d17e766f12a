"""The agents inside simulated jobs: they measure, fit, choose (m, s) and report.

An agent knows the times and the noise scale of what its job has really run, and nothing else. Its
fit comes from those observations alone, as in a real job, and so does what a policy is told.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from headway.core.adaptation import DECLARED, Regime
from headway.core.control.events import Event, JobReported
from headway.core.ids import JobId
from headway.core.model.choice import FITTERS
from headway.core.model.fit import OPTIMISM, Fit, StepErrors
from headway.core.model.observations import Observations
from headway.core.model.retune import LEAST_STEPS
from headway.core.model.split import Choice, split_batch
from headway.core.types import ChangeCode, JobReport, Placement
from headway.sim import following
from headway.sim.changes import CLAUSES, changed
from headway.sim.oracle import Oracle
from headway.sim.schedule import code_of
from headway.sim.truth import JobTruth
from headway.sim.tuning import Known, Tuner

MOVED = 0.05  # relative change of a measured time that makes a fit worth repeating
LATEST_WEIGHT = 4.0  # of the configuration that runs now; each of the earlier ones weighs 1
LEAST_SHARE = 0.05  # of a new measurement in the mean of a configuration, so that means age


class Configuration(NamedTuple):
    """What a step time depends on, as far as an agent tells its observations apart."""

    at: Placement
    gpu_type: str | None  # None: not told
    batch_per_gpu: int


class Times(NamedTuple):
    """Seconds of a pass without and with synchronisation."""

    pass_s: float
    synced_s: float


@final
class Mind:
    """What one agent remembers."""

    def __init__(self) -> None:
        self.adapts = False
        self.seen: dict[Configuration, Times] = {}
        self.counts: dict[Configuration, int] = {}  # measurements behind each
        self.fitted: dict[Configuration, Times] = {}  # what the last fit was made from
        self.fit: Fit | None = None
        self.noise_scale: float | None = None
        self.noise_scale_error: float | None = None
        self.ran: Choice | None = None  # how the batch was split when it last ran
        self.gpus = 0  # on which it then ran
        self.wakes_s = math.inf  # when it next looks for a better split
        self.regimes: tuple[Regime, ...] = ()  # begun so far, of a job with a trajectory


@final
class SimulatedAgents:
    """All agents of a run. Fits of equal observations are made once."""

    def __init__(
        self,
        *,
        listening: bool,
        noise: float,
        rng: np.random.Generator,
        throughput: str = "linear",
        oracle: Oracle | None = None,
    ) -> None:
        self._listening = listening  # whether anything depends on what agents learn
        self._noise = noise
        self._rng = rng
        self._fitter = FITTERS[throughput]
        self._oracle = oracle  # where agents need not learn how fast their jobs are
        self._minds: dict[JobId, Mind] = {}
        self._fits: dict[object, Fit] = {}
        self._step_errors: dict[object, StepErrors] = {}
        self._tuner = Tuner()

    def start(self, job: JobTruth, *, adapts: bool) -> None:
        """Choose for the allocation that the job has just been given."""
        mind = self._minds.setdefault(job.spec.job_id, Mind())
        mind.adapts = adapts
        mind.regimes = mind.regimes or following.first_regime(job)
        if self._oracle is not None:
            mind.fit = self._oracle.of(job.profile)
        job.tune(self._first_choice(job, mind))

    def started(self, job: JobTruth, at_s: float) -> Sequence[Event]:
        """The batch change that came with the allocation, if the batch size changed."""
        mind = self._minds[job.spec.job_id]
        mind.wakes_s = at_s + _ripens_s(job) if self._listening else math.inf
        ran, now, gpus = mind.ran, job.choice, mind.gpus
        mind.ran, mind.gpus = now, job.allocation.gpus
        if ran is None or now is None or ran.batch_size == now.batch_size:
            return ()
        why = (ChangeCode.ALLOCATION, "another allocation")
        return (changed(job, mind, ran, at_s, why, old_gpus=gpus),)

    def turned(self, job: JobTruth) -> Sequence[Event]:
        """The batch changes that the job's own rule has made since it was last asked."""
        turns, job.turns = job.turns, []
        if not turns:
            return ()
        mind = self._minds[job.spec.job_id]
        mind.regimes = following.begun(mind.regimes, turns)
        mind.ran = job.choice
        return [following.change(job, turn) for turn in turns]

    def wakes_s(self, job: JobTruth) -> float:
        """When it looks again: a few steps after a change, and after each epoch; where the batch
        changes by itself, when it does, which neighbours may put off."""
        if job.schedule and job.choice is not None:
            due = job.choice.batch_size != job.batch_size
            return job.at_s if due else job.change_s()
        return self._minds[job.spec.job_id].wakes_s

    def tune(self, job: JobTruth, at_s: float) -> Sequence[Event]:
        """Measure, and take a split that promises enough more goodput."""
        mind = self._minds[job.spec.job_id]
        self._measure(job, mind)
        ran, gain = job.choice, 1.0
        if job.schedule and ran is not None:
            return self._follow(job, mind, ran, at_s)
        frozen = job.spec.batch.frozen(int(job.samples))
        if mind.adapts and not frozen and mind.fit is not None and ran is not None:
            choice, gain = self._tuner.choose(_known(job, mind, mind.fit, self._noise), ran)
            if choice != ran:
                job.tune(choice)
                mind.ran = choice
                mind.wakes_s = at_s + _ripens_s(job)
                why = (ChangeCode.BETTER_GOODPUT, "goodput")
                return (changed(job, mind, ran, at_s, why, gain),)
        mind.wakes_s = job.epoch_ends_s() + _ripens_s(job)
        return ()

    def report(self, job: JobTruth, at_s: float) -> Sequence[Event]:
        """What it has measured by now."""
        if not self._listening:
            return ()
        mind = self._minds[job.spec.job_id]
        self._measure(job, mind)
        return (JobReported(at_s=at_s, job_id=job.spec.job_id, report=self._report(job, mind)),)

    def _follow(self, job: JobTruth, mind: Mind, ran: Choice, at_s: float) -> Sequence[Event]:
        """The batch size that the job's own schedule or rule asks for now."""
        batch = job.spec.batch
        now = split_batch(batch, job.batch_size, job.allocation.gpus)
        job.tune(now)
        mind.ran = now
        if now.batch_size == ran.batch_size:
            return ()
        rule = DECLARED if batch.rule is None else batch.rule.name
        code = code_of(rule, batch, now.batch_size)
        return (changed(job, mind, ran, at_s, (code, CLAUSES[code])),)

    def _first_choice(self, job: JobTruth, mind: Mind) -> Choice:
        batch, gpus = job.spec.batch, job.allocation.gpus
        if batch.follows or not mind.adapts:
            return split_batch(batch, job.batch_size, gpus)
        if batch.frozen(int(job.samples)):
            size = batch.initial_batch_size if mind.ran is None else mind.ran.batch_size
            return split_batch(batch, size, gpus, frozen=True)
        if mind.fit is None or mind.noise_scale is None:
            return split_batch(batch, batch.initial_batch_size, gpus)
        return self._tuner.choose(_known(job, mind, mind.fit, self._noise))[0]

    def _measure(self, job: JobTruth, mind: Mind) -> None:
        speed, choice = job.speed, job.choice
        if speed is None or choice is None:
            return
        noise_scale = job.noise_scale
        times = Times(speed.pass_s, speed.synced_s)
        if self._noise > 0:
            factors = np.exp(self._noise * self._rng.standard_normal(3)).tolist()
            times = Times(speed.pass_s * factors[0], speed.synced_s * factors[1])
            if noise_scale is not None:
                noise_scale *= factors[2]
                mind.noise_scale_error = noise_scale * self._noise
        mind.noise_scale = noise_scale
        at = Configuration(*_place(job), choice.batch_per_gpu)
        before = mind.seen.pop(at, None)  # so that the latest is the last
        count = mind.counts[at] = mind.counts.get(at, 0) + 1
        if before is not None and self._noise > 0:
            times = _smoothed(before, times, max(1 / count, LEAST_SHARE))
        mind.seen[at] = times
        mind.regimes = following.measured(mind.regimes, job, *times)
        if self._oracle is None and _moved(mind.fitted.get(at), mind.seen[at]):
            self._fit(mind)

    def _fit(self, mind: Mind) -> None:
        mind.fitted = dict(mind.seen)
        last = None if mind.fit is None else (mind.fit.params, mind.fit.grad_by_type)
        key = (tuple(mind.seen.items()), last)
        if key not in self._fits:
            seen = _observations(mind.seen)
            self._fits[key] = self._fitter(seen, mind.fit, optimism=OPTIMISM)
        mind.fit = self._fits[key]

    def _report(self, job: JobTruth, mind: Mind) -> JobReport:
        choice, fitted = job.choice or Choice(0, 0, 0), mind.fit or Fit()
        place, gpu_type = _place(job)
        key = (fitted.doubt, place, gpu_type, choice)
        if key not in self._step_errors:
            self._step_errors[key] = fitted.step_errors(
                place,
                batch_per_gpu=choice.batch_per_gpu,
                accum_steps=choice.accum_steps,
                gpu_type=gpu_type,
            )
        error = self._step_errors[key]
        return JobReport(
            throughput=fitted.params_on(gpu_type),
            noise_scale=mind.noise_scale,
            progress_examples=job.progress,
            batch_per_gpu=choice.batch_per_gpu,
            accum_steps=choice.accum_steps,
            batch_size=choice.batch_size,
            restart_s=job.restart_s,
            fit_error=fitted.error if math.isfinite(fitted.error) else None,
            noise_scale_error=mind.noise_scale_error,
            samples=int(job.samples),
            epoch=job.epoch,
            regimes=mind.regimes,
            grad_by_type=fitted.grad_by_type,
            step_error=error.here,
            step_error_doubled=error.doubled,
            fit_trouble=fitted.trouble,
        )


def _ripens_s(job: JobTruth) -> float:
    """How long a choice must have run before another one is considered."""
    return LEAST_STEPS * job.speed.step_s if job.speed is not None else math.inf


def _smoothed(before: Times, now: Times, share: float) -> Times:
    """A mean of what was measured, in which the latest has this share."""
    return Times(*(old + share * (new - old) for old, new in zip(before, now, strict=True)))


def _moved(fitted: Times | None, now: Times) -> bool:
    if fitted is None:
        return True
    return any(abs(math.log(new / old)) > MOVED for old, new in zip(fitted, now, strict=True))


def _place(job: JobTruth) -> tuple[Placement, str]:
    """Where it runs and on what type of GPU, as far as its agent is told."""
    return job.told, job.site.gpu_type


def _known(job: JobTruth, mind: Mind, fitted: Fit, noise: float) -> Known:
    """Its fit and its noise scale, and what passes took where it runs now."""
    place, gpu_type = _place(job)
    passes = tuple(
        (one.batch_per_gpu, *times, noise * max(1 / mind.counts[one], LEAST_SHARE) ** 0.5)
        for one, times in mind.seen.items()
        if one.at == place and one.gpu_type == gpu_type
    )
    params = fitted.params_on(gpu_type)
    return Known(job.spec.batch, params, mind.noise_scale, place, passes, noise)


def _observations(seen: dict[Configuration, Times]) -> Observations:
    batch = np.array([one.batch_per_gpu for one in seen], dtype=np.float64)
    pass_s, synced_s = np.array(list(seen.values()), dtype=np.float64).T
    weight = np.ones(len(seen))
    weight[-1] = LATEST_WEIGHT
    types = [one.gpu_type for one in seen if one.gpu_type is not None]
    return Observations(
        gpus=np.array([one.at.gpus for one in seen], dtype=np.int64),
        nodes=np.array([one.at.nodes for one in seen], dtype=np.int64),
        racks=np.array([one.at.racks for one in seen], dtype=np.int64),
        batch_per_gpu=batch,
        accum_steps=np.zeros(len(seen)),
        grad_s=pass_s,
        step_s=synced_s,
        weight=weight,
        gpu_type=types if len(types) == len(seen) else None,
    )
