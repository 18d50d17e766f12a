"""Everything that is measured of the running steps: gradient noise and seconds."""

import time
from dataclasses import asdict, dataclass
from math import ceil, sqrt
from typing import Any, final

import torch

from headway.agent.context import Context
from headway.agent.noise import HORIZON, NoiseScale
from headway.agent.norms import Measured
from headway.agent.plan import Pass
from headway.agent.probe import GradientProbe
from headway.agent.timing import History, Shape, Stopwatch

MOST_STEPS = 256  # between two exchanges
MEASURE_SHARE = 0.005  # of the time that measuring the noise scale may take
EARLY_SHARE = 0.05  # while there is little to go by; it fades as that grows
# of a step, which another start of forward and backward costs: a difference of two noisy times may
# say less than nothing, and every other step would be halved. Of a larger batch less, by the root
# of its growth: what the start costs remains, the rest of the step grows
LEAST_OF_HALVING = 0.25
_LITTLE = 16  # pairs
_MOST_APART = 128  # steps between two measured ones
_MOST_APART_EARLY = 8
_APART_AT_FIRST = 4
_SMOOTHING = 0.1
_MOST_STEPS = 4.0  # that a pair may cost; more is the machine doing something else


@dataclass(slots=True)
class Mean:
    """A weighted mean."""

    total: float = 0.0
    weight: float = 0.0

    def add(self, value: float, weight: float) -> None:
        self.total += value * weight
        self.weight += weight


