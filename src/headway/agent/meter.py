"""Everything that is measured of the running steps: gradient noise and seconds."""

import time
from dataclasses import asdict, dataclass
from math import ceil, sqrt
from typing import Any, final

import torch

from headway.agent.noise import HORIZON, NoiseScale
from headway.agent.plan import Pass
from headway.agent.probe import GradientProbe, Measured
from headway.agent.timing import History, Shape, Stopwatch

MEASURE_SHARE = 0.02  # of the time that measuring the noise scale may take
_MOST_APART = 64  # steps between two measured ones
_APART_AT_FIRST = 4  # while there is little to go by
_LITTLE = 32  # pairs
_SMOOTHING = 0.1


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
    ) -> None:
        self.probe = GradientProbe(workers)
        self.noise = NoiseScale(horizon_examples=HORIZON * initial_batch_size)
        self.history = History()
        self.every = _APART_AT_FIRST  # one step in so many is measured; agreed among the workers
        self.step_s: float | None = None
        self._workers = workers
        self._halves = halves and workers == 1
        self._nodes = nodes
        self._gpu_type = gpu_type
        self.steps = 0
        self._cost_s: float | None = None  # of a measured step
        self._warm = False  # the first step warms up
        self._taken: list[Measured] = []
        self._squared_norm = Mean()  # of the gradient itself, in this epoch
        cuda = torch.cuda.is_available()
        self._watch = Stopwatch(time.perf_counter, torch.cuda.synchronize if cuda else None)

    def restart(self) -> None:
        """Steps have another shape from here on."""
        self._watch.restart()
        self.probe.forget_previous()
        self.step_s = None

    def begin_pass(self, one: Pass) -> None:
        turn = self.steps % self.every
        differences = self._workers == 1 and one.passes == 1 and not self._halves
        measured = turn == 0 or (turn == 1 and differences)
        if self._halves and (one.halved or one.passes == 1):
            measured = one.halved
        self.probe.begin_pass(
            one,
            measured=measured,
            chained=turn == 0 and differences,
            examples=float(one.step_size * self.every),
        )
        self._watch.begin_pass(one.index)

    def end_pass(self, one: Pass) -> None:
        self._watch.end_pass(last=one.last)

    def end_step(self, one: Pass) -> None:
        """After the last pass of a step."""
        self.probe.end_step()
        if self.probe.cost_s > 0 and self._warm:
            self._cost_s = _smoothed(self._cost_s, self.probe.cost_s)
        self._warm = True
        self.steps += 1
        taken = self._watch.step(
            alone=self._workers == 1, last_gradient_s=self.probe.last_gradient_s
        )
        if taken is None:
            return
        grad_s, step_s = taken
        if one.halved and self.step_s is not None:  # costs another start of a pass
            self._cost_s = _smoothed(self._cost_s, max(step_s - self.step_s, 0.0))
        elif not one.halved:
            self.step_s = _smoothed(self.step_s, step_s)
        per_gpu = -(-one.step_size // (self._workers * one.passes))
        shape = Shape(self._workers, self._nodes, per_gpu, one.passes - 1, self._gpu_type)
        self.history.add(shape, grad_s=grad_s, step_s=step_s)

    def sums(self) -> list[float]:
        """Squared norms since the last call, to be added up over the workers: the only time that
        the host waits for them."""
        self._taken = self.probe.take()
        norms = [norm for one in self._taken for norm in (one.small, one.big)]
        return torch.stack(norms).double().tolist() if norms else []

    def add(self, sums: list[float]) -> None:
        """Those squared norms, added up."""
        for small, big, one in zip(sums[::2], sums[1::2], self._taken, strict=True):
            pair = one.pair(small, big / self._workers)
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

    def wanted_every(self) -> int:
        """So many steps apart that measuring stays within its share of the time."""
        if not self.step_s or self._cost_s is None:
            return _APART_AT_FIRST
        most = _APART_AT_FIRST if self.noise.pairs < _LITTLE else _MOST_APART
        apart = min(max(ceil(self._cost_s / (MEASURE_SHARE * self.step_s)), 1), most)
        wanted = 1 << (apart - 1).bit_length()
        # up at once, down for a good reason only: it is a record each time
        return wanted if wanted > self.every or 4 * wanted <= self.every else self.every

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


def _smoothed(average: float | None, value: float) -> float:
    return value if average is None else average + _SMOOTHING * (value - average)
