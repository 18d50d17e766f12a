"""One round of allocation against its proven bound, by size of the cluster.

A third as many jobs as GPUs, of the models and shares of ``pollux-mix``, each with throughput
parameters and a noise scale of its own. Nine tenths hold what a plan for somewhat different noise
scales gave them, when other jobs were in place of the rest, which are new. Any job may take up to
64 GPUs. With racks, a job is 10 % slower on several than on several nodes of one. With GPU types,
each has as many nodes, in whole racks, and a job's speed on the next is half as high, give or take
what ``SPREAD`` says. Seconds are those of ``solve``: the program built, solved and turned into a
placement, by one thread.

    python benchmarks/allocate.py --gpus 1024 --per-node 4 --p -1 --json
    python benchmarks/allocate.py --gpus 1024 --racks 8 --types 2 --json
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
ACROSS_RACKS = 1 / 1.1  # of the speed inside one
NEXT_TYPE = 0.5  # of the speed on the type before


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Nodes of equal size, and the power of the mean that is maximised."""

    nodes: int
    per_node: int
    p: float
    racks: int = 0  # nodes of each; 0: racks do not matter
    types: int = 1

    @property
    def rack(self) -> Int64[IntArray, " nodes"]:
        """The rack of each node."""
        return np.arange(self.nodes) // (self.racks or self.nodes)

    @property
    def kind(self) -> Int64[IntArray, " nodes"]:
        """The type of each node; racks are of one type each as far as their number allows."""
        return np.arange(self.nodes) * self.types // self.nodes


@dataclass(frozen=True, kw_only=True)
class Jobs:
    """Jobs of the built-in models, no two alike."""

    models: JobModels
    most: Int64[IntArray, " jobs"]  # GPUs
    on_type: Float64[FloatArray, "jobs types"]  # speed over that on the first type


def some_jobs(rng: np.random.Generator, jobs: int, types: int) -> Jobs:
    """A mix of models like that of ``pollux-mix``."""
    which = rng.choice(len(CLASSES), size=jobs, p=[share for share, _ in CLASSES])
    profiles = [CATALOGUE[rng.choice(CLASSES[index][1])] for index in which]
    theta = stack([profile.params for profile in profiles])
    theta[:, :6] *= rng.lognormal(0, SPREAD, (jobs, 6))
    noise = np.array([rng.choice(profile.noise_at_initial) for profile in profiles])
    models = JobModels.of([(profile.contract, None) for profile in profiles])
    models = replace(models, theta=theta, noise_scale=noise * rng.lognormal(0, SPREAD, jobs))
    most = np.array([profile.max_gpus for profile in profiles])
    on_type = np.ones((jobs, types))
    if types > 1:
        on_type[:, 1:] = NEXT_TYPE * rng.lognormal(0, SPREAD, (jobs, types - 1))
    return Jobs(models=models, most=most, on_type=np.cumprod(on_type, axis=1))


def speedups(
    cluster: Cluster, jobs: Jobs
) -> tuple[Float64[FloatArray, "jobs sizes"], Float64[FloatArray, "jobs counts"]]:
    """Goodput over that of a fair share, on one node and on several; 0 where not allowed."""
    gpus = np.concatenate([np.arange(cluster.per_node + 1), np.arange(MOST_GPUS + 1)])
    several = np.arange(len(gpus)) > cluster.per_node
    most = jobs.most[:, None]
    wanted = (gpus >= np.where(several, 2, 1)) & (gpus <= most)
    goodput = best(jobs.models, gpus, several, wanted=wanted).goodput_per_s
    fair = np.where(gpus <= np.minimum(most, GPUS_PER_JOB), goodput, 0.0).max(axis=1)
    local, across = np.split(goodput / fair[:, None], [cluster.per_node + 1], axis=1)
    return local, across


def cost(speedup: FloatArray, p: float) -> FloatArray:
    """A job's share of the sum that is minimised: FITNESS_p is monotone in it."""
    if p > 0:
        return np.asarray(-(speedup**p))
    return np.asarray((speedup + EPS) ** p if p else -np.log(speedup + EPS))


