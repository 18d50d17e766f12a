"""A mixed-integer linear program, assembled from blocks of columns, rows and entries."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headway.core.types import BoolArray, Float64, FloatArray, Int64, IntArray

Int32Array = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Minimise offset + cost·x with lower ≤ x ≤ upper and row_lower ≤ A·x ≤ row_upper.

    A is compressed by columns: the entries of column c are at ``starts[c]:starts[c + 1]``.
    """

    offset: float
    cost: Float64[FloatArray, " columns"]
    lower: Float64[FloatArray, " columns"]
    upper: Float64[FloatArray, " columns"]
    integer: BoolArray
    row_lower: Float64[FloatArray, " rows"]
    row_upper: Float64[FloatArray, " rows"]
    starts: Int32Array
    indices: Int32Array
    values: Float64[FloatArray, " entries"]
    start: tuple[IntArray, IntArray]  # rows and columns that take their places in a first basis


@dataclass(slots=True)
class Assembly:
    """A program in the making. Every call adds a whole block and is vectorised."""

    offset: float = 0.0
    columns: int = 0
    rows: int = 0
    _columns: list[tuple[FloatArray, FloatArray, BoolArray]] = field(default_factory=list)
    _rows: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    _entries: list[tuple[IntArray, IntArray, FloatArray]] = field(default_factory=list)
    _start: list[tuple[IntArray, IntArray]] = field(default_factory=list)

    def add_columns(
        self, cost: Float64[FloatArray, " block"], upper: ArrayLike = np.inf, integer: bool = True
    ) -> Int64[IntArray, " block"]:
        """Add variables between 0 and ``upper``; their indices."""
        count = len(cost)
        self._columns.append((cost, _of_length(count, upper), np.full(count, integer)))
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def add_rows(
        self, count: int, lower: ArrayLike = -np.inf, upper: ArrayLike = np.inf
    ) -> Int64[IntArray, " block"]:
        """Add constraints without entries yet; their indices."""
        self._rows.append((_of_length(count, lower), _of_length(count, upper)))
        self.rows += count
        return np.arange(self.rows - count, self.rows)

    def add_entries(
        self,
        row: Int64[IntArray, " entries"],
        column: Int64[IntArray, " entries"],
        value: ArrayLike = 1.0,
    ) -> None:
        """Add to the matrix; entries of the same row and column add up."""
        self._entries.append((row, column, _of_length(len(row), value)))

    def start_with(self, row: Int64[IntArray, " block"], column: Int64[IntArray, " block"]) -> None:
        """Say where a solver may start: the column has what its row asks for, all others nothing.

        A good start saves most of the work of the primal simplex method.
        """
        self._start.append((row, column))

    def program(self) -> Program:
        """The program so far."""
        cost, upper, integer = (np.concatenate(part) for part in zip(*self._columns, strict=True))
        row_lower, row_upper = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        key = column * self.rows + row
        order = np.argsort(key, kind="stable")
        key, value = key[order], value[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        column, row = np.divmod(key[first], self.rows)
        counts = np.bincount(column, minlength=self.columns)
        nought = np.zeros(0, dtype=np.int64)
        start_row, start_column = zip((nought, nought), *self._start, strict=True)
        return Program(
            offset=self.offset,
            cost=cost,
            lower=np.zeros(self.columns),
            upper=upper,
            integer=integer,
            row_lower=row_lower,
            row_upper=row_upper,
            starts=np.concatenate(([0], np.cumsum(counts))).astype(np.int32),
            indices=row.astype(np.int32),
            values=np.add.reduceat(value, first) if len(first) else value,
            start=(np.concatenate(start_row), np.concatenate(start_column)),
        )


def _of_length(count: int, value: ArrayLike) -> FloatArray:
    """A number repeated, or an array as it is (``broadcast_to`` takes ten times as long)."""
    array = np.asarray(value, dtype=np.float64)
    return np.full(count, array) if array.ndim == 0 else array
