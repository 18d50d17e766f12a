"""The ``truth`` of a cluster file: measured speeds of models on GPU types, and racks.

::

    truth:
      measured_on: v100            # the GPU type that the profiles were measured on
      ratios:                      # speed of a profile's model on a type against measured_on
        k80: {cifar10: 0.17}
      throughputs:                 # the same from a table of Gavel's or Shockwave's
        file: simulation_throughputs.json.gz
        rows: {imagenet: ResNet-50 (batch size 64)}
      cross_rack_sync: 2           # synchronisation across racks against inside of one

A model without a ratio on a type is as fast there as the nominal speeds of the types say.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headway.core.errors import InvalidInputError
from headway.sim.fields import mapping, named, number, text
from headway.sim.hardware import Hardware
from headway.traces.throughputs import Steps, read_throughputs

MOST_SPEED = 1e3  # of one GPU type over another
MOST_SLOWER = 1e3
Ratios = dict[str, dict[str, float]]


def read_truth(found: object, speeds: Mapping[str, float], path: Path) -> Hardware:
    """The truth of a cluster with these GPU types, by their nominal speeds.

    Raises:
        InvalidInputError: a field that cannot be used.
    """
    where = f"{path}: truth"
    fields = mapping(found, {"measured_on", "ratios", "throughputs", "cross_rack_sync"}, where)
    measured_on = fields.get("measured_on")
    if measured_on is not None:
        measured_on = text(measured_on, f"{where}.measured_on")
    elif "ratios" in fields or "throughputs" in fields:
        raise InvalidInputError(f"{where}: name the GPU type of the profiles in measured_on")
    ratios: Ratios = {}
    if "throughputs" in fields:
        ratios = _from_table(fields["throughputs"], str(measured_on), speeds, path)
    for gpu_type, given in _ratios(fields.get("ratios") or {}, speeds, f"{where}.ratios").items():
        ratios.setdefault(gpu_type, {}).update(given)
    return Hardware(
        speeds=dict(speeds),
        measured_on=measured_on,
        ratios=ratios,
        cross_rack_sync=number(
            fields.get("cross_rack_sync", 1),
            f"{where}.cross_rack_sync",
            least=1,
            most=MOST_SLOWER,
        ),
    )


def _ratios(found: object, types: Mapping[str, float], where: str) -> Ratios:
    ratios: Ratios = {}
    for gpu_type, models in named(found, where, "GPU type").items():
        if gpu_type not in types:
            raise InvalidInputError(
                f"{where}: no node has GPUs of type {gpu_type!r}; there are "
                f"{', '.join(sorted(types))}"
            )
        place = f"{where}.{gpu_type}"
        ratios[gpu_type] = {
            name: number(value, f"{place}.{name}", least=1 / MOST_SPEED, most=MOST_SPEED)
            for name, value in named(models, place, "profile").items()
        }
    return ratios


def _from_table(found: object, measured_on: str, types: Mapping[str, float], path: Path) -> Ratios:
    """Ratios of the rows that profiles were given explicitly."""
    where = f"{path}: truth.throughputs"
    fields: Mapping[str, Any] = mapping(found, {"file", "rows"}, where)
    for name in ("file", "rows"):
        if name not in fields:
            raise InvalidInputError(f"{where}: {name} is missing")
    steps = read_throughputs(path.parent / text(fields["file"], f"{where}.file"))
    rows = named(fields["rows"], f"{where}.rows", "profile")
    return {
        gpu_type: {
            profile: number(
                _steps(steps, gpu_type, text(row, f"{where}.rows.{profile}"), where)
                / _steps(steps, measured_on, str(row), where),
                f"{where}: the ratio of {row!r} on {gpu_type}",
                least=1 / MOST_SPEED,
                most=MOST_SPEED,
            )
            for profile, row in rows.items()
        }
        for gpu_type in types
        if gpu_type != measured_on
    }


def _steps(steps: Steps, gpu_type: str, row: str, where: str) -> float:
    if gpu_type not in steps:
        raise InvalidInputError(
            f"{where}: the file has no GPU type {gpu_type!r}; it has {', '.join(sorted(steps))}"
        )
    if row not in steps[gpu_type]:
        raise InvalidInputError(f"{where}: the file has no speed of {row!r} on {gpu_type}")
    return steps[gpu_type][row]
