"""Cost and certified gap of a planning window: counts by price, then packing.

``python benchmarks/window.py [--jobs N] [--rounds T] [--json]``: CPU seconds a window, best of
five; the gap is the worst over five windows drawn from five seeds.
"""

import json
import time

import click
import numpy as np

from headway.core.solve.planning import plan
from headway.core.solve.window import Window

ROUND_S, CONTENTION = 120.0, 3  # jobs for each GPU
BUDGET, REGULARISER = 5, 1e-3  # k and lambda
SEEDS = REPETITIONS = 5


def window(jobs: int, rounds: int, seed: int) -> Window:
    """Jobs of 1, 2, 4 and 8 GPUs, minutes to hours long, some nearly done, speeding up once."""
    rng = np.random.default_rng(seed)
    gpus = max(jobs // CONTENTION, 8)
    width = rng.choice([1, 2, 4, 8], size=jobs, p=[0.6, 0.3, 0.09, 0.01])
    total_s = rng.lognormal(8.0, 1.0, jobs)
    left_s = total_s * rng.uniform(0.02, 1.0, jobs)
    run_s = np.minimum(np.arange(rounds + 1) * ROUND_S, left_s[:, None])
    turn_s = left_s[:, None] * rng.uniform(0.0, 1.0, (jobs, 1))  # from here on it is faster
    gain = rng.uniform(1.0, 2.0, (jobs, 1))
    work = np.minimum(run_s, turn_s) + gain * np.maximum(run_s - turn_s, 0.0)
    done = (total_s - left_s)[:, None]
    whole = done + turn_s + gain * (left_s[:, None] - turn_s)
    budget = rng.uniform(0.5, 2.0, (jobs, 1)) ** BUDGET
    value = budget * np.log(np.maximum((done + work) / whole, 1e-6)) / (jobs * gpus)
    left = left_s[:, None] - run_s
    longest = max(left_s.max(), width @ left_s / gpus)
    return Window(
        value=value, left=left, width=width, capacity=gpus, price=REGULARISER / float(longest)
    )


@click.command()
@click.option("--jobs", default=2000, show_default=True)
@click.option("--rounds", default=20, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(jobs: int, rounds: int, as_json: bool) -> None:
    """Plan windows of so many jobs."""
    took_s, gaps = [], []
    nobody, alike = np.zeros(jobs, dtype=np.bool_), np.zeros(jobs)
    for seed in range(SEEDS):
        asked = window(jobs, rounds, seed)
        for _ in range(REPETITIONS):
            began_s = time.process_time()
            planned = plan(asked, nobody, alike)
            took_s.append(time.process_time() - began_s)
        gaps.append(planned.gap)
    answer = {"jobs": jobs, "rounds": rounds, "gap": max(gaps), "cpu_s": min(took_s)}
    if as_json:
        click.echo(json.dumps(answer))
    else:
        click.echo("  ".join(f"{name} {value:g}" for name, value in answer.items()))


if __name__ == "__main__":
    main()
