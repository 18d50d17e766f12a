"""A window of rounds: how many each item gets and in which, with a proven bound.

Maximise sum_j value_j(n_j) - price x H over tables of rounds (items, rounds), where item j runs in
n_j rounds, the widths in a round do not exceed its capacity, nor other needs their room, and H =
max(tail x max_j left_j(n_j), sum_j width_j left_j(n_j) / capacity, and so for other needs) bounds
from below how long everything takes. Only counts matter, so they are found first (``counts``), then
arranged in rounds (``timetable``).
"""

from dataclasses import dataclass, field

import numpy as np

from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray


def _none() -> IntArray:
    return np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Each item runs in some of the rounds; only in how many is of worth."""

    value: Float64[FloatArray, "items counts"]  # of 0, 1, ... all rounds; never falls
    left: Float64[FloatArray, "items counts"]  # what remains of it after so many; never rises
    width: Int64[IntArray, " items"]  # none is wider than the capacity
    capacity: int  # of each round
    price: float  # of a unit of H
    tail: float = 1.0  # what the longest remainder counts for, against the mean load
    others: Int64[IntArray, "items others"] = field(default_factory=_none)  # needs beside width
    rooms: Int64[IntArray, " others"] = field(default_factory=lambda: _none().ravel())
    finely: bool = True  # share out anew the room near the stop; not where it has many units

    @property
    def rounds(self) -> int:
        """How many there are."""
        return int(self.value.shape[1]) - 1

    @property
    def room(self) -> int:
        """Capacity of all rounds together."""
        return self.capacity * self.rounds

    def length(self, counts: Int64[IntArray, " items"]) -> float:
        """H: how long everything takes at least, if each item gets so many rounds."""
        left = self.left[np.arange(len(counts)), counts]
        length = max(
            self.tail * float(left.max(initial=0.0)), float(self.width @ left) / self.capacity
        )
        if not len(self.rooms):
            return length
        return max(length, float((left @ self.others / self.rooms).max()))

    def needs(self) -> Int64[IntArray, "items all"]:
        """What each item takes of a round: its width, and the others."""
        width = self.width[:, None]
        return np.hstack([width, self.others]) if len(self.rooms) else width

    def room_of_round(self) -> Int64[IntArray, " all"]:
        """What a round has of the same."""
        return np.array([self.capacity, *self.rooms.tolist()], dtype=np.int64)

    def objective(self, counts: Int64[IntArray, " items"]) -> float:
        """What is maximised."""
        value = float(self.value[np.arange(len(counts)), counts].sum())
        return value - self.price * self.length(counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which items run in which rounds, and how good that provably is."""

    runs: BoolArray  # (items, rounds)
    objective: float
    bound: float  # no table of rounds is above it
    idle: float = 0.0  # objective if nothing ran
    evaluations: int = 0  # of the relaxed problem

    @property
    def gap(self) -> float:
        """Distance of the objective to the bound, relative to it or to what running gains."""
        size = max(abs(self.objective), self.objective - self.idle)
        return (self.bound - self.objective) / size if self.bound > self.objective else 0.0
