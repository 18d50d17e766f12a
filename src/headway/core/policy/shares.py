"""How much each job counts: its owner's weight, or its part of its tenant's budget."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from headway.core.errors import InvalidInputError
from headway.core.types import Float64, FloatArray, JobView

UNNAMED = 1.0  # weight of a tenant that the table does not name
LEAST, MOST = 1e-3, 1e3  # of a tenant's weight
MOST_NUMBER = 10**15  # in a table of tenants
MOST_FACTOR = 1e9  # of a job's term in the sum, or one over it; keeps costs finite at any p


def job_weights(
    jobs: Sequence[JobView], tenants: Mapping[str, float]
) -> Float64[FloatArray, " jobs"]:
    """How much each job counts; the mean is 1, so only ratios matter.

    Without a table of tenants it is the job's own weight. With one each tenant has a budget, its
    weight there, which its active jobs split by their own weights: who submits more jobs gains
    nothing by it, and a job's weight is at the expense of its tenant's other jobs alone.
    """
    own = np.array([job.spec.weight for job in jobs])
    if tenants:
        sums: dict[str, float] = defaultdict(float)
        for job in jobs:
            sums[job.spec.tenant] += job.spec.weight
        budget = [tenants.get(job.spec.tenant, UNNAMED) / sums[job.spec.tenant] for job in jobs]
        own = own * np.array(budget)
    own = own / own.max()  # so that equal ones are exactly 1
    return np.asarray(own * (len(jobs) / own.sum()))


def power_sum_factors(
    weight: Float64[FloatArray, " jobs"], p: float
) -> Float64[FloatArray, " jobs"]:
    """Factors v of sum v_j s_j^p that make speedups proportional to weights; their mean is 1.

    Where speedups are linear in GPUs, the best of sum v_j s_j^p has s_j in proportion to
    v_j^(1 / (1 - p)), so v = w^(1 - p): weighted alpha-fairness with alpha = 1 - p. A tenant with
    twice the weight then has twice the GPUs, at any p up to 0. Beyond, where the sum prefers who
    scales and 1 - p would make weights count for less than themselves, v = w.
    """
    factor = weight ** max(1.0, 1.0 - p)
    evened = factor * (len(factor) / factor.sum())
    return np.asarray(np.clip(evened, 1 / MOST_FACTOR, MOST_FACTOR))


def parse_tenants(text: str) -> dict[str, float]:
    """The table from a setting such as ``vision:2,speech:1``; empty text is no table.

    Raises:
        InvalidInputError: not of this form, a tenant named twice, or a weight beyond sense.
    """
    found: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, colon, weight = part.rpartition(":")
        if not (colon and name.strip()):
            raise InvalidInputError(f"tenants: {part!r} must be TENANT:WEIGHT, as in vision:2")
        if name.strip() in found:
            raise InvalidInputError(f"tenants: {name.strip()} is named twice; drop one")
        found[name.strip()] = _weight(name.strip(), weight)
    return found


def tenants_text(table: Mapping[object, object]) -> str:
    """A table, as read from a file, in the form of the setting, sorted by name.

    Raises:
        InvalidInputError: no tenant, a name that the setting cannot hold, or a weight beyond sense.
    """
    if not table:
        raise InvalidInputError("tenants is empty; name at least one, as in vision: 2")
    weights: dict[str, float] = {}
    for key, weight in table.items():
        name = str(key).strip() if _plain(key) else ""
        if not name.isprintable() or not name or "," in name or name in weights:
            raise InvalidInputError(f"tenants: {name!r} must be a name without commas, and once")
        weights[name] = _weight(name, weight)
    return ",".join(f"{name}:{weight:g}" for name, weight in sorted(weights.items()))


def _weight(name: str, value: object) -> float:
    try:
        weight = float(str(value)) if _plain(value) else math.nan
    except ValueError:
        weight = math.nan
    if not LEAST <= weight <= MOST:
        said = repr(str(value)) if _plain(value) else f"a {type(value).__name__}"
        raise InvalidInputError(
            f"tenants: the weight of {name} must be a number from {LEAST:g} to {MOST:g}, not {said}"
        )
    return weight


def _plain(value: object) -> bool:
    """Text, or a number that Python writes; a list of aliases may hold a universe."""
    return isinstance(value, str | float) or (isinstance(value, int) and abs(value) < MOST_NUMBER)
