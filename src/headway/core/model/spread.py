"""How well mean step times are known: their spread from one stretch of steps to the next.

Steps in a row share what the machine does beside them, so their mean is known far worse than their
own spread and number suggest. Hence batch means (Law and Kelton, Simulation Modeling and Analysis):
a shape's steps are cut into blocks, longer ones the more there is, and by what a block's mean
differs from the others one sees the error of them all. It is a property of the machine more than of
the shape, so all shapes of a job are pooled, and a few blocks' worth of a prior is counted with
them. Load that lasts longer than a block shows when the shape is run again, and counts then.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import log, sqrt

BLOCK_S = 1.0  # of training, at least, in a block
BLOCK_SHARE = 0.1  # of all that was run of the shape
BLOCK_STEPS = 8  # and so many steps
# relative, of a second: 3.6 % is the median in Chronus's published times, of idle machines
PRIOR_ERROR = 0.1
PRIOR_BLOCKS = 4.0  # that this much is known before anything was measured
VISIT_S = 10.0  # for which a batch size is tried before it is compared with others
_LEAST_S = 0.01  # that a first step amounts to


@dataclass(slots=True)
class Blocks:
    """What remains of the blocks of one shape of step, aged."""

    count: float = 0.0
    total_s: float = 0.0  # in all of them
    mean: float = 0.0  # of the logarithms of their mean step times, by their seconds
    squares: float = 0.0  # seconds times the square of what each differs from it
    open_s: float = 0.0  # the block that is not full yet
    open_steps: int = 0

    def add(self, step_s: float, steps: int = 1) -> None:
        """Take a step, or a few in a row by their mean."""
        self.open_s += steps * step_s
        self.open_steps += steps
        if self.open_steps < BLOCK_STEPS or self.open_s < max(BLOCK_S, BLOCK_SHARE * self.total_s):
            return
        value = log(self.open_s / self.open_steps)
        self.count += 1
        self.total_s += self.open_s
        off = value - self.mean
        self.mean += off * self.open_s / self.total_s
        self.squares += self.open_s * off * (value - self.mean)
        self.open_s, self.open_steps = 0.0, 0

    def age(self, left: float) -> None:
        """Let only this share of the full blocks count from now on."""
        self.count *= left
        self.total_s *= left
        self.squares *= left

    @property
    def amount_s(self) -> float:
        """Seconds that the mean step time is known from."""
        return max(self.total_s + self.open_s, _LEAST_S)


def error_of_a_second(seen: Iterable[Blocks]) -> float:
    """Relative standard error of the mean step time in a second, from all blocks of a job.

    That of T seconds is less by the root of T. Few blocks may show too little of it: what is said
    is wider, so that three times as much is exceeded as seldom as three standard errors are
    (Student's t by its expansion in 1 / freedom).
    """
    squares, freedom = PRIOR_BLOCKS * PRIOR_ERROR**2, PRIOR_BLOCKS
    for one in seen:
        squares += one.squares
        freedom += max(one.count - 1, 0.0)
    return sqrt(squares / freedom) * (1 + 2.5 / freedom + 5.75 / freedom**2)
