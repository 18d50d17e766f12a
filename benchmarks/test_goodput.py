"""Speed of the fit; counts are asserted, seconds only reported."""

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from headway.core.model.fit import fit
from headway.core.model.observations import Observations
from headway.core.model.throughput import grad_time_s, step_time_s

# alpha_grad ... gamma, M0, M_max, least and most m, phi: like the six models of Pollux
KINDS = np.array(
    [
        (0.018, 0.0007, 0.030, 0.0054, 0.13, 0.0026, 2.23, 128, 4096, 32, 1024, 4.9e3),
        (0.007, 1e-6, 0.0066, 0.0007, 0.023, 0.0005, 3.59, 256, 32768, 32, 32768, 1.3e7),
        (0.31, 0.023, 0.0004, 0.11, 0.50, 0.0098, 1.48, 20, 640, 10, 80, 2.5e4),
        (0.18, 0.059, 0.23, 0.043, 1.4, 0.0086, 1.84, 12, 384, 4, 12, 774),
        (0.19, 0.026, 0.049, 0.079, 0.73, 0.010, 1.08, 8, 512, 4, 8, 554),
        (0.064, 0.0045, 0.048, 0.023, 0.32, 0.0062, 2.48, 200, 12800, 20, 200, 1.1e4),
    ]
)


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_fit_of_forty_observations(benchmark: BenchmarkFixture, warm: bool) -> None:
    rng = np.random.default_rng(0)
    theta, gpus = KINDS[0, :7], rng.integers(1, 17, 40)
    nodes, batch = (gpus + 3) // 4, rng.integers(32, 1024, 40).astype(np.float64)
    seen = Observations(
        gpus=gpus,
        nodes=nodes,
        batch_per_gpu=batch,
        accum_steps=np.zeros(40),
        grad_s=grad_time_s(theta, batch) * rng.lognormal(0, 0.05, 40),
        step_s=step_time_s(theta, gpus, nodes > 1, batch, 0.0) * rng.lognormal(0, 0.05, 40),
        weight=np.ones(40),
    )
    found = benchmark(fit, seen, fit(seen) if warm else None)
    assert found.converged
