"""Another (m, s) for a job on the allocation it holds: asked by real and by simulated agents."""

from dataclasses import replace
from typing import NamedTuple

from headway.core.model.goodput import JobModels
from headway.core.model.refine import Measured, refine
from headway.core.model.schedule import thawed
from headway.core.model.split import Choice
from headway.core.types import BatchContract, GradTime, JobReport, Placement, ThroughputParams

LEAST_STEPS = 20  # between two changes, so that the present choice was measured


class Retuned(NamedTuple):
    """A choice that is worth a change, and what model and measurements promise of it."""

    choice: Choice
    gain: float  # goodput over that of the present choice; 1 where that is none of the legal ones
    goodput_per_s: float


def models_of(
    contract: BatchContract,
    throughput: ThroughputParams,
    noise_scale: float | None,
    *,
    gpu_type: str | None = None,
    grad_by_type: tuple[GradTime, ...] = (),
    most_batch_size: int | None = None,
) -> JobModels:
    """One job as its own agent sees it when the batch may change.

    ``gpu_type`` is that of the allocation, where types are told apart, and then ``grad_by_type``
    holds the passes on each; ``most_batch_size`` bounds this one change.
    """
    contract = thawed(contract)
    if most_batch_size is not None:
        most = max(min(contract.max_batch_size, most_batch_size), contract.initial_batch_size)
        contract = replace(contract, max_batch_size=most)
    report = JobReport(
        throughput=throughput,
        noise_scale=noise_scale,
        grad_by_type=grad_by_type,
        progress_examples=0.0,
        batch_per_gpu=0,
        accum_steps=0,
        batch_size=0,
    )
    return JobModels.of([(contract, report)], gpu_type)


def retune(
    models: JobModels,
    at: Placement,
    measured: Measured,
    now: Choice | None,
    *,
    noise_scale_error: float = 0.0,
) -> Retuned | None:
    """A choice that promises enough more goodput than the present one, if there is one; without a
    present one the best. ``models`` holds that job alone; the error of its noise scale is relative.
    """
    present = None if now is None else (now[0], now[1])
    found = refine(models, at, measured, present, noise_scale_error=noise_scale_error)
    if found is None:
        return None
    m, s, gain, goodput_per_s = found
    if now is not None and (m, s) == (now[0], now[1]):
        return None
    return Retuned(Choice(m, s, at.gpus * m * (s + 1)), gain, goodput_per_s)
