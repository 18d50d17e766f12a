"""One round of allocation against its proven bound, by size of the cluster.

A third as many jobs as GPUs, of the models and shares of ``pollux-mix``, each with throughput
parameters and a noise scale of its own. Nine tenths hold what a plan for somewhat different noise
scales gave them, when other jobs were in place of the rest, which are new. Any job may take up to
64 GPUs. Seconds are those of ``solve``: the
program built, solved and turned into a placement, by one thread.

    python benchmarks/allocate.py --gpus 1024 --per-node 4 --p -1 --json
"""

import argparse
import json
import resource
import time
from dataclasses import dataclass, fields, replace

import numpy as np

from headway.core.model.goodput import JobModels, best
from headway.core.model.throughput import stack
from headway.core.policy.limits import ASSUMED_RESTART_S, realloc_factor
from headway.core.solve.pinned import EXACT_UP_TO_GPUS, Plan, solve
from headway.core.solve.problem import Problem
from headway.core.types import Float64, FloatArray, Int64, IntArray
from headway.sim.generate import CLASSES
from headway.traces.catalogue import CATALOGUE

MOST_GPUS = 64  # of a job
GPUS_PER_JOB = 3
EPS = 1e-3  # the speedup of a job without GPUs, for p <= 0
SPREAD = 0.2  # of the jobs of one model, as sigma of a log-normal factor
DRIFT = 0.3  # of a noise scale since the last plan, likewise
NEW = 0.1  # share of the jobs


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Equal nodes, jobs for them, and the power of the mean that is maximised."""

    nodes: int
    per_node: int
    p: float
    models: JobModels
    most: Int64[IntArray, " jobs"]  # GPUs


def some_cluster(rng: np.random.Generator, gpus: int, per_node: int, p: float) -> Cluster:
    """Equal nodes, and jobs of the built-in models, no two alike."""
    models, most = some_jobs(rng, gpus // GPUS_PER_JOB)
    return Cluster(nodes=gpus // per_node, per_node=per_node, p=p, models=models, most=most)


def some_jobs(rng: np.random.Generator, jobs: int) -> tuple[JobModels, Int64[IntArray, " jobs"]]:
    """Jobs of the built-in models, no two alike, and the most GPUs that each may hold."""
    which = rng.choice(len(CLASSES), size=jobs, p=[share for share, _ in CLASSES])
    profiles = [CATALOGUE[rng.choice(CLASSES[index][1])] for index in which]
    theta = stack([profile.params for profile in profiles])
    theta[:, :6] *= rng.lognormal(0, SPREAD, (jobs, 6))
    noise = np.array([rng.choice(profile.noise_at_initial) for profile in profiles])
    models = JobModels.of([(profile.contract, None) for profile in profiles])
    models = replace(models, theta=theta, noise_scale=noise * rng.lognormal(0, SPREAD, jobs))
    return models, np.array([profile.max_gpus for profile in profiles])


def speedups(
    cluster: Cluster,
) -> tuple[Float64[FloatArray, "jobs sizes"], Float64[FloatArray, "jobs counts"]]:
    """Goodput over that of a fair share, on one node and on several; 0 where not allowed."""
    gpus = np.concatenate([np.arange(cluster.per_node + 1), np.arange(MOST_GPUS + 1)])
    several = np.arange(len(gpus)) > cluster.per_node
    most = cluster.most[:, None]
    wanted = (gpus >= np.where(several, 2, 1)) & (gpus <= most)
    goodput = best(cluster.models, gpus, several, wanted=wanted).goodput_per_s
    fair = np.where(gpus <= np.minimum(most, GPUS_PER_JOB), goodput, 0.0).max(axis=1)
    local, across = np.split(goodput / fair[:, None], [cluster.per_node + 1], axis=1)
    return local, across


def cost(speedup: FloatArray, p: float) -> FloatArray:
    """A job's share of the sum that is minimised: FITNESS_p is monotone in it."""
    if p > 0:
        return np.asarray(-(speedup**p))
    return np.asarray((speedup + EPS) ** p if p else -np.log(speedup + EPS))


