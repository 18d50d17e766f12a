"""Plain steps in a row: each is counted and timed, and that is all.

A worker alone makes them in one pass each, none of them is measured, and nothing can be decided
before the last. Python that has gone cold while a model computed takes ten times as long as in a
loop, so most steps touch next to none of it; what they come to is added up when the row ends.
"""

from collections.abc import Callable
from typing import final

from headway.agent.meter import Meter
from headway.agent.optimizer import UNSCALED, ScaledOptimizer
from headway.agent.plan import Pass
from headway.agent.steering import Steering
from headway.core.model.lr import LearningRateScale

ONE_HEARD_OF = 4  # losses


@final
class Stride:
    """The row that is under way, if one is."""

    def __init__(
        self,
        clock: Callable[[], float],
        meter: Meter,
        steering: Steering,
        optimizers: list[ScaledOptimizer],
    ) -> None:
        self.on = False  # the present step is one of the row
        self.size = 0  # samples of each
        self.worth = 0.0  # scale-invariant examples of each
        self.scale: LearningRateScale = UNSCALED
        self.laps_s: list[float] = []  # of those that the script has left
        self._left = 0  # steps that may still follow
        self._steps = 0  # made and not settled yet
        self._began_s = 0.0
        self._ended_s: float | None = None  # the step before: this one begins at once
        self._clock = clock
        self._meter = meter
        self._steering = steering
        self._optimizers = optimizers
        self._let_step(unasked=False)

    def look_ahead(self, samples: int, most: int) -> None:
        """How many plain steps may follow, when so many samples were read."""
        steering, size = self._steering, self._steering.course.split.batch_size
        self._left = steering.unasked_ahead(samples, min(most, self._meter.plain_ahead()))
        if self._left > 0:
            self.size, self.worth, self.scale = size, steering.worth(size), steering.scale(size)
            self._meter.begin_plain()
        self._let_step(unasked=self._left > 0 and self.scale is UNSCALED)

    def _let_step(self, *, unasked: bool) -> None:
        """Optimizers ask nobody in steps that are not scaled."""
        self._unasked = unasked
        for optimizer in self._optimizers:
            optimizer.let_step(unasked=unasked)

    def begin(self, one: Pass) -> bool:
        """Whether the step that begins is a plain one; the first that is not ends the row."""
        self.on = self._left > 0 and one.step_size == self.size and one.passes == 1
        if not self.on:
            self._left = 0
            if self._unasked:
                self._let_step(unasked=False)
        self._began_s = self._clock() if self._ended_s is None else self._ended_s
        self._ended_s = None
        return self.on

    def heard(self) -> bool:
        """A step is made: is its loss one of those that are heard?"""
        self._steps += 1
        return self._steps % ONE_HEARD_OF == 1

    def end(self) -> bool:
        """Whether the row goes on after this step."""
        self._ended_s = now_s = self._clock()
        self.laps_s.append(now_s - self._began_s)
        self._left -= 1
        return self._left > 0

    def settle(self) -> tuple[int, int]:
        """Tell of the steps made since this was last called. Samples read, and steps ended."""
        read, laps_s = self._steps * self.size, self.laps_s
        self._steps, self.laps_s, self._ended_s = 0, [], None
        if laps_s:
            self._meter.passed(self.size, laps_s)
            self._steering.steps_since_turn += len(laps_s)
        return read, len(laps_s)
