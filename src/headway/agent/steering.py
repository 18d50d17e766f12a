"""Where the batch of a training goes: all that the batch contract decides, worker by worker alike.

What a step depends on is one value, ``Course``. It changes for four kinds of reasons: a schedule or
a log that is replayed, which every worker follows by the samples read; a rule, after an epoch; and
at an exchange, a choice of worker 0 or the guard. Every worker comes to the same course, since what
it is reckoned from is agreed.
"""

from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Self, final

from headway.agent.meter import Meter
from headway.agent.optimizer import UNSCALED
from headway.agent.plan import Split
from headway.agent.tuner import Change, Tuner, wanted_batch_size
from headway.core.model.efficiency import assumed_noise_scale, efficiency, followable
from headway.core.model.guard import Guard
from headway.core.model.lr import LearningRateScale, LrRule, scale_lr
from headway.core.model.replay import effective, record_at
from headway.core.model.retune import LEAST_STEPS
from headway.core.model.rules import EpochSigns, RuleState, after_epoch
from headway.core.model.schedule import batch_size_at, declared, next_change
from headway.core.types import BatchContract, BatchMode, ChangeCode
from headway.protocol.messages import WorkerOrders

RATE_MOVED = 0.05  # relative change of rate or progress that another noise scale is held for


@dataclass(frozen=True, slots=True)
class Course:
    """What the steps of a training depend on, beside its data and its script."""

    split: Split
    noise_scale: float | None = None  # that rate and progress are reckoned with
    halve_every: int = 0  # one step in so many is made in two passes; 0: none

    def differs_from(self, other: Self) -> bool:
        """Whether passes have another shape."""
        return (self.split, self.halve_every) != (other.split, other.halve_every)


@dataclass(frozen=True, slots=True)
class Turn:
    """Another course, and why."""

    course: Course
    code: ChangeCode
    why: str
    gain: float = 1.0
    goodput_per_s: float | None = None