@final
class Meter:
    """One worker's measurements; which steps are measured is the same on every worker.

    ``halves``: where one worker makes one pass a step, some steps are made in two passes. Without,
    consecutive steps are compared, which leaves the training untouched but takes the movement of
    the parameters for noise.
    """

    def __init__(
        self,
        *,
        workers: int,
        nodes: int,
        initial_batch_size: int,
        halves: bool,
        gpu_type: str | None = None,
        probe: GradientProbe | None = None,
    ) -> None:
        """``probe``: of the same worker when it was one of others."""
        self.probe = probe or GradientProbe(workers)
        self.probe.enter(workers)
        self.noise = NoiseScale(horizon_examples=HORIZON * initial_batch_size)
        self.every = _APART_AT_FIRST  # one step in so many is measured; agreed among the workers
        self.history = History()
        self.step_s: float | None = None  # of a whole step; the last one of an epoch may be short
        self._workers = workers
        self._halves = halves and workers == 1
        self._halving = self._halves  # where there are several passes anyway, none is added
        self._nodes = nodes
        self._gpu_type = gpu_type
        self._initial = initial_batch_size
        self._whole = 0  # samples of a whole step
        self.steps = 0
        self._cost_s: float | None = None  # of a pair
        self._measured = False  # the present step
        self._extra_s = 0.0  # that measured steps took longer than others since ``sums``
        self._left_s: float | None = None  # the measured step before: what tidies up counts too
        self._taken: list[Measured] = []
        self._squared_norm = Mean()  # of the gradient itself, in this epoch
        cuda = torch.cuda.is_available()
        self._watch = Stopwatch(time.perf_counter, torch.cuda.synchronize if cuda else None)

    def restart(self) -> None:
        """Steps have another shape from here on."""
        self._watch.restart()
        self.probe.forget_previous()
        self.step_s, self._extra_s, self._whole = None, 0.0, 0

    def reads(self, samples: int) -> None:
        """The training data set has so many samples."""
        self.noise.samples = float(samples)

    def begin_pass(self, one: Pass) -> None:
        if one.step_start == 0:  # between two epochs the script is at work, as with a test set
            self._left_s = None
        self._between()
        self._watch.begin_pass(one.index)
        turn = self.steps % self.every
        differences = self._workers == 1 and one.passes == 1 and not self._halves
        measured = turn == 0 or (turn == 1 and differences)
        self._halving = self._halves and (one.halved or one.passes == 1)
        if self._halving:
            measured = one.halved
        self._measured = measured
        self.probe.begin_pass(
            one,
            measured=measured,
            chained=turn == 0 and differences,
            examples=float(one.step_size * self.every),
        )

    def end_pass(self, one: Pass) -> None:
        self._watch.end_pass(last=one.last)
        if one.last:
            self._end_step(one)

    def plain_ahead(self) -> int:
        """Steps of one pass that a worker alone may make from here on without a word to the meter
        before the last: those that are not measured."""
        turn, measured = self.steps % self.every, 1 if self._halves else 2  # in a row
        if self._workers > 1 or turn < measured:
            return 0
        return min(self.every - turn, self._watch.untimed_ahead())

    def begin_plain(self) -> None:
        """Such steps follow."""
        self.probe.rest()
        self._between()

    def passed(self, step_size: int, laps_s: list[float]) -> None:
        """So long took each of the plain steps that were made."""
        self.steps += len(laps_s)
        timed_s = self._watch.passed(laps_s)
        if not timed_s:
            return
        self._whole = step_size
        for lap_s in timed_s:
            self.step_s = _smoothed(self.step_s, lap_s)
        shape = Shape(self._workers, self._nodes, step_size, 0, self._gpu_type)
        self.history.add_row(shape, timed_s)

    def _end_step(self, one: Pass) -> None:
        self.probe.end_step()
        self.steps += 1
        taken = self._watch.step(
            alone=self._workers == 1, last_gradient_s=self.probe.last_gradient_s
        )
        if taken is None:
            return
        grad_s, step_s = taken
        per_gpu = -(-one.step_size // (self._workers * one.passes))
        shape = Shape(self._workers, self._nodes, per_gpu, one.passes - 1, self._gpu_type)
        self.history.add(shape, grad_s=grad_s, step_s=step_s)
        if one.step_size < self._whole:  # compared with others it would seem cheap, or they dear
            return
        if one.step_size > self._whole:
            self._whole, self.step_s = one.step_size, None
        if one.halved and self.step_s is not None:  # costs another start of a pass
            self._costs(step_s - self.step_s)
        elif not one.halved:
            if self._measured and self.step_s is not None and self._workers == 1:
                self._extra_s += step_s - self.step_s
                self._left_s = self._watch.ended_s
            self.step_s = _smoothed(self.step_s, step_s)

    def sums(self) -> list[float]:
        """What was measured since the last call, to be added up over the workers: the only time
        that the host waits for it."""
        self._left_s = None  # what follows is not for measuring
        self._taken = self.probe.take()
        measured = [number for one in self._taken for number in (one.small, one.big, one.doubt)]
        sums: list[float] = torch.stack(measured).tolist() if measured else []
        # hooks come and go, and memory is used again: more than what the hooks themselves take
        took_s, self._extra_s = max(self.probe.toll.read(), self._extra_s), 0.0
        if self._taken and not self._halving:  # there it is part of what another pass costs
            self._costs(took_s / len(self._taken))
        return sums

    def add(self, sums: list[float]) -> None:
        """The same, added up."""
        numbers = zip(sums[::3], sums[1::3], sums[2::3], self._taken, strict=True)
        for small, big, doubt, one in numbers:
            pair = one.pair(small, big / self._workers, doubt / self._workers)
            self.noise.add(pair, one.examples)
            if pair.usable:
                self._squared_norm.add(pair.gradient_squared(), one.examples)

    def epoch_gradient_norm(self) -> float | None:
        """|G| over what was measured since this was last called; None: nothing was."""
        mean, self._squared_norm = self._squared_norm, Mean()
        return sqrt(max(mean.total / mean.weight, 0.0)) if mean.weight > 0 else None

    @property
    def halve_every(self) -> int:
        """One step in so many is made in two passes, where nothing else tells the noise."""
        return self.every if self._halves else 0

    def steps_in(self, seconds: float) -> int:
        """At least one, and not endlessly many."""
        return int(min(max(seconds / self.step_s, 1), MOST_STEPS)) if self.step_s else 1

    def wanted_every(self) -> int:
        """So many steps apart that measuring stays within its share of the time; at least two, so
        that no step is in two pairs, which would not be independent."""
        if not self.step_s or self._cost_s is None:
            return _APART_AT_FIRST
        known = max(self.noise.taken / _LITTLE, 1.0) ** 2  # or thousands of steps cost 1 % more
        share = max(EARLY_SHARE / known, MEASURE_SHARE)
        most = min(_MOST_APART_EARLY * known, _MOST_APART)
        least = LEAST_OF_HALVING * sqrt(self._initial / max(self._whole, self._initial))
        cost_s = max(self._cost_s, least * self.step_s if self._halving else 0.0)
        apart = int(min(max(ceil(cost_s / (share * self.step_s)), 2), most))
        wanted = 1 << (apart - 1).bit_length()
        if wanted < self.every < 4 * wanted:  # costs are noisy: down for a good reason, up at once
            return self.every
        return wanted

    def _between(self) -> None:
        if self._left_s is not None:
            self._extra_s += self._watch.now_s() - self._left_s
            self._left_s = None

    def _costs(self, pair_s: float) -> None:
        most_s = _MOST_STEPS * self.step_s if self.step_s else pair_s
        self._cost_s = _smoothed(self._cost_s, min(pair_s, most_s))

    def state_dict(self) -> dict[str, Any]:
        return {
            "noise": self.noise.state_dict(),
            "timing": self.history.state_dict(),
            "steps": self.steps,
            "squared_norm": asdict(self._squared_norm),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.noise = NoiseScale.restored(state["noise"])
        self.history.load_state_dict(state["timing"])
        self.steps = state["steps"]  # so that the same steps are halved as without a restart
        self._squared_norm = Mean(**state["squared_norm"])


def meter_of(context: Context, probe: GradientProbe | None = None) -> Meter:
    """For a worker that was told all this; ``probe``: of the same worker among others."""
    orders = context.orders
    return Meter(
        workers=context.workers,
        nodes=context.nodes,
        initial_batch_size=orders.batch.initial_batch_size,
        halves=orders.batch.adapts,
        gpu_type=context.gpu_type,
        probe=probe,
    )


def _smoothed(average: float | None, value: float) -> float:
    return value if average is None else average + _SMOOTHING * (value - average)
