"""Speed of the goodput tables: 5,000 jobs, 67 placements each; counts are asserted, not seconds."""

from dataclasses import replace

import numpy as np
from pytest_benchmark.fixture import BenchmarkFixture

from headway.core.ids import JobId
from headway.core.policy.tables import Goodputs, Places
from headway.core.types import JobView
from headway.testing.snapshots import job, report
from headway.traces.catalogue import CATALOGUE

JOBS, PER_NODE, MOST = 5_000, 4, 64  # 4 placements on one node, 63 on several


def views() -> list[JobView]:
    """Jobs of all built-in models, each with throughput and noise of its own."""
    rng, models = np.random.default_rng(0), list(CATALOGUE.values())
    made = []
    for index in range(JOBS):
        model, view = models[index % len(models)], job(f"job-{index}")
        params = replace(model.params, alpha_grad_s=model.params.alpha_grad_s * rng.uniform(0.8, 1))
        noise = float(rng.choice(model.noise_at_initial))
        made.append(
            replace(
                view,
                spec=replace(view.spec, job_id=JobId(f"job-{index}"), batch=model.contract),
                report=replace(report(), throughput=params, noise_scale=noise),
            )
        )
    return made


def test_all_tables_at_once(benchmark: BenchmarkFixture) -> None:
    jobs, most = views(), np.full(JOBS, MOST)
    tables = benchmark.pedantic(
        Goodputs().updated,
        args=(jobs,),
        kwargs={"places": Places((("gpu", 1.0, PER_NODE),)), "most": most},
        rounds=3,
    )
    made = tables.arrays(jobs, most)
    assert made.local.shape == (JOBS, 1, PER_NODE + 1)
    assert made.several.shape == (JOBS, 1, MOST + 1)
    assert (made.local[..., 1:] > 0).mean() > 0.9
