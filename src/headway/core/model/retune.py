"""Another (m, s) for a job on the allocation it holds: asked by real and by simulated agents."""

from dataclasses import replace
from typing import NamedTuple

from headway.core.model.goodput import Best, JobModels, goodput_at, keep_unless_better
from headway.core.model.schedule import thawed
from headway.core.model.split import Choice
from headway.core.types import BatchContract, JobReport, Placement

LEAST_STEPS = 20  # between two changes, so that the present choice was measured


class Retuned(NamedTuple):
    """A choice that is worth a change, and what the model promises of it."""

    choice: Choice
    gain: float  # goodput over that of the present choice; 1 where that is none of the legal ones
    goodput_per_s: float


def retune(
    contract: BatchContract,
    report: JobReport,
    at: Placement,
    now: Choice,
    *,
    gpu_type: str | None = None,
    most_batch_size: int | None = None,
) -> Retuned | None:
    """A choice that promises at least 5 % more goodput than the present one, if there is one.

    Asked only when the batch may change. Of the report only speed and noise scale count.
    ``gpu_type`` is that of the allocation, where types are told apart; ``most_batch_size`` bounds
    this one change.
    """
    contract = thawed(contract)
    if most_batch_size is not None:
        most = max(min(contract.max_batch_size, most_batch_size), contract.initial_batch_size)
        contract = replace(contract, max_batch_size=most)
    models = JobModels.of([(contract, report)], gpu_type)
    gpus, locality, nodes, (m, s, _) = [at.gpus], [at.locality], [at.nodes], now
    found = keep_unless_better(models, gpus, locality, m, s, nodes=nodes)
    choice = chosen(found)
    if choice is None or choice[:2] == now[:2]:
        return None
    promised_per_s = float(found.goodput_per_s[0, 0])
    # the present choice may be none of the legal ones, for example just after a resize
    present_per_s = float(goodput_at(models, gpus, locality, m, s, nodes=nodes)[0, 0])
    gain = promised_per_s / present_per_s if present_per_s > 0 else 1.0
    return Retuned(choice, gain, promised_per_s)


def chosen(found: Best) -> Choice | None:
    """The choice for one job on one placement; None where nothing is feasible."""
    batch_size = int(found.batch_size[0, 0])
    if not batch_size:
        return None
    return Choice(int(found.batch_per_gpu[0, 0]), int(found.accum_steps[0, 0]), batch_size)
