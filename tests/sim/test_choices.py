"""Ways to split a batch that the fluid egalitarian cluster reckons with."""

from dataclasses import replace

import numpy as np
import pytest

from headway.core.types import BatchContract, BatchMode
from headway.sim.cluster import parse_cluster
from headway.sim.egalitarian import references
from headway.traces.base import adaptive_job, workload
from headway.traces.catalogue import CATALOGUE


def exclusive_s(batch: BatchContract, gpus: int) -> float:
    """Alone on so many GPUs of one node."""
    job = adaptive_job(
        "a", CATALOGUE["cifar10"], submitted_s=0.0, requested_gpus=gpus, requested_batch_size=250
    )
    jobs = workload("one", [(replace(job, batch=batch), "cifar10")], CATALOGUE)
    (reference,) = references(jobs, parse_cluster(f"1x{gpus}"))
    return reference.exclusive_s


def test_a_batch_that_no_legal_split_gives_is_split_as_evenly_as_can_be() -> None:
    """250 examples do not divide by 3 GPUs; one for each GPU once took its place.

    So few examples are no batch of this job, and the reference was many times too slow.
    """
    fixed = BatchContract(initial_batch_size=250, max_batch_size=250, max_batch_per_gpu=1_000)
    adaptive = replace(fixed, mode=BatchMode.ADAPTIVE)
    times_s = [exclusive_s(batch, 3) for batch in (fixed, adaptive)]
    assert np.isfinite(times_s).all()
    assert times_s[1] == pytest.approx(times_s[0])
