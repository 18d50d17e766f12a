"""Profiles from the throughput tables of Gavel and of Shockwave: steps a second, by GPU type.

JSON: ``{gpu_type: {"('Model (batch size B)', WORKERS)": {"null": STEPS_PER_S, ...}}}``; B is per
worker, 0 means not measured, and what two jobs do on one GPU is not used.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from headway.core.errors import InvalidInputError
from headway.core.types import BatchContract, BatchMode
from headway.traces.measured import MAX_NOISE_SCALE, Curve, MeasuredProfile
from headway.traces.shockwave import EPOCH_EXAMPLES
from headway.traces.throughputs import ALONE, Rows, measured, read_table

DEFAULT_TYPE = "v100"  # the one that Shockwave's authors measured anew
UNSIZED = {"A3C": 4, "CycleGAN": 1}  # batch sizes of models whose names do not say them
_ROW = re.compile(r"\('(?P<job_type>.+)', (?P<workers>[1-9][0-9]{0,3})\)")
_JOB_TYPE = re.compile(r"(?P<model>\S+) \(batch size (?P<size>[1-9][0-9]{0,8})\)")

Steps = dict[int, dict[int, float]]  # seconds of a step, by workers and per-worker batch size


def parse_job_type(text: str) -> tuple[str, int] | None:
    """Model and per-worker batch size of ``LM (batch size 10)``; None where it says no size."""
    match = _JOB_TYPE.fullmatch(text)
    if match is not None:
        return match["model"], int(match["size"])
    return (text, UNSIZED[text]) if text in UNSIZED else None


def split_type(path: Path) -> tuple[Path, str | None]:
    """``tacc.json:p100`` is the column p100 of a file; without a type, the default is meant."""
    left, colon, gpu_type = str(path).rpartition(":")
    return (Path(left), gpu_type) if colon and not path.exists() else (path, None)


def read_profiles(path: Path, gpu_type: str | None = None) -> dict[str, MeasuredProfile]:
    """A profile for each model that was measured on one GPU type.

    Raises:
        InvalidInputError: not such a table, no such type, or nothing measured on it.
    """
    table = read_table(path)
    chosen = gpu_type or (DEFAULT_TYPE if DEFAULT_TYPE in table else next(iter(table), ""))
    if not table:
        raise InvalidInputError(f"{path} has no GPU type at all; copy the table again")
    if chosen not in table:
        raise InvalidInputError(
            f"{path} has no GPU type {chosen!r}; write {path.name}:TYPE with one of "
            f"{', '.join(sorted(table))}"
        )
    models = _models(table[chosen])
    if not models:
        raise InvalidInputError(f"{path} has no speed of a job alone on {chosen}; choose another")
    return {model: _profile(model, steps) for model, steps in sorted(models.items())}


def _models(rows: Rows) -> dict[str, Steps]:
    """What was measured of each model alone on its GPUs; only models that ran on one GPU."""
    found: dict[str, Steps] = defaultdict(lambda: defaultdict(dict))
    for key, speeds in rows.items():
        match, per_s = _ROW.fullmatch(key), measured(speeds.get(ALONE))
        kind = None if match is None else parse_job_type(match["job_type"])
        if match is None or kind is None or per_s is None:
            continue
        found[kind[0]][int(match["workers"])][kind[1]] = 1.0 / per_s
    return {model: steps for model, steps in found.items() if 1 in steps}


def _profile(model: str, steps: Steps) -> MeasuredProfile:
    """Speeds by workers, wherever these are: the table does not tell placements apart."""
    curves = {workers: _curve(times, steps[1]) for workers, times in steps.items()}
    batches = sorted(steps[1])
    return MeasuredProfile(
        name=model,
        contract=BatchContract(
            initial_batch_size=batches[0],
            max_batch_size=batches[-1] * max(steps),
            min_batch_per_gpu=batches[0],
            max_batch_per_gpu=batches[-1],
            mode=BatchMode.FIXED,
        ),
        max_gpus=max(steps),
        work_examples=float(EPOCH_EXAMPLES.get(model, batches[-1])),
        epoch_ends=(1.0,),
        shapes={},
        sizes={
            (nodes, workers): curve
            for workers, curve in curves.items()
            for nodes in range(1, workers + 1)
        },
        noise=np.array([[MAX_NOISE_SCALE]]),
        noise_batch_sizes=(1,),
    )


def _curve(times_s: Mapping[int, float], alone_s: Mapping[int, float]) -> Curve:
    """Step times by per-worker batch; what a step takes longer than on one GPU is talk."""
    batches = np.array(sorted(times_s), dtype=np.float64)
    step_s = np.array([times_s[int(size)] for size in batches])
    pass_s = np.array([alone_s.get(int(size), times_s[int(size)]) for size in batches])
    return Curve(batches, step_s, np.maximum(step_s - pass_s, 0.0))
