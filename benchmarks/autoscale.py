"""Train ImageNet alone in a cluster that scales: by cost, goodput (Pollux, 5.4.1), throughput.

``python benchmarks/autoscale.py --profiles DIR --json`` prints what each rule cost and how long it
took, and what somebody who knows the whole run beforehand would have paid to be as fast. One
training is one draw, and a second more of a restart may take it another way, so that each figure is
the mean over several restart delays.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from headway.core.model.efficiency import efficiency
from headway.core.policy import make
from headway.core.types import Float64, FloatArray
from headway.sim.cluster import parse_cluster
from headway.sim.driver import Setup
from headway.sim.results import Contender, run_all
from headway.traces.base import JobProfile, adaptive_job, workload
from headway.traces.catalogue import CATALOGUE
from headway.traces.sniff import read_profiles

PUBLISHED = {"cheaper": 0.25, "longer": 0.06}  # Pollux (OSDI'21), section 5.4.1
BASELINE = "pollux+throughput"
PER_NODE, NODES, HOUR_S = 4, 16, 3600.0
RESTARTS_S = (20.0, 25.0, 30.0, 35.0, 40.0)
RULES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    BASELINE: (BASELINE, {}),
    "pollux+goodput": ("pollux+goodput", {}),
    "band 0.4 to 0.5, down to 0.4": (
        "pollux+goodput",
        {"low": "0.4", "high": "0.5", "target": "0.4"},
    ),
    "pollux+cost": ("pollux+cost", {}),
    "an hour worth 8 node-hours": ("pollux+cost", {"job_hour": "8"}),
    "an hour worth 24 node-hours, saving 5 %": (
        "pollux+cost",
        {"job_hour": "24", "least_saving": "0.05"},
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """How one training went."""

    completion_s: float
    node_hours: float

    @classmethod
    def mean(cls, draws: Sequence["Trained"]) -> "Trained":
        """Of several draws of one training."""
        return cls(
            completion_s=fmean(draw.completion_s for draw in draws),
            node_hours=fmean(draw.node_hours for draw in draws),
        )

    def against(self, baseline: "Trained") -> dict[str, float]:
        """Itself and the shares by which it was cheaper and took longer."""
        return {
            "completion_s": self.completion_s,
            "node_hours": self.node_hours,
            "cheaper": 1 - self.node_hours / baseline.node_hours,
            "longer": self.completion_s / baseline.completion_s - 1,
        }


def train(profile: JobProfile, seed: int) -> dict[str, Trained]:
    """One job from one node up, under each rule: means over the restart delays."""
    draws = [_draw(profile, seed, restart_s) for restart_s in RESTARTS_S]
    return {name: Trained.mean([draw[name] for draw in draws]) for name in RULES}


def _draw(profile: JobProfile, seed: int, restart_s: float) -> dict[str, Trained]:
    job = adaptive_job(
        "imagenet", profile, submitted_s=0.0, requested_gpus=PER_NODE, requested_batch_size=800
    )
    setup = Setup(
        workload=workload("imagenet", [(job, profile.name)], {profile.name: profile}),
        cluster=parse_cluster(f"1x{PER_NODE}"),
        seed=seed,
        restart_s=restart_s,
        most_nodes=NODES,
    )
    contenders = [
        Contender(name=name, policy=make(policy, settings), settings=settings)
        for name, (policy, settings) in RULES.items()
    ]
    return {
        result.policy: Trained(
            completion_s=result.summary.makespan_s or float("nan"),
            node_hours=result.summary.node_hours,
        )
        for result in run_all(setup, contenders)
    }


def clairvoyant(profile: JobProfile) -> list[Trained]:
    """What one could do who knows the whole run: one size for each epoch, nothing restarts.

    Each plan minimises hours + price x node-hours for some price. Together they are the lower hull
    of all that is possible, so no scaler is both cheaper and faster than its neighbours here.
    """
    rates = np.array([_best_rates(profile, nodes) for nodes in range(1, NODES + 1)])
    epochs_s = np.diff(profile.epoch_ends, prepend=0.0) * profile.work_examples / rates
    sizes = np.arange(1, NODES + 1)[:, None]
    plans = []
    for price in np.geomspace(1e-3, 10.0, 400):
        chosen = np.argmin(epochs_s * (1 + price * sizes), axis=0)
        took_s = epochs_s[chosen, np.arange(epochs_s.shape[1])]
        node_hours = float((took_s * (chosen + 1)).sum()) / HOUR_S
        plans.append(Trained(completion_s=float(took_s.sum()), node_hours=node_hours))
    return plans


def _best_rates(profile: JobProfile, nodes: int) -> Float64[FloatArray, " epochs"]:
    """Progress per second in each epoch with the best batch, on whole nodes."""
    contract, gpus = profile.contract, nodes * PER_NODE
    each = np.arange(contract.min_batch_per_gpu, contract.max_batch_per_gpu + 1, dtype=np.float64)
    size = each * gpus
    legal = (size >= contract.initial_batch_size) & (size <= contract.max_batch_size)
    each, size = each[legal], size[legal]
    _, step_s = profile.times_s((PER_NODE,) * nodes, each)
    worth = efficiency(profile.noise_scales(size), contract.initial_batch_size, size)
    best: FloatArray = (size / step_s * worth).max(axis=1)
    return best


def measured(profile: JobProfile, seed: int) -> dict[str, dict[str, float]]:
    """All figures; what was published is reached by no plan that is both as cheap and as fast."""
    trained = train(profile, seed)
    base = trained[BASELINE]
    plans = clairvoyant(profile)
    latest_s = base.completion_s * (1 + PUBLISHED["longer"])
    dearest = base.node_hours * (1 - PUBLISHED["cheaper"])
    as_fast = [plan for plan in plans if plan.completion_s <= latest_s]
    as_cheap = [plan for plan in plans if plan.node_hours <= dearest]
    bounds = {
        "clairvoyant, as fast as published": min(as_fast, key=lambda plan: plan.node_hours),
        "clairvoyant, as cheap as published": min(as_cheap, key=lambda plan: plan.completion_s),
    }
    return {name: one.against(base) for name, one in {**trained, **bounds}.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profiles", type=Path, help="measured ones; else the catalogue")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    known = CATALOGUE if asked.profiles is None else read_profiles(asked.profiles)
    found = measured(known["imagenet"], asked.seed)
    if asked.json:
        answer = {"nodes": NODES, "gpus_per_node": PER_NODE, "published": PUBLISHED, "runs": found}
        print(json.dumps(answer, indent=2))
        return
    for name, figures in found.items():
        took = f"{figures['completion_s']:9,.0f} s {figures['node_hours']:7.1f} node-h"
        shares = f"{figures['cheaper']:+7.1%} cheaper {figures['longer']:+7.1%} longer"
        print(f"{name:36} {took} {shares}")


if __name__ == "__main__":
    main()