def problem(
    cluster: Cluster,
    jobs: Jobs,
    held: Int64[IntArray, "jobs nodes"],
    factor: Float64[FloatArray, " jobs"],
) -> Problem:
    """Costs of all placements; whatever is not kept is worth ``factor`` as much."""
    one_node, several_nodes = (table[:, None] for table in speedups(cluster, jobs))
    on_type = jobs.on_type[:, :, None]
    local, rack = one_node * on_type, several_nodes * on_type
    several = rack * (ACROSS_RACKS if cluster.racks else 1.0)
    moved = np.where(held.any(axis=1), factor, 1.0)[:, None, None]
    without = Problem(
        capacity=np.full(cluster.nodes, cluster.per_node),
        held=held,
        kind=cluster.kind,
        rack=cluster.rack,
        cost_none=cost(np.zeros(len(held)), cluster.p),
        cost_local=_costs(local, cluster.p),
        cost_rack=_costs(rack, cluster.p) if cluster.racks else None,
        cost_several=_costs(several, cluster.p),
        cost_keep=np.full(len(held), np.inf),
    )
    return replace(
        without,
        cost_local=_costs(local * moved, cluster.p),
        cost_rack=_costs(rack * moved, cluster.p) if cluster.racks else None,
        cost_several=_costs(several * moved, cluster.p),
        cost_keep=np.where(held.any(axis=1), without.cost(held), np.inf),
    )


def _costs(speedup: FloatArray, p: float) -> FloatArray:
    return np.where(speedup > 0, cost(speedup, p), np.inf)


def steady_state(rng: np.random.Generator, cluster: Cluster) -> Problem:
    """A round in the middle of things."""
    jobs = cluster.nodes * cluster.per_node // GPUS_PER_JOB
    before = some_jobs(rng, jobs, cluster.types)
    nothing = np.zeros((jobs, cluster.nodes), dtype=np.int64)
    plan = solve(problem(cluster, before, nothing, np.ones(jobs)), exact_up_to_gpus=0)
    assert plan.alloc is not None
    new = rng.random(jobs) < NEW
    held = np.where(new[:, None], 0, plan.alloc)
    after = some_jobs(rng, jobs, cluster.types)
    for field in fields(JobModels):
        value = getattr(after.models, field.name)
        value[~new] = getattr(before.models, field.name)[~new]
    after.models.noise_scale[~new] *= rng.lognormal(0, DRIFT, jobs)[~new]
    after.most[~new], after.on_type[~new] = before.most[~new], before.on_type[~new]
    age_s = rng.lognormal(np.log(1800), 1.0, jobs)
    factor = realloc_factor(age_s, rng.poisson(age_s / 1800), ASSUMED_RESTART_S)
    return problem(cluster, after, held, factor)


def fitness(total_cost: float, jobs: int, p: float) -> float:
    """The power mean of the speedups (Pollux, Eqn. 14) that a sum of costs stands for."""
    mean = total_cost / jobs
    return float(np.exp(-mean)) if not p else float(abs(mean) ** (1 / p))


def measure(args: argparse.Namespace, seed: int) -> dict[str, float]:
    """One problem, solved once."""
    cluster = Cluster(
        nodes=args.gpus // args.per_node,
        per_node=args.per_node,
        p=args.p,
        racks=args.racks,
        types=args.types,
    )
    task = steady_state(np.random.default_rng(seed), cluster)
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
        "gap": plan.gap,
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
    parser.add_argument("--racks", type=int, default=0, metavar="NODES_PER_RACK")
    parser.add_argument("--types", type=int, default=1, metavar="N", help="of GPUs")
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
        "racks": args.racks,
        "types": args.types,
        "jobs": args.gpus // GPUS_PER_JOB,
        "seeds": args.seeds,
        **means,
        "fitness_over_bound_min": min(run["fitness_over_bound"] for run in runs),
        "gap_max": max(run["gap"] for run in runs),
        "cpu_s_max": max(run["cpu_s"] for run in runs),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if args.json:
        print(json.dumps(found))
    else:
        print("\n".join(f"{name:24} {value:g}" for name, value in found.items()))


if __name__ == "__main__":
    main()