def problem(
    cluster: Cluster, held: Int64[IntArray, "jobs nodes"], factor: Float64[FloatArray, " jobs"]
) -> Problem:
    """Costs of all placements; whatever is not kept is worth ``factor`` as much."""
    local, several = speedups(cluster)
    gpus, nodes, job = held.sum(axis=1), (held > 0).sum(axis=1), np.arange(len(held))
    of_local = local[job, np.where(nodes == 1, gpus, 0)]
    of_several = several[job, np.where(nodes > 1, gpus, 0)]
    moved = np.where(nodes > 0, factor, 1.0)[:, None]
    tables = [
        np.where(table > 0, cost(table * moved, cluster.p), np.inf) for table in (local, several)
    ]
    return Problem(
        capacity=np.full(cluster.nodes, cluster.per_node),
        held=held,
        cost_none=cost(np.zeros(len(held)), cluster.p),
        cost_local=tables[0][:, None],
        cost_several=tables[1][:, None],
        cost_keep=np.where(nodes > 0, cost(np.maximum(of_local, of_several), cluster.p), np.inf),
    )


def steady_state(rng: np.random.Generator, gpus: int, per_node: int, p: float) -> Problem:
    """A round in the middle of things."""
    before = some_cluster(rng, gpus, per_node, p)
    jobs = len(before.most)
    nothing = np.zeros((jobs, before.nodes), dtype=np.int64)
    plan = solve(problem(before, nothing, np.ones(jobs)), exact_up_to_gpus=0)
    assert plan.alloc is not None
    new = rng.random(jobs) < NEW
    held = np.where(new[:, None], 0, plan.alloc)
    models, most = some_jobs(rng, jobs)
    for field in fields(JobModels):
        value = getattr(models, field.name)
        value[~new] = getattr(before.models, field.name)[~new]
    models.noise_scale[~new] *= rng.lognormal(0, DRIFT, jobs)[~new]
    most[~new] = before.most[~new]
    age_s = rng.lognormal(np.log(1800), 1.0, jobs)
    factor = realloc_factor(age_s, rng.poisson(age_s / 1800), ASSUMED_RESTART_S)
    return problem(replace(before, models=models, most=most), held, factor)


def fitness(total_cost: float, jobs: int, p: float) -> float:
    """The power mean of the speedups (Pollux, Eqn. 14) that a sum of costs stands for."""
    mean = total_cost / jobs
    return float(np.exp(-mean)) if not p else float(abs(mean) ** (1 / p))


def measure(args: argparse.Namespace, seed: int) -> dict[str, float]:
    """One problem, solved once."""
    task = steady_state(np.random.default_rng(seed), args.gpus, args.per_node, args.p)
    started_s = time.process_time()
    plan: Plan = solve(task, exact_up_to_gpus=args.exact_up_to_gpus)
    cpu_s = time.process_time() - started_s
    assert plan.alloc is not None
    assert task.feasible(plan.alloc)
    reached, bound = (
        fitness(value, len(task.held), args.p) for value in (plan.objective, plan.bound)
    )
    moved = (plan.alloc != task.held).any(axis=1) & task.held.any(axis=1)
    return {
        "fitness_over_bound": reached / bound,
        "cpu_s": cpu_s,
        "moved": float(moved.mean()),
        **plan.counts(),
    }


def main() -> None:
    """Print means over the seeds, and the worst of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gpus", type=int, default=1024)
    parser.add_argument("--per-node", type=int, default=4)
    parser.add_argument("--p", type=float, default=-1.0)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--exact-up-to-gpus", type=int, default=EXACT_UP_TO_GPUS)
    parser.add_argument("--json", action="store_true", help="one object, nothing else")
    args = parser.parse_args()
    runs = [measure(args, seed) for seed in range(args.seeds)]
    means = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    found = {
        "gpus": args.gpus,
        "per_node": args.per_node,
        "p": args.p,
        "jobs": args.gpus // GPUS_PER_JOB,
        "seeds": args.seeds,
        **means,
        "fitness_over_bound_min": min(run["fitness_over_bound"] for run in runs),
        "cpu_s_max": max(run["cpu_s"] for run in runs),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if args.json:
        print(json.dumps(found))
    else:
        print("\n".join(f"{name:24} {value:g}" for name, value in found.items()))


if __name__ == "__main__":
    main()