@final
class Steering:
    """The batch contract of one generation of workers."""

    def __init__(self, orders: WorkerOrders, workers: int, tuner: Tuner, meter: Meter) -> None:
        self.contract: BatchContract = orders.batch
        self.tuner = tuner
        self.guard = Guard()
        self.better: Change | None = None  # worker 0's
        self.rule = LrRule.ADASCALE
        self._requested = orders.requested_batch_size
        self._workers = workers
        self._meter = meter
        self._log = effective(self.contract.replay)
        self._declared = declared(self.contract) if self.contract.follows else ()
        self._next_samples: int | None = 0  # when the schedule or the log next says something
        self._rule = RuleState(batch_size=self.contract.initial_batch_size)
        self.steps_since_turn = 0
        self._rated_at = 0  # the step after which the noise scale that is held was taken
        self.course = Course(Split(self.contract.initial_batch_size, workers, 1))

    def resume(self, saved: dict[str, Any] | None, samples: int) -> None:
        """Go on where the last generation was, as far as it fits this allocation."""
        size = self._first_size(saved, samples)
        if saved is not None:
            self.guard = Guard(**saved["guard"])
            self._rule = RuleState(**saved["rule"])
            size = self._rule.batch_size if self.contract.rule is not None else size
        if self._log:
            self.course = self._replayed(samples)
            return
        phi = None if saved is None else saved["noise_scale"]
        halves = self._meter.halve_every if saved is None else saved["halve_every"]
        split = self._split(size, samples)
        self.course = Course(split, phi, halves if self._workers == 1 else 0)

    def _first_size(self, saved: dict[str, Any] | None, samples: int) -> int:
        contract, tunes = self.contract, self.tuner.tunes
        if self._declared:
            return batch_size_at(self._declared, samples)
        if saved is not None and tunes:
            return int(saved["batch_size"])
        return wanted_batch_size(contract, tunes=tunes, requested=self._requested)

    def state_dict(self) -> dict[str, Any]:
        """Plain values for the checkpoint."""
        course = self.course
        return {
            "batch_size": course.split.batch_size,
            "workers": course.split.workers,
            "batch_per_gpu": course.split.batch_per_gpu,
            "noise_scale": course.noise_scale,
            "halve_every": course.halve_every,
            "guard": asdict(self.guard),
            "rule": asdict(self._rule),
        }

    def scale(self, step_size: int) -> LearningRateScale:
        """Of the learning rate, for a step of so many samples; the last of an epoch may be short,
        which no rule takes for a smaller batch than M0."""
        least = min(self.contract.initial_batch_size, self.course.split.batch_size)
        return self._scale(max(step_size, least), self.course.noise_scale)

    def worth(self, samples: int) -> float:
        """Scale-invariant examples that a step of so many samples is worth."""
        return self._worth(samples, self.course.noise_scale)

    def _scale(self, batch_size: int, phi: float | None) -> LearningRateScale:
        contract = self.contract
        return _scale_lr(
            self.rule, contract.initial_batch_size, batch_size, phi, contract.max_lr_factor
        )

    def _worth(self, samples: int, phi: float | None) -> float:
        initial = self.contract.initial_batch_size
        if self.contract.mode is not BatchMode.ADAPTIVE or samples <= initial:
            return float(samples)
        return samples * _efficiency(phi, initial, samples)

    # what may be a turn

    def after_step(self, samples: int) -> Turn | None:
        """A schedule or a log is followed by samples, at the first step boundary."""
        if self._next_samples is None or samples < self._next_samples:
            return None
        self._next_samples = next_change(self._declared, samples)
        if self._log:
            record = record_at(self._log, samples)
            return self._turn(self._replayed(samples), ChangeCode.REPLAYED, record.why)
        if not self._declared:
            return None
        size = batch_size_at(self._declared, samples)
        if size == self.course.split.batch_size:
            return None
        return self._resized(size, samples, ChangeCode.SCHEDULED, "the declared schedule")

    def unasked_ahead(self, samples: int, most: int) -> int:
        """Steps after the last of which the schedule or the log need be asked again."""
        if self._next_samples is None:
            return most
        return min(-(-(self._next_samples - samples) // self.course.split.batch_size), most)

    def after_epoch(self, samples: int) -> Turn | None:
        """A rule looks."""
        contract, rule = self.contract, self.contract.rule
        norm = self._meter.epoch_gradient_norm()
        if rule is None or not contract.follows or self._log:
            return None
        signs = EpochSigns(gradient_norm=norm, noise_scale=self._meter.noise.estimate())
        may = not contract.frozen(samples) and samples >= self.guard.held_until_samples
        self._rule, code = after_epoch(contract, rule, self._rule, signs, may=may)
        if code is None:
            return None
        return self._resized(self._rule.batch_size, samples, code, _seen(signs, code))

    def at_exchange(
        self, samples: int, chosen: Split, loss: float | None, examples: int
    ) -> Turn | None:
        """Worker 0 has chosen a split, and all know the mean loss of the last examples."""
        if self._log:
            return None
        fallen = self._fall(samples, loss, examples)
        if fallen is not None:
            return fallen
        phi, halves = self._noise_scale(), self._meter.halve_every
        if chosen != self.course.split:
            found = self.better
            course = Course(chosen, phi, halves)
            promised = (found.gain, found.goodput_per_s) if found else (1.0, None)
            return self._turn(course, ChangeCode.BETTER_GOODPUT, "predicted goodput", *promised)
        if self._rate_moved(phi):
            course = Course(chosen, phi, halves)
            return self._turn(course, ChangeCode.NOISE_MOVED, "the noise scale moved")
        course = replace(self.course, halve_every=halves)
        return self._turn(course, ChangeCode.MEASURING, "how often the noise is measured")

    def chosen(self) -> Split:
        """What worker 0 would have next."""
        ripe = self.better is not None and self.steps_since_turn >= LEAST_STEPS
        return self.better.split if self.better is not None and ripe else self.course.split

    def look_for_better(self, samples: int, epoch_samples: int | None) -> None:
        """Worker 0 asks the goodput model, where the batch may change."""
        self.better = None
        if not self.contract.frozen(samples) and samples >= self.guard.held_until_samples:
            noise = self._meter.noise
            self.better = self.tuner.choose(
                self.course.split,
                noise.estimate(),
                noise_scale_error=noise.error(),
                samples=epoch_samples,
            )

    def _fall(self, samples: int, loss: float | None, examples: int) -> Turn | None:
        """The guard, where the batch is not the owner's own choice."""
        contract, initial = self.contract, self.contract.initial_batch_size
        guarded = self.tuner.tunes or (contract.rule is not None and contract.follows)
        if loss is None or not guarded:
            return None
        expected = self.guard
        self.guard = expected.heard(loss, examples, initial)
        code = self.guard.departed(loss)
        if code is None or self.course.split.batch_size <= initial or contract.frozen(samples):
            return None
        self.guard = self.guard.fallen(samples, initial)
        self._rule = replace(self._rule, batch_size=initial)
        return self._resized(initial, samples, code, _departure(expected, loss, code))

    def _noise_scale(self) -> float | None:
        """What is measured now, as far as a training can follow."""
        sizes = self.contract.initial_batch_size, self.course.split.batch_size
        steps = self._meter.steps - self._rated_at
        return followable(self._meter.noise.estimate(), self.course.noise_scale, *sizes, steps)

    def _rate_moved(self, phi: float | None) -> bool:
        """Whether rate and progress would be others with what is measured now."""
        size = self.course.split.batch_size
        if size == self.contract.initial_batch_size:  # every factor is 1
            return False
        held, now = (
            (self._scale(size, one).rate, self._worth(size, one))
            for one in (self.course.noise_scale, phi)
        )
        return any(abs(new - old) > RATE_MOVED * old for old, new in zip(held, now, strict=True))

    def _resized(self, size: int, samples: int, code: ChangeCode, why: str) -> Turn | None:
        phi = self._meter.noise.estimate()
        return self._turn(
            replace(self.course, split=self._split(size, samples), noise_scale=phi), code, why
        )

    def _turn(
        self,
        course: Course,
        code: ChangeCode,
        why: str,
        better: float = 1.0,
        goodput_per_s: float | None = None,
    ) -> Turn | None:
        """Take another course, if it is another one."""
        if course == self.course:
            return None
        if course.split != self.course.split:
            self.steps_since_turn, self.better = 0, None
        if course.noise_scale != self.course.noise_scale:
            self._rated_at = self._meter.steps
        self.course = course
        return Turn(course, code, why, better, goodput_per_s)

    def _split(self, size: int, samples: int) -> Split:
        return self.tuner.start(size, frozen=self.contract.frozen(samples))

    def _replayed(self, samples: int) -> Course:
        record = record_at(self._log, samples)
        split = Split(record.new_batch_size, self._workers, record.batch_per_gpu)
        if record.gpus != self._workers:
            split = self.tuner.start(record.new_batch_size)
        halves = record.halve_every if self._workers == 1 else 0
        return Course(split, record.noise_scale, halves)


@lru_cache(maxsize=64)  # asked for in every step
def _scale_lr(
    rule: LrRule, initial: int, batch_size: int, phi: float | None, most: float | None
) -> LearningRateScale:
    scale = scale_lr(
        rule, initial_batch_size=initial, batch_size=batch_size, noise_scale=phi, most=most
    )
    return UNSCALED if scale == UNSCALED else scale  # the same object is known at a glance


@lru_cache(maxsize=64)
def _efficiency(phi: float | None, initial: int, batch_size: int) -> float:
    return float(efficiency(assumed_noise_scale(phi), initial, batch_size))


def _seen(signs: EpochSigns, code: ChangeCode) -> str:
    if code is ChangeCode.NOISE_ABOVE_BATCH:
        return f"a noise scale of {signs.noise_scale:.4g} exceeds the batch"
    change = "little" if code is ChangeCode.CALM else "much"
    return f"the gradient norm, now {signs.gradient_norm:.4g}, changes {change}"


def _departure(expected: Guard, loss: float, code: ChangeCode) -> str:
    if code is ChangeCode.NOT_A_NUMBER:
        return f"the loss is {loss}"
    return f"a loss of {loss:.4g} where at most {expected.limit:.4g} was expected"
