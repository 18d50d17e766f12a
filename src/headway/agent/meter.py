"""Everything that is measured of the running steps: gradient noise and seconds."""

import time
from math import ceil
from typing import Any, final

import torch

from headway.agent.noise import HORIZON, NoiseScale
from headway.agent.plan import Pass, Split
from headway.agent.probe import GradientProbe, Measured
from headway.agent.timing import History, Shape, Stopwatch

MEASURE_SHARE = 0.02  # of the time that measuring the noise scale may take
_MOST_APART = 64  # steps between two measured ones
_SMOOTHING = 0.1


@final
class Meter:
    """One worker's measurements; which steps are measured is the same on every worker."""

    def __init__(self, *, workers: int, nodes: int, initial_batch_size: int) -> None:
        self.probe = GradientProbe(workers)
        self.noise = NoiseScale(horizon_examples=HORIZON * initial_batch_size)
        self.history = History()
        self.every = 1  # one step in so many is measured; agreed among the workers
        self.step_s: float | None = None
        self._workers = workers
        self._nodes = nodes
        self._steps = 0
        self._measured_steps = 0
        self._taken: list[Measured] = []
        cuda = torch.cuda.is_available()
        self._watch = Stopwatch(time.perf_counter, torch.cuda.synchronize if cuda else None)

    def restart(self, *, new_shape: bool) -> None:
        """A pause, or a step of another shape: what follows is not comparable."""
        self._watch.restart()
        if new_shape:
            self.probe.forget_previous()
            self.step_s = None

    def begin_pass(self, one: Pass) -> None:
        turn = self._steps % self.every
        differences = self._workers == 1 and one.passes == 1
        measured = turn == 0 or (turn == 1 and differences)
        self.probe.begin_pass(
            one,
            measured=measured,
            chained=turn == 0 and differences,
            examples=float(one.step_size * self.every),
        )
        self._measured_steps += measured and one.index == 0
        self._watch.begin_pass(one.index)

    def end_pass(self, one: Pass) -> None:
        self._watch.end_pass(last=one.last)

    def end_step(self, one: Pass, split: Split) -> None:
        """After the last pass; a shorter step at the end of an epoch is not timed."""
        self.probe.end_step()
        self._steps += 1
        taken = self._watch.step(
            alone=self._workers == 1, last_gradient_s=self.probe.last_gradient_s
        )
        if taken is None or one.step_size != split.batch_size:
            return
        grad_s, step_s = taken
        smooth = step_s if self.step_s is None else self.step_s
        self.step_s = smooth + _SMOOTHING * (step_s - smooth)
        shape = Shape(self._workers, self._nodes, split.batch_per_gpu, split.accum_steps)
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
            self.noise.add(one.pair(small, big / self._workers), one.examples)

    def wanted_every(self) -> int:
        """So many steps apart that measuring stays within its share of the time."""
        if not self.step_s or not self._measured_steps:
            return 1
        cost_s = self.probe.cost_s / self._measured_steps
        return min(max(ceil(cost_s / (MEASURE_SHARE * self.step_s)), 1), _MOST_APART)

    def state_dict(self) -> dict[str, Any]:
        return {"noise": self.noise.state_dict(), "timing": self.history.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.noise = NoiseScale.restored(state["noise"])
        self.history.load_state_dict(state["timing"])
