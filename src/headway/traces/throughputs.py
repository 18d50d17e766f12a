"""Measured speeds by GPU type: the throughput tables of Gavel and of Shockwave.

JSON: ``{gpu_type: {"('Model (batch size B)', WORKERS)": {"null": STEPS_PER_S, ...}}}``. Read are
the speeds of one worker that has its GPU to itself; 0 stands for what was not measured.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from headway.core.errors import InvalidInputError
from headway.traces.rows import read_text

ALONE = "null"
LEAST_PER_S, MOST_PER_S = 1e-9, 1e9  # steps a second; what is outside was not measured
_ROW = re.compile(r"\('(.+)', 1\)")

Steps = Mapping[str, Mapping[str, float]]  # steps per second of one worker, by GPU type and row
Rows = Mapping[str, Mapping[str, float | list[float]]]  # of one GPU type: by company


def read_table(path: Path) -> Mapping[str, Rows]:
    """The whole table, by GPU type.

    Raises:
        InvalidInputError: not such a table.
    """
    try:
        return msgspec.json.decode(
            read_text(path), type=dict[str, dict[str, dict[str, float | list[float]]]]
        )
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InvalidInputError(f"{path} is no throughput table of Gavel's: {error}") from None


def measured(per_s: object) -> float | None:
    """The speed of a job alone; None where there is none, or one that no job can have."""
    sane = isinstance(per_s, float | int) and LEAST_PER_S <= per_s <= MOST_PER_S
    return float(per_s) if sane else None  # type: ignore[arg-type]


def read_throughputs(path: Path) -> Steps:
    """What one worker does on each type, by the name of the row.

    Raises:
        InvalidInputError: not such a table.
    """
    return {gpu_type: _alone(rows) for gpu_type, rows in read_table(path).items()}


def _alone(rows: Rows) -> Mapping[str, float]:
    named = ((_ROW.fullmatch(key), measured(values.get(ALONE))) for key, values in rows.items())
    return {match[1]: speed for match, speed in named if match is not None and speed is not None}
