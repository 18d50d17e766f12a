"""Seconds per pass and per step, measured and kept as observations for the throughput fit."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from math import inf, log, sqrt
from typing import Any, NamedTuple, final

import numpy as np

from headway.core.model.observations import Observations
from headway.core.model.spread import VISIT_S, Blocks, error_of_a_second

WARM_UP_STEPS = 3  # dropped after a start, a resize or a new batch size
HALF_LIFE_S = 300.0  # of training after which an observation has half its weight
MOST_WEIGHT = 200.0  # steps; beyond it the average forgets old ones
MOST_KINDS = 64
SETTLED = 8.0  # steps
MOVED = 0.05  # relative change of an average that makes a fit worth repeating
SURER = 2.0  # times as many steps behind an average, or more, do so as well
OUTLIER = 4.0  # times the average of its shape; more is not believed of a single step
MANY = 1 << 30  # steps
TIMED_ON_DEVICE = 16  # one step in so many, since the host must wait for the device


@dataclass(frozen=True, slots=True)
class Shape:
    """What the seconds of a step depend on."""

    gpus: int
    nodes: int
    batch_per_gpu: int
    accum_steps: int
    gpu_type: str | None = None  # not told, or by an older version


@dataclass(slots=True)
class Record:
    """The average of the steps of one shape."""

    weight: float = 0.0
    grad_s: float = 0.0
    step_s: float = 0.0
    last_s: float = 0.0  # on the history's own clock, which counts training time only
    blocks: Blocks = field(default_factory=Blocks)

    def add(self, grad_s: float, step_s: float, at_s: float) -> None:
        if self.weight >= SETTLED:  # a step during which the machine did something else
            grad_s = min(grad_s, OUTLIER * self.grad_s)
            step_s = min(step_s, OUTLIER * self.step_s)
        self._take(grad_s, step_s, 1, at_s)

    def add_row(self, laps_s: list[float], at_s: float) -> None:
        """Steps in one pass each, so short a while that age and weight are those of the last."""
        if self.weight < SETTLED:
            for lap_s in laps_s:
                self.add(lap_s, lap_s, at_s)
            return
        most_s = OUTLIER * self.step_s
        mean_s = sum(min(lap_s, most_s) for lap_s in laps_s) / len(laps_s)
        self._take(mean_s, mean_s, len(laps_s), at_s)

    def _take(self, grad_s: float, step_s: float, steps: int, at_s: float) -> None:
        """So many steps, by their means."""
        left = self.left(at_s)
        self.weight = min(self.weight * left + steps, MOST_WEIGHT)
        self.blocks.age(left)
        self.blocks.add(step_s, steps)
        share = min(steps / self.weight, 1.0)
        self.grad_s += share * (grad_s - self.grad_s)
        self.step_s += share * (step_s - self.step_s)
        self.last_s = at_s

    def left(self, at_s: float) -> float:
        """The share of it that still counts."""
        return float(0.5 ** ((at_s - self.last_s) / HALF_LIFE_S))


class Known(NamedTuple):
    """A record as it was when a fit was last made from it."""

    weight: float
    grad_s: float
    step_s: float

    def outdone_by(self, record: Record) -> bool:
        """Whether the record now says something else, or says it with more certainty."""
        times = ((record.grad_s, self.grad_s), (record.step_s, self.step_s))
        moved = any(abs(log(now_s / then_s)) > MOVED for now_s, then_s in times)
        return moved or record.weight >= SURER * self.weight


@final
class History:
    """Every shape of step that this job has run in, aged."""

    def __init__(self) -> None:
        self._fitted: dict[Shape, Known] = {}
        self._clock_s = 0.0
        self._records: dict[Shape, Record] = {}

    def add(self, shape: Shape, *, grad_s: float, step_s: float) -> None:
        """Take one step: seconds of a pass, and of all of it."""
        if 0 < step_s < inf:
            self._clock_s += step_s
            record = self._record(shape)
            record.add(min(max(grad_s, 1e-9), step_s), step_s, self._clock_s)

    def add_row(self, shape: Shape, laps_s: list[float]) -> None:
        """Take steps of one pass each that were made in a row."""
        taken_s = [lap_s for lap_s in laps_s if 0 < lap_s < inf]
        if taken_s:
            self._clock_s += sum(taken_s)
            self._record(shape).add_row(taken_s, self._clock_s)

    def _record(self, shape: Shape) -> Record:
        """Of this shape; where there are too many, in place of the one that is longest ago."""
        found = self._records.get(shape)
        if found is not None:
            return found
        if len(self._records) >= MOST_KINDS:
            del self._records[min(self._records, key=lambda kind: self._records[kind].last_s)]
        return self._records.setdefault(shape, Record())

    @property
    def news(self) -> bool:
        """Whether anything has changed since ``fitted`` was called that a fit could learn from."""
        return any(
            shape not in self._fitted or self._fitted[shape].outdone_by(record)
            for shape, record in self._records.items()
        )

    def fitted(self) -> None:
        """A fit was made, or tried, from what there is."""
        self._fitted = {
            shape: Known(one.weight, one.grad_s, one.step_s) for shape, one in self._records.items()
        }

    def observations(self) -> Observations | None:
        """For the fit; None while nothing was measured."""
        if not self._records:
            return None
        shapes, records = list(self._records), list(self._records.values())
        left = np.array([record.left(self._clock_s) for record in records])
        known_s = np.array([record.blocks.amount_s for record in records])
        return Observations(
            gpus=np.array([shape.gpus for shape in shapes], dtype=np.int64),
            nodes=np.array([shape.nodes for shape in shapes], dtype=np.int64),
            batch_per_gpu=np.array([shape.batch_per_gpu for shape in shapes], dtype=np.float64),
            accum_steps=np.array([shape.accum_steps for shape in shapes], dtype=np.float64),
            grad_s=np.array([r.grad_s for r in records], dtype=np.float64),
            step_s=np.array([r.step_s for r in records], dtype=np.float64),
            weight=left * np.array([r.weight for r in records], dtype=np.float64),
            gpu_type=_types(shapes),
            error=self._error_of_a_second() / np.sqrt(left * known_s),
        )

    @property
    def visit_error(self) -> float:
        """Relative standard error of what a first visit to another shape would tell."""
        return self._error_of_a_second() / sqrt(VISIT_S)

    def _error_of_a_second(self) -> float:
        return error_of_a_second(record.blocks for record in self._records.values())

    def state_dict(self) -> dict[str, Any]:
        rows = [[asdict(shape), asdict(record)] for shape, record in self._records.items()]
        return {"clock_s": self._clock_s, "rows": rows}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._clock_s = state["clock_s"]
        self._records = {Shape(**shape): _record(record) for shape, record in state["rows"]}
        self._fitted = {}


def _record(saved: dict[str, Any]) -> Record:
    return Record(**saved | {"blocks": Blocks(**saved.get("blocks", {}))})


def _types(shapes: list[Shape]) -> list[str] | None:
    """The GPU type of each shape; None where one is not known, for it might be any."""
    told = [shape.gpu_type for shape in shapes if shape.gpu_type is not None]
    return told if len(told) == len(shapes) else None


@final
class Stopwatch:
    """Takes the time of the passes of one step."""

    def __init__(self, clock: Callable[[], float], wait: Callable[[], None] | None) -> None:
        self.now_s = clock
        self.ended_s = 0.0  # the last pass
        self._wait = wait  # for the device, which runs behind
        self._dropped = WARM_UP_STEPS
        self._steps = 0
        self._timed = True  # this step
        self._began_s = 0.0
        self._pass_s: list[float] = []

    def restart(self) -> None:
        """Something changed: the next steps are not representative."""
        self._dropped = WARM_UP_STEPS

    def untimed_ahead(self) -> int:
        """Steps that may follow without being begun here; none while warming up."""
        if self._dropped > 0:
            return 0
        return MANY if self._wait is None else -self._steps % TIMED_ON_DEVICE

    def passed(self, laps_s: list[float]) -> list[float]:
        """They did; their seconds, as far as those of the host say something."""
        self._steps += len(laps_s)
        return laps_s if self._wait is None else []

    def begin_pass(self, index: int) -> None:
        if index == 0:
            self._pass_s = []
            self._timed = self._wait is None or self._steps % TIMED_ON_DEVICE == 0
            self._steps += 1
            self._settle()
        self._began_s = self.now_s()

    def end_pass(self, *, last: bool) -> None:
        if last:
            self._settle()
        self.ended_s = self.now_s()
        self._pass_s.append(self.ended_s - self._began_s)

    def step(self, *, alone: bool, last_gradient_s: float) -> tuple[float, float] | None:
        """(seconds of a pass, seconds of the step); None while warming up, or if not timed.

        A pass alone is a step's share. With synchronisation the last pass counts until its own
        gradients were ready; what follows is waiting for the others.
        """
        if self._dropped > 0:
            self._dropped -= 1
            return None
        if not self._timed:
            return None
        step_s = sum(self._pass_s)
        if alone:
            return step_s / len(self._pass_s), step_s
        local_s = [*self._pass_s[:-1], max(last_gradient_s - self._began_s, 0.0)]
        return sum(local_s) / len(local_s), step_s

    def _settle(self) -> None:
        if self._timed and self._wait is not None:
            self._wait()
