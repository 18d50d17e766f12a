"""Cost of goodput tables: every job on every placement, with the best split of its batch.

``python benchmarks/goodput.py [--jobs N] [--json]``: CPU seconds a job, best of five.
"""

import json
import time

import click
import numpy as np

from headway.core.model.goodput import JobModels, best
from headway.core.types import JobReport
from headway.traces.catalogue import CATALOGUE

LOCAL_GPUS, MOST_GPUS = 4, 64  # 1 to 4 GPUs on one node, 2 to 64 on several: 67 placements
REPETITIONS = 5


def models(jobs: int) -> JobModels:
    """Jobs of the catalogue's kinds, each with a speed and a noise scale of its own."""
    rng, kinds = np.random.default_rng(0), list(CATALOGUE.values())
    asked = []
    for index in range(jobs):
        profile = kinds[index % len(kinds)]
        report = JobReport(
            throughput=profile.params,
            noise_scale=profile.noise_at_initial[0] * float(rng.lognormal(0.0, 1.0)),
            progress_examples=0.0,
            batch_per_gpu=0,
            accum_steps=0,
            batch_size=0,
        )
        asked.append((profile.contract, report))
    return JobModels.of(asked)


@click.command()
@click.option("--jobs", default=5000, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(jobs: int, as_json: bool) -> None:
    """Time the tables of so many jobs."""
    asked = models(jobs)
    gpus = np.array([*range(1, LOCAL_GPUS + 1), *range(2, MOST_GPUS + 1)])
    several = np.arange(gpus.size) >= LOCAL_GPUS
    took_s, chosen = [], 0
    for _ in range(REPETITIONS):
        began_s = time.process_time()
        chosen = int(np.count_nonzero(best(asked, gpus, several).batch_size))
        took_s.append(time.process_time() - began_s)
    answer = {
        "jobs": jobs,
        "placements": int(gpus.size),
        "chosen": chosen,
        "cpu_s": min(took_s),
        "cpu_s_per_job": min(took_s) / jobs,
    }
    if as_json:
        click.echo(json.dumps(answer))
    else:
        click.echo("  ".join(f"{name} {value:g}" for name, value in answer.items()))


if __name__ == "__main__":
    main()
